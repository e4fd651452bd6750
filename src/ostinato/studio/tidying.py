"""Label, move, delete and restore runs: each change is a file or one rename within the folder.

Nothing is ever removed. A deleted run lies in `.trash`, under the time at which it was deleted and
its own name, and goes back from there. A run that is being trained stays where it is.
"""

import contextlib
import dataclasses
import os
import secrets
import time
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..files import locked, unlinked
from ..runs.folder.labels import TRASH, Labels
from .folder import Folder, NoRun


def label(folder: Folder, name: str, given: Any) -> Labels:
    """Change some of a run's labels; those that are not given stay."""
    path = folder.find(name)
    if not isinstance(given, dict):
        raise BadInput("the labels are missing")
    with _saying(f"the labels of {name} cannot be kept"):
        return Labels.change(path, given)


def move(folder: Folder, name: str, to: str) -> None:
    """Give a run another folder below that of the studio."""
    path = folder.find(name)
    _rename(name, path, folder.new(to), folder)


def delete(folder: Folder, name: str) -> str:
    """Move a run to the trash; returns its name there."""
    path = folder.find(name)
    mark = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
    _rename(name, path, _trash(folder) / mark / name, folder)
    return f"{mark}/{name}"


def restore(folder: Folder, kept: str) -> str:
    """Move a run from the trash back to where it was; returns its name."""
    path = Folder(_trash(folder)).find(kept)
    name = kept.partition("/")[2]
    if not name:
        raise NoRun(f"there is no run {kept:.200} in the trash")
    _rename(name, path, folder.new(name), folder)
    for parent in path.parents:  # the folders that it leaves empty
        if parent == _trash(folder):
            break
        with contextlib.suppress(OSError):
            parent.rmdir()
    return name


def trashed(folder: Folder) -> list[dict[str, Any]]:
    """The runs in the trash, the latest first."""
    rows = Folder(_trash(folder)).rows()
    return [
        {"kept": row.name, "name": row.name.partition("/")[2], "row": dataclasses.asdict(row)}
        for row in reversed(rows)
    ]


def count_trashed(folder: Folder) -> int:
    """How many runs are in the trash, without reading them."""
    try:
        return len(os.listdir(_trash(folder)))
    except OSError:
        return 0


def _trash(folder: Folder) -> Path:
    return unlinked(folder.path, folder.path / TRASH)


def _rename(name: str, path: Path, to: Path, folder: Folder) -> None:
    if path == folder.path:
        raise BadInput("the folder of the studio itself stays where it is")
    with _saying(f"{name} cannot be moved"):
        to.parent.mkdir(parents=True, exist_ok=True)
        with locked(path):
            os.rename(path, to)
            (to / ".lock").unlink(missing_ok=True)


@contextlib.contextmanager
def _saying(words: str) -> Any:
    """One line for what the file system refuses."""
    try:
        yield
    except OSError as error:
        raise BadInput(f"{words}: {error.strerror or error}") from None
