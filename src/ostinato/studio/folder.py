"""Every run below a folder, quickly: what has not changed is not read again.

A name can never lead out of the folder, neither by `..` nor by a link.
"""

import dataclasses
import os
import threading
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..files import is_locked, read_regular
from ..runs.folder.digest import Digest
from ..runs.folder.labels import NAME as LABELS
from ..runs.folder.labels import TRASH, Labels
from ..runs.folder.listing import CONFIG, MODEL, Summary, read_settings, run_folders, told
from ..runs.folder.log import NAME as LOG

MAX = 5000  # runs in a list
KEPT = 64  # digests
LARGEST = 8 << 20  # bytes of a file that is read whole


class NoRun(BadInput):
    """There is no such run."""


@dataclasses.dataclass(frozen=True)
class Row:
    """A run in the list; see `ostinato.runs.folder.listing.Listed` for what the fields mean.

    Attributes:
        name: the folder, relative to that of the studio.
        line: points of the sparkline: validations, or training losses where there are too few.
        total: how many steps it is to have.
        changed: when the log changed last, in seconds since 1970.
        labels: what people call it.
    """

    name: str
    state: str
    task: str | None = None
    cell: str | None = None
    learner: str | None = None
    parameters: int | None = None
    step: int | None = None
    total: int | None = None
    best: float | None = None
    metric: str | None = None
    higher: bool = False
    line: list[float] = dataclasses.field(default_factory=list)
    changed: float = 0.0
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    labels: Labels = dataclasses.field(default_factory=Labels)


class Folder:
    """The folder of the studio.

    Example:
        >>> [row.name for row in Folder(Path("runs")).rows()]  # with runs/text-mlstm-1
        ['text-mlstm-1']
    """

    def __init__(self, path: Path):
        self.path = Path(os.path.realpath(path))
        self._known: dict[str, tuple[Any, Row, Summary]] = {}
        self._lock = threading.Lock()

    def rows(self) -> list[Row]:
        """All runs, in the order of their names."""
        with self._lock:
            rows: dict[str, tuple[Any, Row, Summary]] = {}
            for path in run_folders(self.path):
                if len(rows) >= MAX:
                    break
                name = "." if path == self.path else path.relative_to(self.path).as_posix()
                if is_text(name):
                    rows[name] = self._row(name, path)
            self._known = rows
            return [_with_state(row, self.path / name) for name, (_, row, _) in rows.items()]

    def row(self, name: str) -> Row:
        path = self.find(name)
        with self._lock:
            self._known[name] = known = self._row(name, path)
        return _with_state(known[1], path)

    def find(self, name: str) -> Path:
        """The run folder of a name; `NoRun` if there is none, or if it is elsewhere.

        A run in the trash has no name here: it is restored before anything is done with it.
        """
        path = None if TRASH in Path(name).parts else inside(self.path, name)
        if path is None or not any(_is_file(path / x) for x in (CONFIG, MODEL, LOG)):
            raise NoRun(f"there is no run called {name:.200}")
        return path

    def has(self, name: str) -> bool:
        """Whether there is such a run."""
        try:
            self.find(name)
        except NoRun:
            return False
        return True

    def text(self, name: str) -> str:
        """The text of a file below the folder, which is read whole if it is not too long."""
        path = inside(self.path, name)
        if path is None or not _is_file(path):
            raise BadInput(f"there is no file {name:.200} below the folder of the studio")
        if path.lstat().st_size > LARGEST:
            raise BadInput(f"{name:.200} is larger than {LARGEST >> 20} MB")
        try:
            return read_regular(path, LARGEST, links=False).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise BadInput(f"{name:.200} is not UTF-8: byte {error.start} is wrong") from None

    def new(self, name: str) -> Path:
        """The folder of a run to come, below that of the studio."""
        path = self.path / name
        plain = name.strip() and name.isprintable() and len(name) <= 200
        parts = Path(name).parts
        odd = any(part in ("..", TRASH) for part in parts) or Path(name).as_posix() != name
        if not plain or Path(name).is_absolute() or odd:
            raise BadInput("the name of a run is a folder below that of the studio")
        for parent in Path(name).parents:
            if parent != Path(".") and self.has(parent.as_posix()):
                raise BadInput(f"{parent} is a run; there are no runs within runs")
        if os.path.lexists(path):
            raise BadInput(f"there is already {name}; choose another name")
        if os.path.realpath(path) != os.path.normpath(path):
            raise BadInput(f"{name} would be outside of the studio's folder")
        return path

    def _row(self, name: str, path: Path) -> tuple[Any, Row, Summary]:
        mark = tuple(_mark(path / file) for file in (CONFIG, MODEL, LOG, LABELS))
        known, row, log = self._known.get(name, (None, None, Summary(path / LOG)))
        if row is not None and known == mark:
            return known, row, log
        row = dataclasses.replace(_read(name, path, log), labels=Labels.read(path))
        return mark, row, log


def inside(folder: Path, name: str) -> Path | None:
    """The path of a name in a folder; `None` if it is spelled oddly, or leads elsewhere."""
    plain = "\0" not in name and len(name) <= 1000 and not os.path.isabs(name) and is_text(name)
    if not plain or Path(name).as_posix() != name:
        return None
    path = folder / name
    real = os.path.realpath(path)
    below = real == str(folder) or real.startswith(str(folder).rstrip(os.sep) + os.sep)
    return path if below and str(path) == real else None  # without `..`, and without links


def is_text(name: str) -> bool:
    """Whether a page can show a name: one of other bytes than UTF-8 cannot be sent to it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def newest_checkpoint(path: Path) -> str:
    """The file of the newest network that a run has saved, by its name; `""` if there is none."""
    try:
        return max(os.listdir(path / "checkpoints"), default="")
    except OSError:
        return ""


def _is_file(path: Path) -> bool:
    try:
        return path.is_file() and not path.is_symlink()
    except OSError:  # as if the name is too long
        return False


def _mark(path: Path) -> tuple[int, int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _with_state(row: Row, path: Path) -> Row:
    """A lock is not a change of a file, so whether a run is training is asked every time."""
    if not row.state.startswith("broken") and is_locked(path):
        return dataclasses.replace(row, state="running")
    return row


def _read(name: str, path: Path, log: Summary) -> Row:
    try:
        settings = read_settings(path, links=False)
    except (OSError, ValueError):
        settings = {}
    if not settings:
        return Row(name, f"broken: its {CONFIG} cannot be read")
    if not _is_file(path / MODEL):
        return Row(name, f"broken: it has no {MODEL}")
    total, line = settings.get("steps"), []
    try:
        log.read()
        line = log.line()
    except FileNotFoundError:
        pass
    except OSError:
        return Row(name, f"broken: its {LOG} cannot be read", settings=settings)
    return Row(
        name=name,
        state=log.state,
        step=log.step,
        total=total if isinstance(total, int) else None,
        higher=log.higher,
        line=[float(f"{x:.4g}") for x in line],
        changed=log.log.changed,
        **told(settings, log),
    )


class Digests:
    """The digests of the runs that were looked at last.

    Different runs can be read in different threads; one run is read in one thread at a time.
    """

    def __init__(self) -> None:
        self._digests: dict[Path, Digest] = {}
        self._lock = threading.Lock()

    def of(self, path: Path) -> Digest:
        """The digest of a run, as far as its log goes now."""
        with self._lock:
            digest = self._digests.get(path) or Digest(path)
        digest = digest.read()
        with self._lock:
            self._digests.pop(path, None)
            self._digests[path] = digest
            while len(self._digests) > KEPT:
                self._digests.pop(next(iter(self._digests)))
        return digest

    def left(self, path: Path) -> int:
        """How many bytes `of` would have to read."""
        known = self._digests.get(path)
        try:
            return (path / LOG).lstat().st_size - (0 if known is None else known.offset)
        except OSError:
            return 0
