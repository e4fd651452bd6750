"""Paths on the command line, checked before any work is done."""

import os
from pathlib import Path

import typer

from ..errors import BadInput


def path(given: str | Path) -> Path:
    """Parse an option that is a path, and refuse what cannot be one."""
    words = str(given) if isinstance(given, Path) else given
    if not words:
        raise typer.BadParameter("a path cannot be empty")
    try:
        os.fsencode(words)
    except UnicodeEncodeError:
        raise typer.BadParameter("a path cannot contain half of a surrogate pair") from None
    if "\0" in words:
        raise typer.BadParameter("a path cannot contain a null character")
    return Path(words)


def check_new_folder(folder: Path, option: str) -> None:
    """Refuse a folder that cannot be created or written to.

    Example:
        >>> check_new_folder(Path("book.txt/run"), "--run")
        Traceback (most recent call last):
        ostinato.errors.BadInput: --run book.txt/run cannot be created: book.txt is a file
    """
    above = folder
    while not os.path.lexists(above) and above != above.parent:
        above = above.parent
    try:
        if not above.exists():
            os.stat(above)  # a broken link, or a cycle of links
        os.stat(folder)  # fails if a name is too long
    except FileNotFoundError:
        if above.is_symlink():
            raise BadInput(
                f"{option} {folder} cannot be created: {above} is a broken link"
            ) from None
    except OSError as error:
        if not isinstance(error, NotADirectoryError):
            raise BadInput(f"{option} {folder} cannot be created: {error.strerror}") from None
    if not above.is_dir():
        if above == folder:
            raise BadInput(f"{option} must be a folder; {folder} is a file")
        raise BadInput(f"{option} {folder} cannot be created: {above} is a file")
    if not os.access(above, os.W_OK | os.X_OK):
        raise BadInput(f"{option} {folder} cannot be written to: no permission in {above}")


def check_new_file(target: Path, option: str) -> None:
    """Refuse a file that cannot be written because of where it is.

    Example:
        >>> check_new_file(Path("nowhere/page.html"), "--html")
        Traceback (most recent call last):
        ostinato.errors.BadInput: --html must be a file in an existing folder, got nowhere/page.html
    """
    if target.is_dir() or not target.parent.is_dir():
        raise BadInput(f"{option} must be a file in an existing folder, got {target}")
