"""Resumable downloads with a checksum."""

import bz2
import gzip
import hashlib
import io
import os
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any

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

    An incomplete download is kept as `target.part`, and the next call requests only the rest (HTTP
    `Range`, RFC 9110, section 14). If the server sends the whole file instead, the download starts
    over. The file is renamed to `target` only if its size and checksum are right, else deleted.

    Args:
        url: the address of the file.
        target: the path to save it as; missing folders are created.
        size: the expected size in bytes.
        sha256: the expected checksum; of a .gz or .bz2, of the decompressed content.
        show: called with the number of bytes received so far.
        timeout: seconds without data after which the download fails.
    """
    part = target.with_name(target.name + ".part")
    if part.is_symlink():
        raise BadInput(f"{part} is a symbolic link; nothing is written through it")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if _size(part) > size:
            part.unlink()
        if _size(part) < size:
            _fetch(url, part, size, show, timeout)
        if not is_right(part, sha256, target.suffix):
            part.unlink()
            raise BadInput(
                f"{url} is not the file it should be (its sha256 is not {sha256}); it was deleted"
            )
        os.replace(part, target)
    except (OSError, HTTPException) as error:
        raise BadInput(
            f"the download of {url} stopped after {_size(part):,} of {size:,} bytes "
            f"({_reason(error)}); run the same command again to continue"
        ) from None


def is_right(path: Path, sha256: str, packing: str) -> bool:
    """Whether the content of a file has this checksum.

    For a `packing` of .gz or .bz2 the checksum is of the decompressed content, because the same
    data can be compressed differently.

    Example:
        >>> Path("a.txt").write_bytes(b"hello")
        5
        >>> is_right(Path("a.txt"), hashlib.sha256(b"hello").hexdigest(), packing="")
        True
    """
    try:
        with decompressed(path, packing) as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except (OSError, EOFError, zlib.error):
        return False


def decompressed(path: Path, packing: str) -> io.BufferedIOBase:
    """Open a file for reading, decompressing it if `packing` is .gz or .bz2."""
    opening: Any = {".gz": gzip.open, ".bz2": bz2.open}.get(packing, open)
    return opening(path, "rb")


def _size(path: Path) -> int:
    """The bytes of a file; 0 if there is none."""
    return path.stat().st_size if path.exists() else 0


def _fetch(url: str, part: Path, size: int, show: Callable[[int], None], timeout: float) -> None:
    """Download what is missing from `part`."""
    done = _size(part)
    headers = {"User-Agent": "ostinato"} | ({"Range": f"bytes={done}-"} if done else {})
    request = urllib.request.Request(url, headers=headers)
    try:
        answer = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        error.close()
        if done and error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink()
            return _fetch(url, part, size, show, timeout)
        raise BadInput(f"cannot download {url}: {error.code} {error.reason}") from None
    with answer:
        if done and answer.status != HTTPStatus.PARTIAL_CONTENT:
            done = 0
        elif done and not answer.headers.get("Content-Range", "").startswith(f"bytes {done}-"):
            part.unlink()  # not the range that was requested: start over
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
    """The cause in one line; urllib wraps the actual error."""
    return " ".join(str(getattr(error, "reason", None) or error).split())
