"""Standard output: one JSON document, or text that any terminal, file or pipe can take."""

import codecs
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import BadInput

LONGEST = 2000  # characters of a line on what is wrong; the names of all claims fit


class Closed(Exception):
    """Whoever read our standard output has gone: there is nobody left to tell anything."""


def mend_streams() -> bool:
    """Make the standard streams safe to write to, and say whether there is a standard output.

    A stream that was closed (`>&-`) becomes the null device, because the next file that is opened
    would take its number, and with it every line that a library prints. What a stream cannot
    encode is written as an escape; bytes of a path that are no text, as they were given.
    """
    there = sys.stdout is not None
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    codecs.register_error("ostinato", _escaped)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="ostinato")
    return there


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning as one line on standard error, without the place in our code where it was made."""
    print(f"ostinato: warning: {one_line(message)}", file=sys.stderr)


def _escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.lookup_error("backslashreplace")(error)


@contextmanager
def writing() -> Iterator[None]:
    """Around everything that writes to standard output.

    Example:
        >>> with writing():
        ...     print("text")
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise Closed from None
    except SystemExit:  # this is how rich ends where a pipe is closed
        raise Closed from None
    except OSError as error:
        let_go()
        raise BadInput(f"cannot write to standard output: {error.strerror}") from None


def print_json(document: Any, indent: int | None = None) -> None:
    """One JSON document on standard output, and nothing else."""
    with writing():
        print(json.dumps(document, indent=indent, allow_nan=False))


def let_go() -> None:
    """Point standard output at the null device, so that Python can flush it when it ends."""
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError):  # a stream without a file
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, number)
    os.close(null)


def one_line(words: object) -> str:
    """Words in one line: control characters are written as escapes, and the longest are cut."""
    line = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(words)
    )
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} … {line[-LONGEST // 2 :]}"
