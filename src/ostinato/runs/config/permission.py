"""Permission to run code that a folder names.

A run folder keeps the names of your own classes: `/home/me/mine.py:MyCell`. It may come from
someone else, so opening it runs no file that you have not named in a command or allowed. What is
allowed is one file with its present content:

    ~/.config/ostinato/allowed/HASH OF THE PATH    {"file": its path, "sha256": of its content}

Whoever trains with a file has allowed it. Once it has changed, it must be allowed again. The
modules that it imports are not looked at: they run with it.
"""

import hashlib
import json
import os
from pathlib import Path

from ...errors import BadInput
from ...files import read_json, read_regular, write_whole

LARGEST = 16 << 20  # bytes of a file with code


def allow(path: str | os.PathLike) -> Path:
    """Allow the folders of this user to name a file of Python code, as it is now.

    Returns:
        The full path of the file.

    Example:
        >>> _ = Path("mine.py").write_text("class MyCell: ...")
        >>> allow("mine.py").name
        'mine.py'
    """
    file = Path(os.path.realpath(path))
    keep(file, code_of(file))
    return file


def keep(path: Path, source: bytes) -> None:
    """Record that a file with this content is allowed."""
    entry = _entry(path)
    if entry is None:
        raise BadInput("there is no home folder to keep permissions in; set XDG_CONFIG_HOME")
    try:
        entry.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        note = {"file": str(path), "sha256": hashlib.sha256(source).hexdigest()}
        write_whole(entry, json.dumps(note).encode(), mode=0o600)
    except OSError as error:
        raise BadInput(f"cannot write {entry}: {error.strerror}") from None


def allowed(path: Path) -> str | None:
    """The sha256 of the content with which a file was allowed; `None` if it never was."""
    entry = _entry(path)
    try:
        note = {} if entry is None else read_json(entry, 1 << 20)
    except (OSError, ValueError):
        return None
    sound = isinstance(note, dict) and note.get("file") == str(path)
    return note.get("sha256") if sound else None


def code_of(path: Path) -> bytes:
    """The content of a file with code; a device, a pipe or a huge file is refused."""
    try:
        return read_regular(path, LARGEST)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None


def _entry(path: Path) -> Path | None:
    home = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(home):
        home = os.path.join(os.path.expanduser("~"), ".config")
    if not os.path.isabs(home):
        return None
    name = hashlib.sha256(os.fsencode(path)).hexdigest()
    return Path(home) / "ostinato" / "allowed" / name
