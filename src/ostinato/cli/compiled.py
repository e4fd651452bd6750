"""What XLA compiles is kept for the next command, in the user's cache folder.

JAX has such a cache, and this turns it on. A key of JAX names program, compiler options and
versions; the folder is named for the version of the compiler and for the features of this
processor, because compiled code may come along to another machine with a home folder.

The cache is bounded: the oldest entries go first. It is nothing that could be lost: if an entry
cannot be read, because a process was killed while writing it, say, all of them are removed.
"""

import hashlib
import os
import platform
import stat
from contextlib import suppress
from pathlib import Path

from ..files import cache_folder

OFF = "--no-compile-cache"
MAX_BYTES = 1 << 29
DAMAGED = "persistent compilation cache entry"  # in the warnings of JAX


def keep_compiled(max_bytes: int = MAX_BYTES) -> None:
    """Turn on JAX's cache, if it is not on already; call this before JAX is imported."""
    if "JAX_COMPILATION_CACHE_DIR" in os.environ or (folder := _own_folder()) is None:
        return
    _prune(folder, max_bytes)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


def forget_compiled() -> None:
    """Remove all entries of our own cache."""
    folder = _folder()
    if os.environ.get("JAX_COMPILATION_CACHE_DIR") == str(folder):
        _prune(folder, 0)


def _folder() -> Path:
    from importlib.metadata import version  # late, because help needs none of this

    return cache_folder() / "compiled" / f"jaxlib-{version('jaxlib')}-{_processor()}"


def _own_folder() -> Path | None:
    """The folder, made if needed; `None` unless it is ours alone: what lies in it is executed."""
    folder = _folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return None
    if os.name == "posix":
        writable = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if status.st_uid != os.geteuid() or writable or not stat.S_ISDIR(status.st_mode):
            return None
    return folder


def _processor() -> str:
    """A word for the kind of processor, with the instructions that it has."""
    words = platform.machine()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
        words += next((x for x in lines if x.lower().startswith(("flags", "features"))), "")
    return hashlib.sha256(words.encode()).hexdigest()[:12]


def _prune(folder: Path, max_bytes: int) -> None:
    """Remove the oldest entries until no more than `max_bytes` are left."""
    entries: list[tuple[float, int, str]] = []
    with suppress(OSError):
        for entry in os.scandir(folder):
            with suppress(OSError):  # another process may have removed it
                if entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    entries.append((status.st_mtime, status.st_size, entry.path))
    size = sum(each for _, each, _ in entries)
    for _, each, path in sorted(entries):
        if size <= max_bytes:
            return
        with suppress(OSError):
            os.unlink(path)
        size -= each
