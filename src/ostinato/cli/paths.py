"""Paths on the command line, checked before any work is done."""

import os
from pathlib import Path

import typer

from ..errors import BadInput


def path(given: str | Path) -> Path:
    """The parser of options that are paths, which refuses what can be none."""
    words = str(given) if isinstance(given, Path) else given
    if not words:
        raise typer.BadParameter("a path cannot be empty")
    try:
        os.fsencode(words)
    except UnicodeEncodeError:
        raise typer.BadParameter("a path cannot hold half of a character") from None
    if "\0" in words:
        raise typer.BadParameter("a path cannot hold a zero character")
    return Path(words)


def check_new_folder(folder: Path, option: str) -> None:
    """Refuse a folder that cannot be made, or cannot be written to.

    Example:
        >>> check_new_folder(Path("book.txt/run"), "--run")
        BadInput: --run book.txt/run cannot be made: book.txt is a file
    """
    above = folder
    while not os.path.lexists(above) and above != above.parent:
        above = above.parent
    try:
        if not above.exists():
            os.stat(above)  # a link that leads nowhere, or in a circle
        os.stat(folder)  # a name that is too long
    except FileNotFoundError:
        if above.is_symlink():
            raise BadInput(f"{option} {folder} cannot be made: {above} leads nowhere") from None
    except OSError as error:
        if not isinstance(error, NotADirectoryError):
            raise BadInput(f"{option} {folder} cannot be made: {error.strerror}") from None
    if not above.is_dir():
        if above == folder:
            raise BadInput(f"{option} must be a folder; {folder} is a file")
        raise BadInput(f"{option} {folder} cannot be made: {above} is a file")
    if not os.access(above, os.W_OK | os.X_OK):
        raise BadInput(f"{option} {folder} cannot be written to: no permission in {above}")
