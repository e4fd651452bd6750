"""Check files given by the user."""

import os
import stat
from pathlib import Path

from ..errors import BadInput


def check_file(path: str | Path, what: str = "text file") -> os.stat_result:
    """Raise `BadInput` unless `path` is a regular file; a pipe may block, a device never end.

    Example:
        >>> check_file("/dev/zero")
        Traceback (most recent call last):
        ostinato.errors.BadInput: /dev/zero is not a regular file; give a text file
    """
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise BadInput(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"cannot read {path}: {reason}") from None
    if stat.S_ISDIR(found.st_mode):
        raise BadInput(f"{path} is a folder; give a {what}")
    if not stat.S_ISREG(found.st_mode):
        raise BadInput(f"{path} is not a regular file; give a {what}")
    return found


def whole_path(file: str) -> str:
    """The path from the root, so that a run finds its file from any folder."""
    if not file or "\0" in file:
        raise BadInput(f"file must be a path, got {file!r:.60}")
    return os.path.realpath(file)
