"""Files that are complete or not there."""

import os
from pathlib import Path


def write_whole(path: str | os.PathLike, data: bytes) -> None:
    """Write a file beside its place, sync it, and rename it: a crash leaves the old one or the new.

    On an error nothing is left behind and the old file stays.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {path.parent} to save {path.name} in")
    beside = path.with_name(path.name + ".part")
    try:
        with open(beside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # the rename itself
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
