"""Run folders as their files describe them, for lists and pages: JAX is not needed.

Nothing is checked but the form: a folder may be someone else's, damaged, or not complete yet.

Most of a log is not read. Validations, starts and ends are rare, and every log writes its events in
the same way: so their lines can be searched for, which takes two seconds per gigabyte. Of the many
`train` events only a few are looked at, for the last step and for a line. A log that has grown is
searched from where it ended.
"""

import dataclasses
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...files import is_locked, read_json
from ...names import class_name
from .events import KINDS, End, Event, Train, event_of
from .labels import TRASH, Labels
from .log import CHUNK, Fold, Log, lines_of
from .log import NAME as LOG

RARE = [kind for kind in KINDS if kind not in ("train", "lens")]
LINE = re.compile(rb'\n(\{"kind": "(?:%s)".*)' % "|".join(RARE).encode())
TAIL = 1 << 13  # bytes
POINTS = 48  # of a line
CONFIG, MODEL = "config.json", "model.json"
LARGEST = 16 << 20  # bytes of a file


class Summary(Fold):
    """A log in a few numbers.

    Args:
        path: the file.

    Attributes:
        state: `done`, `no gain`, `diverged`, `interrupted` or `not started`.
        step: the last one of which there is an event.
        timed: the last event with `seconds`.
        damaged: whether there are other lines than events near the end.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.log = Log(path)
        self.state = "not started"
        self.values: list[tuple[int, float]] = []  # validations, thinned
        self.records: list[tuple[int, float]] = []  # validations that were the best so far
        self.step: int | None = None
        self.timed: Train | End | None = None
        self.damaged = False

    @property
    def higher(self) -> bool:
        return bool(self.start.get("higher_is_better"))

    @property
    def best(self) -> float | None:
        """The best validation."""
        return self.records[-1][1] if self.records else None

    def line(self) -> list[float]:
        """Points of a sparkline: validations, or training losses where there are too few."""
        points = [value for _, value in self.values] if len(self.values) > 2 else self._losses()
        return points[:: -(-len(points) // POINTS) or 1]

    def read(self) -> None:
        """Read what is new."""
        if self.log.is_another():
            self.__init__(self.log.path)  # type: ignore[misc]
            self.log.is_another()
        for chunk in self.log.chunks():
            for line in LINE.findall(b"\n" + chunk):
                if (event := event_of(line)) is not None:
                    self.hear(event)
        for size in (TAIL, CHUNK):  # where lines are long, of more
            last = [event_of(line) for line in self._tail(size)]
            events = [event for event in last if event is not None]
            self.damaged = len(events) < len(last)
            self.step = max((event["step"] for event in events), default=self.step)
            for event in reversed(events):
                if (event["kind"] == "train" or event["kind"] == "end") and "seconds" in event:
                    self.timed = event
                    return

    def _tail(self, size: int) -> list[bytes]:
        """The last lines, as far as they were read."""
        with self.log.open() as file:
            begin = max(0, self.log.offset - size)
            file.seek(begin)
            lines = lines_of(file.read(self.log.offset - begin))
        return [line for line in lines[begin > 0 :] if line.strip()]

    def forget_after(self, step: int) -> None:
        self.values = [one for one in self.values if one[0] <= step]
        self.records = [one for one in self.records if one[0] <= step]
        self.state = "interrupted"  # if nothing more comes

    def keep(self, event: Event) -> None:
        self.step = event["step"]
        if event["kind"] == "valid" and event["value"] is not None:
            new = event["step"], event["value"]
            if self.best is None or (new[1] > self.best if self.higher else new[1] < self.best):
                self.records.append(new)
            self.values.append(new)
            if len(self.values) > 8 * POINTS:
                self.values = self.values[::2]
        elif event["kind"] == "diverged":
            self.state = "diverged"
        elif event["kind"] == "end":
            self.state = event["reason"][:40]
            self.timed = event if "seconds" in event else self.timed

    def _losses(self) -> list[float]:
        """The losses of events that are evenly spaced in the file."""
        losses = []
        with self.log.open() as file:
            for i in range(POINTS):
                file.seek(i * self.log.offset // POINTS)
                lines = file.read(4096).split(b"\n")
                for event in map(event_of, lines[1:3] if i else lines[:3]):
                    if event is not None and event["kind"] == "train" and event["loss"] is not None:
                        losses.append(event["loss"])
        return losses


@dataclasses.dataclass(frozen=True)
class RunRecord:
    """The settings of a run, and what it was made with.

    Attributes:
        settings: all settings by name, and the names of task, cell and learner by theirs.
        used: the values that the run uses; see `values_used`.
        versions: those of the packages that it was made with.

    Example:
        >>> record = RunRecord.read(Path("runs/text-mlstm-1"))
        >>> record.settings["units"], record.batch
        (8, 4)
    """

    settings: dict[str, Any]
    used: dict[str, Any]
    versions: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> "RunRecord":
        """The record of a folder, as far as its files can be read; links are not followed."""
        try:
            settings = read_settings(path, links=False)
        except (OSError, ValueError):
            settings = {}
        try:
            made = _plain(_read(path / MODEL, links=False).get("made"))
        except (OSError, ValueError):
            made = {}
        return cls(settings, _plain(made.get("used")), _plain(made.get("versions")))

    @property
    def batch(self) -> int:
        """The sequences per batch, as far as the folder says."""
        size = self.used.get("batch")
        return size if isinstance(size, int) and not isinstance(size, bool) else 1


def read_settings(path: Path, *, links: bool = True) -> dict[str, Any]:
    """All settings of a run folder by name; `links` as in `open_regular`.

    Raises:
        OSError, ValueError: the file cannot be read, or is not what a run writes.
    """
    settings: dict[str, Any] = {}
    for section, part in _read(path / CONFIG, links).items():
        if not isinstance(part, dict):
            raise ValueError(f"{section} is not a section")
        settings |= {name: value for name, value in part.items() if name != "name"}
        if "name" in part:
            settings[section] = part["name"]
    return settings


def member_name(settings: dict[str, Any], role: str) -> str | None:
    """The name of a task, cell or learner, short; `None` if there is none."""
    name = settings.get(role)
    return class_name(name) if isinstance(name, str) else None


def _read(path: Path, links: bool) -> dict[str, Any]:
    """A JSON object in a file; `OSError` or `ValueError` if it is not one."""
    content = read_json(path, LARGEST, links=links)
    if not isinstance(content, dict):
        raise ValueError(f"{path.name} is not one JSON object")
    return content


def _plain(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


@dataclasses.dataclass(frozen=True)
class Listed:
    """What a list says about a run folder.

    Attributes:
        run: the folder.
        task, cell, learner: their names; `None` if the folder is broken.
        parameters, steps: how many; `None` if unknown.
        best: the best validation.
        metric: what was validated.
        state: `running`, `done`, `no gain` (early stopping), `diverged`, `interrupted`, `not
            started`, or `broken` with the reason.
        seconds: of the last session.
        settings: all settings by name.
        labels: what people call it.
    """

    run: str
    task: str | None = None
    cell: str | None = None
    learner: str | None = None
    parameters: int | None = None
    steps: int | None = None
    best: float | None = None
    metric: str | None = None
    state: str = "broken"
    seconds: float | None = None
    settings: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    labels: Labels = dataclasses.field(default_factory=Labels)


def run_folders(folder: Path) -> Iterator[Path]:
    """All run folders below a folder, broken ones too, in the order of their names.

    A folder is a run if it has a file that only runs have; folders within runs, and the trash, are
    not looked at.
    """
    for here, inside, files in os.walk(folder):
        if CONFIG in files or MODEL in files or LOG in files:
            inside.clear()
            yield Path(here)
        else:
            inside[:] = sorted(name for name in inside if name != TRASH)


def listed(folder: Path) -> Listed:
    """What a list says about a run folder.

    Example:
        >>> record = listed(Path("runs/text-mlstm-1"))
        >>> record.task, record.cell, record.steps, record.state
        ('text', 'mlstm', 4, 'done')
    """
    return dataclasses.replace(_listed(folder), labels=Labels.read(folder))


def _listed(folder: Path) -> Listed:
    name, path = str(folder), Path(os.path.realpath(folder / LOG))
    log = Summary(path)
    try:
        settings = read_settings(folder)
        if path.is_file():
            log.read()
    except FileNotFoundError:
        return Listed(name, state=f"broken: it has no {CONFIG}")
    except OSError as error:
        return Listed(name, state=f"broken: {error.strerror}")
    except ValueError:
        return Listed(name, state=f"broken: its {CONFIG} is not what a run writes")
    if not (folder / MODEL).is_file():
        return Listed(name, state=f"broken: it has no {MODEL}")
    state = "running" if is_locked(folder) else log.state
    if log.damaged and not log.start and not log.values:
        state = f"broken: its {LOG} cannot be read"
    return Listed(
        run=name,
        steps=log.timed["step"] if log.timed else None,
        state=state,
        seconds=log.timed["seconds"] if log.timed else None,
        **told(settings, log),
    )


def told(settings: dict[str, Any], log: Summary) -> dict[str, Any]:
    """What every list says about a run: its members, size, metric, best validation and settings."""
    names = {role: member_name(settings, role) for role in ("task", "cell", "learner")}
    size, metric = log.start.get("parameters"), log.start.get("metric")
    return {**names, "parameters": size, "metric": metric, "best": log.best, "settings": settings}
