"""Many events at once: the numbers of `train` events as columns, and the events between them.

Most lines of a log are `train` events, of which a few numbers are needed. They are decoded by
msgspec, which takes about a tenth of the time of `json`.
"""

from collections.abc import Iterator
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np

from .events import LARGEST, Count, Event, event_of
from .log import lines_of

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
