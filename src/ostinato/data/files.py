"""Check files given by the user, and find the files of data sets."""

import gzip
import io
import os
import stat
import warnings
import zlib
from pathlib import Path
from typing import BinaryIO

from ..errors import BadInput
from ..files import cache_folder, checked_path
from ..memory import free_memory, shown

GZIP = b"\x1f\x8b"
PIECE = 1 << 22  # bytes that are unpacked at once
SHARE = 2  # unpacked data may take one part of so many of the free memory
LARGE = 1 << 28  # unpacked bytes; what is smaller needs no word
EXTREME = 100  # an unusual ratio of unpacked to packed bytes
# Data sets whose folder has another name.
NAMES = {"enwiki_xml": "enwiki"}


def check_file(path: str | Path, what: str = "text file") -> os.stat_result:
    """Raise `BadInput` unless `path` is a regular file; a pipe may block, a device never end.

    Example:
        >>> check_file("/dev/zero")
        Traceback (most recent call last):
        ostinato.errors.BadInput: /dev/zero is not a regular file; give a text file
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise BadInput(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"cannot read {path}: {reason}") from None
    if stat.S_ISDIR(status.st_mode):
        raise BadInput(f"{path} is a folder; give a {what}")
    if not stat.S_ISREG(status.st_mode):
        raise BadInput(f"{path} is not a regular file; give a {what}")
    return status


def check_unpacked(path: str | Path, size: int) -> None:
    """Refuse a file whose content is more than half of the memory that is free.

    A small file may unpack to a thousand times its size; where that is much, a warning says so.

    Args:
        path: the packed file.
        size: the bytes that it unpacks to.
    """
    _check_room(path, size, free_memory())
    packed = os.stat(path).st_size
    if size > LARGE and size > EXTREME * packed:
        words = f"{path}, of {shown(packed)}, unpacks to {shown(size)}"
        warnings.warn(words, RuntimeWarning, stacklevel=3)


def is_packed(file: io.BufferedReader) -> bool:
    """Whether an opened file is compressed with gzip; nothing of it is read."""
    return file.peek(len(GZIP)).startswith(GZIP)


def unpacked(path: str | Path) -> bytes:
    """The bytes of a file, which may be compressed with gzip; see `check_unpacked`."""
    try:
        with open(path, "rb") as file:
            if not is_packed(file):
                return file.read()
            # Piece by piece, because what a gzip file says of its own size cannot be relied on.
            free, size, pieces = free_memory(), 0, []
            with gzip.GzipFile(fileobj=file) as content:
                while piece := content.read(PIECE):
                    size += len(piece)
                    _check_room(path, size, free)
                    pieces.append(piece)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    check_unpacked(path, size)
    return b"".join(pieces)


def opened(path: str | Path) -> BinaryIO:
    """A file to read, whose content is unpacked if it is compressed with gzip."""
    with open(path, "rb") as file:
        packed = is_packed(file)
    return io.BytesIO(unpacked(path)) if packed else open(path, "rb")


def _check_room(path: str | Path, size: int, free: int | None) -> None:
    if free is not None and size > free // SHARE:
        raise BadInput(
            f"{path} takes at least {shown(size)}, more than half of the "
            f"{shown(free)} of memory that are free; give a smaller file"
        )


def whole_path(file: str, name: str = "file") -> str:
    """The path from the root, so that a run finds its file from any folder."""
    if not file:
        raise BadInput(f"{name} must be a path, got {file!r}")
    return os.path.realpath(checked_path(name, file))


def data_folders() -> list[Path]:
    """The folders to search: `$OSTINATO_DATA` if it is set, then the cache."""
    given = os.environ.get("OSTINATO_DATA")
    return [*([Path(given).expanduser()] if given else []), cache_folder()]


def stored_data(relative: str) -> Path | None:
    """The path of a data set's file in the first of `data_folders` that has it; see `find_data`."""
    paths = [folder / relative for folder in data_folders()]
    return next((path for path in paths if path.is_file()), None)


def find_data(relative: str) -> Path:
    """The path of a data set's file; see `data_folders`.

    Nothing is downloaded; if the file is missing, the error says how to get it.

    Args:
        relative: the folder of the data set and the name of the file, for example
            `"jsb/JSB_Chorales.mat"`.
    """
    if path := stored_data(relative):
        return path
    looked = " or ".join(map(str, data_folders()))
    folder_name = relative.split("/", maxsplit=1)[0]
    raise BadInput(
        f"there is no {relative} in {looked}; "
        f"run `ostinato data get {NAMES.get(folder_name, folder_name)}`, "
        "or set OSTINATO_DATA to the folder that holds it"
    )
