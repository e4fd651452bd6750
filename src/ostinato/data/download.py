"""Download a file: resumed where it was cut, and in place only when it is the right one."""

import bz2
import gzip
import hashlib
import os
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import BinaryIO, cast

from ..errors import BadInput

PIECE = 1 << 16


def download(
    url: str,
    target: Path,
    size: int,
    sha256: str,
    show: Callable[[int], None] = lambda done: None,
    timeout: float = 30,
) -> None:
    """Download `url` to `target`.

    What has arrived is kept beside the target as `….part`, and the next try asks the server for the
    rest (HTTP `Range`, RFC 9110, section 14). A server that sends the whole file instead starts it
    anew. Only a file of the right size and content is renamed to `target`; a wrong one is deleted.

    Args:
        url: where the file is.
        target: where it goes; folders are made.
        size: of the file in bytes.
        sha256: of its content, unpacked if the target's name ends in .gz or .bz2 (see `is_right`).
        show: called with the number of bytes that are there.
        timeout: seconds without any news after which the network counts as stalled.
    """
    part = target.with_name(target.name + ".part")
    if part.is_symlink():
        raise BadInput(f"{part} is a symbolic link; nothing is written through it")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if part.exists() and part.stat().st_size > size:
            part.unlink()
        if not part.exists() or part.stat().st_size < size:
            _fetch(url, part, size, show, timeout)
        if not is_right(part, sha256, target.suffix):
            part.unlink()
            raise BadInput(
                f"{url} is not the file it should be (its sha256 is not {sha256}); it was deleted"
            )
        os.replace(part, target)
    except (OSError, HTTPException) as error:
        done = part.stat().st_size if part.exists() else 0
        raise BadInput(
            f"the download of {url} stopped after {done:,} of {size:,} bytes ({_reason(error)}); "
            "the same command, given again, goes on from there"
        ) from None


def is_right(path: Path, sha256: str, packing: str) -> bool:
    """Whether a file has this content.

    The checksum is of what is inside a .gz or .bz2 (`packing`), for the same data packed again are
    the same data.

    Example:
        >>> Path("a.txt").write_bytes(b"hello")
        5
        >>> is_right(Path("a.txt"), hashlib.sha256(b"hello").hexdigest(), packing="")
        True
    """
    found = hashlib.sha256()
    try:
        with unpacked(path, packing) as file:
            while piece := file.read(PIECE):
                found.update(piece)
    except (OSError, EOFError, zlib.error):
        return False
    return found.hexdigest() == sha256


def unpacked(path: Path, packing: str) -> BinaryIO:
    """A file opened for reading, unpacked on the way if `packing` is .gz or .bz2."""
    if packing == ".gz":
        return cast(BinaryIO, gzip.open(path))
    return cast(BinaryIO, bz2.open(path)) if packing == ".bz2" else open(path, "rb")


def _fetch(url: str, part: Path, size: int, show: Callable[[int], None], timeout: float) -> None:
    """Get what is missing of `part`."""
    done = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "ostinato"} | ({"Range": f"bytes={done}-"} if done else {})
    request = urllib.request.Request(url, headers=headers)
    try:
        answer = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        error.close()
        if done and error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink()
            return _fetch(url, part, size, show, timeout)
        raise BadInput(f"{url} cannot be had: {error.code} {error.reason}") from None
    with answer:
        if done and answer.status != HTTPStatus.PARTIAL_CONTENT:
            done = 0
        elif done and not answer.headers.get("Content-Range", "").startswith(f"bytes {done}-"):
            part.unlink()  # another piece than the one asked for: ask for the whole
            return _fetch(url, part, size, show, timeout)
        if answer.length is not None and done + answer.length != size:
            raise BadInput(f"{url} has {done + answer.length:,} bytes where {size:,} are expected")
        with open(part, "ab" if done else "wb") as file:
            show(done)
            while done <= size and (piece := answer.read(PIECE)):
                file.write(piece)
                done += len(piece)
                show(done)
    if done > size:
        part.unlink()
        raise BadInput(f"{url} has more than the {size:,} bytes expected; it was deleted")
    if done < size:
        raise ConnectionError("the connection was closed")


def _reason(error: Exception) -> str:
    """The cause in one line; urllib wraps it once more."""
    return " ".join(str(getattr(error, "reason", None) or error).split())
