"""Careful reads, atomic writes, and a folder lock that is released when its process ends."""

import errno
import json
import os
import random
import re
import secrets
import shutil
import stat
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from .errors import BadInput

_LEFTOVER = re.compile(r"\..+\.[0-9a-f]{16}\.ostinato-part", re.DOTALL)


def cache_folder() -> Path:
    """The folder for downloads and compiled programs: `$OSTINATO_CACHE`, or `~/.cache/ostinato`."""
    given = os.environ.get("OSTINATO_CACHE")
    return Path(given).expanduser() if given else Path.home() / ".cache" / "ostinato"


def checked_path(name: str, path: str | os.PathLike) -> Path:
    """The path that an argument names; raises for what no system could take as one.

    Example:
        >>> checked_path("folder", 3)
        Traceback (most recent call last):
        ostinato.errors.BadInput: folder must be a path, got 3
    """
    try:
        if b"\0" not in os.fsencode(path):
            return Path(path)
    except (TypeError, UnicodeEncodeError):  # half of a surrogate pair, which JSON can hold
        pass
    raise BadInput(f"{name} must be a path, got {path!r:.60}") from None


def read_regular(path: str | os.PathLike, limit: int | None = None, *, links: bool = True) -> bytes:
    """The content of a regular file of at most `limit` bytes; `links` as in `open_regular`.

    A pipe would block and a device might never end, so they are refused before anything is read.
    Whatever is wrong is an `OSError` with one reason in `strerror`.

    Example:
        >>> read_regular("/dev/zero")
        Traceback (most recent call last):
        OSError: [Errno 22] it is not a regular file: '/dev/zero'
    """
    with open_regular(path, links=links) as file:
        if limit is not None and os.fstat(file.fileno()).st_size > limit:
            size = f"{limit >> 20} MB" if limit >> 20 else f"{limit >> 10} KB"
            raise OSError(errno.EFBIG, f"it is larger than {size}", os.fspath(path))
        return file.read() if limit is None else file.read(limit)


def read_json(path: str | os.PathLike, limit: int | None = None, *, links: bool = True) -> Any:
    """What a JSON file holds; the arguments are those of `read_regular`.

    Raises:
        OSError, ValueError: it cannot be read, or is not JSON.
    """
    try:
        return json.loads(read_regular(path, limit, links=links))
    except RecursionError:
        raise BadInput("it is nested too deeply") from None  # a `ValueError` too


def open_regular(path: str | os.PathLike, *, links: bool = True) -> BinaryIO:
    """A regular file, opened for reading; one behind a link too, unless `links` are refused."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags | (0 if links else getattr(os, "O_NOFOLLOW", 0)))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
    return os.fdopen(handle, "rb")


def write_whole(path: str | os.PathLike, *data: bytes | memoryview, mode: int = 0o666) -> None:
    """Write a file atomically: after a crash there is the old content or the new, never a mixture.

    The parts of the data go to a new temporary file in the same folder, which is synced and
    renamed. Because the temporary file is always new, nothing is ever written through a symbolic
    link. On an error the temporary file is removed and the old file stays. `mode` is that of a new
    file, less what the process masks.

    Example:
        >>> write_whole("notes.txt", b"one")
        >>> write_whole("notes.txt", b"two")
        >>> os.listdir(), Path("notes.txt").read_bytes()
        (['notes.txt'], b'two')
    """
    path = Path(path)
    if path.is_dir():
        raise BadInput(f"{path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise BadInput(f"there is no folder {path.parent} to save {path.name} in")
    beside = path.with_name(_part_name(path.name))
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            for part in data:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        error.filename, error.filename2 = os.fspath(path), None
        raise
    if os.name == "posix":  # sync the rename itself
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_new(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write new files into a folder, all of them or none.

    They go to a hidden folder first and are moved from there, a folder with all that is in it at
    once. What exists is not overwritten.

    Args:
        folder: where to; it must exist.
        contents: of each file, by its name; `model/config.json` is a file in a new folder.

    Example:
        >>> write_new(Path("."), {"net.h": b"one", "net.c": b"two"})
        >>> write_new(Path("."), {"net.o": b"three", "net.c": b"four"})
        Traceback (most recent call last):
        ostinato.errors.BadInput: net.c exists; choose another --out, or remove it
        >>> sorted(os.listdir())
        ['net.c', 'net.h']
    """
    tops = [*dict.fromkeys(name.split("/")[0] for name in contents)]
    beside = folder / _part_name(tops[0])
    moved: list[Path] = []
    try:
        for name, content in contents.items():
            (beside / name).parent.mkdir(parents=True, exist_ok=True)
            write_whole(beside / name, content)
        for top in tops:
            if os.path.lexists(folder / top):
                raise BadInput(f"{folder / top} exists; choose another --out, or remove it")
        for top in tops:
            os.rename(beside / top, folder / top)
            moved.append(folder / top)
    except BaseException:
        for path in moved:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def next_folder(beginning: str) -> Path:
    """The first folder of a name that begins so and ends with 1, 2, … that does not exist yet."""
    number = 1
    while os.path.lexists(folder := Path(f"{beginning}{number}")):
        number += 1
    return folder


def is_unused(folder: Path, *known: str) -> bool:
    """Whether there is nothing, or a folder with nothing but what a killed start leaves behind.

    That is a lock, parts of files, and files of the `known` names.
    """
    if not folder.is_dir():
        return not os.path.lexists(folder)
    return all(name in (".lock", *known) or is_leftover(name) for name in os.listdir(folder))


def unlinked(folder: Path, path: Path) -> Path:
    """A path below a folder; `BadInput` if anything between them is a symbolic link.

    A run folder may come from someone else: what is written, pruned or cleaned up in it must stay
    in it.

    Example:
        >>> os.mkdir("run")
        >>> os.symlink("/etc", "run/checkpoints")
        >>> unlinked(Path("run"), Path("run/checkpoints"))
        Traceback (most recent call last):
        ostinato.errors.BadInput: run/checkpoints is a symbolic link; nothing is written through it
    """
    for part in (path, *path.parents):
        if part == folder:
            break
        if part.is_symlink():
            raise BadInput(f"{part} is a symbolic link; nothing is written through it")
    return path


def check_appendable(path: Path) -> None:
    """Refuse what is neither a regular file nor nothing at all; see `append_line`."""
    if path.is_symlink():
        raise BadInput(f"{path} is a symbolic link; nothing is written through it")
    if path.exists() and not path.is_file():
        raise BadInput(f"{path} is not a regular file; nothing is written to it")


def append_line(path: Path, line: bytes) -> None:
    """Append a line to a file, first ending the last line if a crash left it incomplete.

    Raises `BadInput` if the path is a symbolic link or not a regular file.

    Example:
        >>> Path("log").write_bytes(b"complete\\nincompl")
        16
        >>> append_line(Path("log"), b"next")
        >>> Path("log").read_text().splitlines()
        ['complete', 'incompl', 'next']
    """
    check_appendable(path)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(path, flags, 0o666)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise BadInput(f"{path} is not a regular file; nothing is written to it")
    with os.fdopen(handle, "r+b") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            line = line if file.read(1) == b"\n" else b"\n" + line
        file.write(line + b"\n")


def _part_name(name: str) -> str:
    """A new name for what is not complete yet."""
    return f".{name}.{secrets.token_hex(8)}.ostinato-part"


def is_leftover(name: str) -> bool:
    """Whether a name is one of `_part_name`, which a killed process leaves behind.

    Example:
        >>> is_leftover(".config.json.0123456789abcdef.ostinato-part")
        True
        >>> is_leftover("thesis.12345678.part")  # anybody may call a file so
        False
    """
    return _LEFTOVER.fullmatch(name) is not None


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files that a killed process left; call it while holding the lock."""
    with suppress(FileNotFoundError):
        for entry in os.scandir(folder):
            if is_leftover(entry.name) and entry.is_file(follow_symlinks=False):
                os.unlink(entry)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder for this process; a second process gets `BadInput`."""
    busy = f"another process is training in {folder}; wait for it, or stop it first"
    with held(folder / ".lock", busy) as handle:
        with suppress(OSError):
            os.ftruncate(handle, 0)
            os.write(handle, str(os.getpid()).encode())  # so that others can send it a signal
        yield


@contextmanager
def held(path: Path, busy: str, patience: float = 0.0) -> Iterator[int]:
    """Hold a lock file, which is created for that and removed at the end; yields its handle.

    The operating system holds the lock (`flock`), so a killed process leaves none behind. It
    excludes other threads of this process too.

    Args:
        path: the lock file.
        busy: what `BadInput` says if another holder does not release the lock.
        patience: seconds to wait for that.
    """
    handle = _lock(path, busy, patience)
    try:
        yield handle
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)  # before the lock is released: see `_lock`
        os.close(handle)


def is_locked(folder: Path) -> bool:
    """Whether a process holds the lock of a folder; nothing is created or changed.

    It asks for a shared lock and gives it back at once. A process that starts in that moment is
    not refused, because `_lock` can tell a shared lock from that of a holder.

    Example:
        >>> with locked(Path(".")):
        ...     is_locked(Path("."))
        True
        >>> is_locked(Path("."))
        False
    """
    try:
        handle = os.open(folder / ".lock", os.O_RDWR | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return False
    try:
        return not _hold(handle, shared=True)
    finally:
        os.close(handle)  # releases the lock


def lock_holder(folder: Path) -> int | None:
    """The process that holds the lock of a folder; `None` if nobody does, or it is not known.

    Example:
        >>> with locked(Path(".")):
        ...     lock_holder(Path(".")) == os.getpid()
        True
        >>> lock_holder(Path("."))
    """
    if not is_locked(folder):
        return None
    try:
        words = (folder / ".lock").read_text(encoding="ascii")
    except (OSError, ValueError):
        return None
    return int(words) if words.isdecimal() else None


def _lock(path: Path, busy: str, patience: float) -> int:
    until = time.monotonic() + patience
    while True:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(path, flags, 0o666)
        try:
            if _hold(handle):
                # The previous holder may have removed the file after it was opened here.
                if os.path.exists(path) and os.path.samestat(os.fstat(handle), os.stat(path)):
                    return handle
            # A shared lock is refused by a holder, but not by somebody who only looks.
            elif not _hold(handle, shared=True) and time.monotonic() >= until:
                raise BadInput(busy)
            else:
                time.sleep((0.01 if patience else 0.001) * random.random())
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _hold(handle: int, shared: bool = False) -> bool:
    """Take the lock of an open file, with others or alone; false if somebody is in the way."""
    if os.name == "nt":
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK):
            raise
        warnings.warn(
            "this file system has no locks: nothing keeps two processes from writing here at once",
            RuntimeWarning,
            stacklevel=7,
        )
    return True
