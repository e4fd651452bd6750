"""What pages and tables need of a log, gathered in one pass and continued as the log grows.

Memory is bounded whatever the length of the log: `train` and `valid` events are thinned, looks
through the lens and samples are kept at ever wider intervals.

Most lines of a log are `train` events, of which a few numbers are needed. They are decoded many at
once as columns, by msgspec, which takes about a tenth of the time of `json`.
"""

import dataclasses
import math
import os
from collections import deque
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np

from .events import (
    LARGEST,
    Count,
    Divergence,
    Event,
    Look,
    Train,
    Valid,
    event_of,
)
from .log import NAME as LOG
from .log import Fold, Log, lines_of
from .thinning import Sparse, Thinned

NUMBERS = (
    *("loss", "norm", "largest_norm", "rate", "clipped", "seconds", "took", "symbols"),
    *("damping", "structural", "ratio", "gradients"),
)
MISSING = float("nan")

# The numbers of a `train` event; of any other event, only its kind and step.
_ROW = msgspec.defstruct(
    "_ROW",
    [("kind", str), ("step", Count), *((name, float | None, MISSING) for name in NUMBERS)],
    gc=False,
)
_DECODER = msgspec.json.Decoder(_ROW)
RECENT = 100  # events from which the speed is told
LOOKS, SAMPLES, LONGEST = 128, 16, 4000  # looks and samples kept; characters of a sample
NOW = ("seconds", "took", "symbols", "loss", "norm", "rate")
STRETCHES, STRETCH, EDGE = 512, 1 << 11, 1 << 16  # of a sample: how many, and how many bytes
# The numbers whose smallest and largest values are kept: those that charts show.
TELLING = [place for place, name in enumerate(NUMBERS) if name not in ("seconds", "symbols")]


class Piece(NamedTuple):
    """Consecutive events of a log: a stretch of `train` events, then at most one of another kind.

    Attributes:
        steps: of the `train` events.
        values: their numbers, `(events, NUMBERS)`; NaN where one is missing or not finite.
        other: the event after them, or `None`.
    """

    steps: np.ndarray
    values: np.ndarray
    other: Event | None


def pieces(chunk: bytes) -> Iterator[Piece]:
    """The events of a chunk of whole lines.

    Example:
        >>> line = b'{"kind": "train", "step": 3, "loss": 4.5}\\n'
        >>> [(piece.steps.tolist(), piece.values[0, 0].item()) for piece in pieces(line)]
        [([3.0], 4.5)]
    """
    try:
        events = _decoded(chunk)
    except (ValueError, RecursionError):  # `msgspec.DecodeError` is a `ValueError`
        yield from _with_care(chunk)
        return
    others = [place for place, event in enumerate(events) if event.kind != "train"]
    lines = [line for line in lines_of(chunk) if line.strip()] if others else []
    start = 0
    for place in [*others, None]:
        steps, values = _columns(events[start:place])
        other = None if place is None else event_of(lines[place])
        yield Piece(steps, values, other)
        start = len(events) if place is None else place + 1


def _decoded(chunk: bytes) -> list[Any]:
    """The events of a chunk of which every line is one; raises `ValueError` for any other."""
    events = _DECODER.decode_lines(chunk)
    if len(events) != chunk.count(b"\n") + (not chunk.endswith(b"\n")):  # two in a line
        raise ValueError
    return events


def _columns(events: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Steps and numbers of `train` events."""
    count = len(events)
    steps = np.fromiter(map(attrgetter("step"), events), float, count)
    values = np.full((count, len(NUMBERS)), MISSING)
    for place, name in enumerate(NUMBERS):
        numbers = map(attrgetter(name), events)
        try:
            column = np.fromiter(numbers, float, count)
        except TypeError:  # some are `None`, which becomes NaN
            column = np.array([getattr(event, name) for event in events], float)
        values[:, place] = column
    values[np.abs(values) >= 1e300] = np.nan
    logged = ~np.isnan(values[:, 0])
    if not logged.all():  # a loss that is not finite is `None`, and one that is missing NaN
        logged |= np.array([event.loss is None for event in events])
    sound = logged & (steps >= 0) & (steps < LARGEST)
    return steps[sound], values[sound]


def _with_care(chunk: bytes) -> Iterator[Piece]:
    """The same line by line, for a chunk with a line that is not an event."""
    steps: list[float] = []
    rows: list[list[float]] = []
    for line in lines_of(chunk):
        event: Any = event_of(line)
        if event is None:
            continue
        if event["kind"] == "train":
            numbers = [event.get(name) for name in NUMBERS]
            steps.append(event["step"])
            rows.append([MISSING if x is None else x for x in numbers])
        else:
            yield Piece(np.array(steps), np.array(rows).reshape(-1, len(NUMBERS)), event)
            steps, rows = [], []
    yield Piece(np.array(steps), np.array(rows).reshape(-1, len(NUMBERS)), None)


class Digest(Fold):
    """A log, as far as it has been read.

    Args:
        path: the run folder.
        first, last: only `train` events of these steps.
        resumes: for a second pass; see `Fold`.

    Attributes:
        offset: bytes read so far.
        whole: whether no event has been left out.
    """

    def __init__(
        self,
        path: Path,
        first: float = 0,
        last: float = math.inf,
        resumes: Sequence[int] = (),
    ):
        super().__init__(resumes)
        self.path, self.first, self.last = path, first, last
        self.log = Log(path / LOG)
        self.inexact = False
        self.places: list[tuple[int, float, int]] = []  # of chunks: bytes, first step, resumes
        self._start_anew()

    def _start_anew(self) -> None:
        self.train = Thinned(len(NUMBERS), telling=TELLING)
        self.valid = Thinned(1)
        self.lens: Sparse[Look] = Sparse(LOOKS)
        self.samples: Sparse[Valid] = Sparse(SAMPLES)
        self.diverged: Divergence | None = None
        self.recent: deque[tuple[float, ...]] = deque(maxlen=RECENT)  # step and NOW
        self.seconds, self.latest = 0.0, 0.0  # of earlier sessions, and of this one
        self.gradients = Counted()
        self.best: dict | None = None

    @property
    def offset(self) -> int:
        return self.log.offset

    @property
    def whole(self) -> bool:
        return self.train.size == 1

    def read(self) -> "Digest":
        """Read what has been added to the log; a log that was replaced is read anew.

        Returns:
            The digest to use from now on.
        """
        try:
            if self.log.is_another():
                return Digest(self.path, self.first, self.last).read()
        except FileNotFoundError:
            return self if not self.offset else Digest(self.path)
        self._read()
        if self.inexact:  # a resume took back events that had been thinned: now it is known
            return Digest(self.path, self.first, self.last, self.resumes).read()
        return self

    def _read(self, end: float = math.inf) -> None:
        begin = self.offset
        for chunk in self.log.chunks(end):
            self._add(chunk, begin)
            begin = self.offset

    def _add(self, chunk: bytes, begin: int) -> None:
        first, resumed = math.inf, self.resumed
        for piece in pieces(chunk):
            if len(piece.steps):
                first = min(first, float(piece.steps[0]))
                self._train(piece.steps, piece.values)
            if piece.other is not None:
                self.hear(piece.other)
        self.places.append((begin, first, resumed))

    def _train(self, steps: np.ndarray, values: np.ndarray) -> None:
        if self.limit < math.inf:
            values, steps = values[steps <= self.limit], steps[steps <= self.limit]
        if not len(steps):
            return
        columns = dict(zip(NUMBERS, values.T, strict=True))
        last = np.nan_to_num(columns["seconds"][-1])
        self.latest = max(self.latest, float(last))
        tail = slice(-RECENT, None)
        now = [columns[name][tail].tolist() for name in NOW]
        self.recent.extend(zip(steps[tail].tolist(), *now, strict=True))
        self.gradients.add(steps, columns["gradients"], columns["took"])
        inside = (steps >= self.first) & (steps <= self.last)
        if inside.all():
            self.train.add(steps, values)
        elif inside.any():
            self.train.add(steps[inside], values[inside])

    def keep(self, event: Event) -> None:
        if event["kind"] == "valid":
            self._valid(event)
        elif event["kind"] == "lens":
            self.lens.add(event)
        elif event["kind"] == "diverged":
            self.diverged = event
        elif event["kind"] == "end":
            self.latest = max(self.latest, event.get("seconds", 0.0))

    def forget_after(self, step: int) -> None:
        if step < 0:
            self._start_anew()
            return
        exact = [part.forget_after(step) for part in (self.train, self.valid)]
        self.inexact |= not all(exact) or self.gradients.before > step
        for part in (self.lens, self.samples, self.gradients):
            part.forget_after(step)
        self.diverged = None
        self.recent.clear()
        self.seconds, self.latest = self.seconds + self.latest, 0.0
        if self.best is not None and self.best["step"] > step:
            self.best = None
            for at, value, _, _ in self.gradients.at:
                self._compare(at, value)

    def _valid(self, event: Valid) -> None:
        value = event["value"]
        number = MISSING if value is None else value
        self.valid.add(np.array([float(event["step"])]), np.array([[number]], float))
        self.gradients.note(event["step"], value)
        self._compare(event["step"], value)
        if event.get("preview"):
            self.samples.add({**event, "preview": event["preview"][:LONGEST]})

    def _compare(self, step: int, value: float | None) -> None:
        sign = -1 if self.start.get("higher_is_better") else 1
        if value is not None and (self.best is None or sign * value < sign * self.best["value"]):
            self.best = {"step": step, "value": value}

    def zoomed(self, first: float, last: float) -> "Digest":
        """The same log with all `train` events of a range of steps, thinned anew.

        Only the part of the file is read that can have them.
        """
        digest = Digest(self.path, first, last, self.resumes)
        ends = [*self.places[1:], (self.offset, math.inf, 0)]
        for (begin, low, resumed), (end, high, _) in zip(self.places, ends, strict=True):
            if low <= last and (high >= first or high < low):
                digest.log.offset = begin
                digest.go_to(resumed)
                digest._read(end)
        digest.start, digest.diverged = self.start, self.diverged
        digest.valid, digest.samples, digest.lens = self.valid, self.samples, self.lens
        return digest

    @classmethod
    def sampled(cls, path: Path) -> "Digest":
        """A first impression of a long log, from short stretches of it at equal intervals."""
        digest = cls(path)
        with digest.log.open() as file:
            size = os.fstat(file.fileno()).st_size
            step = max(1, (size - 2 * EDGE) // STRETCHES)
            between = [(place, STRETCH) for place in range(EDGE, size - EDGE, step)]
            kept = []
            for place, length in [(0, EDGE), *between, (max(EDGE, size - EDGE), EDGE)]:
                file.seek(place)
                data = file.read(length)
                first = data.find(b"\n") + 1 if place else 0
                last = data.rfind(b"\n") + 1
                if last > first:
                    kept.append(data[first:last])
                    end = place + last
        if kept:
            digest._add(b"".join(kept), 0)  # at once: thinning takes as long for few events
            digest.log.offset = end
        return digest

    def events(self) -> list[Event]:
        """What is kept, as events in the order of their steps."""
        events: list[Event] = [self.start] if self.start else []
        steps, values = self.train.rows()
        for step, row in zip(steps.tolist(), values.tolist(), strict=True):
            pairs = zip(NUMBERS, row, strict=True)
            known = {name: x for name, x in pairs if x == x}
            events.append(cast(Train, {"kind": "train", "step": int(step), "loss": None, **known}))
        texts = {event["step"]: event["preview"] for event in self.samples.events()}
        steps, values = self.valid.rows()
        for step, value in zip(map(int, steps), values[:, 0].tolist(), strict=True):
            text: Any = {"preview": texts[step]} if step in texts else {}
            known_value = value if value == value else None
            events.append({"kind": "valid", "step": step, "value": known_value, **text})
        events += self.lens.events()
        events.sort(key=lambda event: event["step"])
        return events + ([self.diverged] if self.diverged else [])


@dataclasses.dataclass
class Counted:
    """Gradient-equivalents and seconds spent until each validation, counted over all events."""

    before: float = 0.0
    total: float = 0.0
    seconds: float = 0.0
    at: list[tuple[int, float | None, float, float]] = dataclasses.field(default_factory=list)

    def add(self, steps: np.ndarray, per_step: np.ndarray, took: np.ndarray) -> None:
        """Count `train` events; an event without a number of gradients has one per step."""
        each = np.where(np.isnan(per_step), 1.0, per_step)
        self.total += float(np.sum(np.diff(steps, prepend=self.before) * each))
        self.seconds += float(np.nansum(took))
        self.before = float(steps[-1])

    def note(self, step: int, value: float | None) -> None:
        """Remember where a validation is; of very many, every other one is forgotten."""
        self.at.append((step, value, self.total, self.seconds))
        if len(self.at) > 4096:
            self.at = [*self.at[:-1:2], self.at[-1]]

    def forget_after(self, step: int) -> None:
        """Drop the validations after a step; what was spent after it is counted anew later."""
        self.at = [one for one in self.at if one[0] <= step]
