"""Errors caused by user input."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

__all__ = ["BadInput", "NeedsExtra"]


class BadInput(ValueError):
    """A mistake in a file, setting or folder, in one line: what, where, and what would be right.

    The command line prints the message without a traceback and exits with 2. Any other exception
    is a bug in Ostinato and keeps its traceback.

    Example:
        >>> raise BadInput("units must be at least 1, got 0")
        Traceback (most recent call last):
        ostinato.errors.BadInput: units must be at least 1, got 0
    """


class NeedsExtra(BadInput):
    """What was asked for needs a package that a plain installation does not have.

    Args:
        what: was asked for.
        packages: that it needs.
        extra: with which they are installed.

    Example:
        >>> print(NeedsExtra("a picture", "matplotlib", "plot"))
        a picture needs matplotlib: pip install '.[plot]' in the source folder
    """

    def __init__(self, what: str, packages: str, extra: str) -> None:
        super().__init__(f"{what} needs {packages}: pip install '.[{extra}]' in the source folder")


def first_line(error: Exception) -> str:
    """The first line of the message of another package's exception, or its type without one.

    Example:
        >>> first_line(OSError("no footer\\nin 12 bytes")), first_line(KeyError())
        ('no footer', 'KeyError')
    """
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


@contextlib.contextmanager
def needing(what: str, packages: str, extra: str) -> Iterator[None]:
    """Around imports: say `NeedsExtra` where a package is not installed."""
    try:
        yield
    except ImportError:
        raise NeedsExtra(what, packages, extra) from None


@contextlib.contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Put the name of a file in front of messages that do not contain it."""
    try:
        yield
    except BadInput as error:
        if str(path) in str(error):
            raise
        raise BadInput(f"{path}: {error}") from None
