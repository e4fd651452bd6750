"""Reading files of a run folder: no links, regular files only, and never more than fits.

A log may have a gigabyte, so it is read as a stream of chunks that end with a line. Most of its
lines are `train` events, of which a few numbers are needed. They are decoded by msgspec where it is
installed, which takes about a tenth of the time of `json`.
"""

import json
import os
import stat
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .events import readable

try:
    import msgspec
except ImportError:  # it comes with the studio
    msgspec = None  # type: ignore[assignment]

CHUNK = 1 << 20  # bytes; other requests wait while one is decoded
LARGEST = 8 << 20  # bytes of a file that is read whole
NUMBERS = (
    *("loss", "norm", "largest_norm", "rate", "clipped", "seconds", "took", "symbols"),
    *("damping", "structural", "ratio", "gradients"),
)
MISSING = float("nan")


if msgspec is not None:
    # The numbers of a `train` event; of any other event, only its kind and step.
    _EVENT = msgspec.defstruct(
        "_EVENT",
        [("kind", str), ("step", int), *((name, float | None, MISSING) for name in NUMBERS)],
        gc=False,
    )
    _DECODER = msgspec.json.Decoder(_EVENT)


class Piece(NamedTuple):
    """Consecutive events of a log: a stretch of `train` events, then at most one of another kind.

    Attributes:
        steps: of the `train` events.
        values: their numbers, `(events, NUMBERS)`; NaN where one is missing or not finite.
        other: the event after them, or `None`.
    """

    steps: np.ndarray
    values: np.ndarray
    other: dict | None


def opened(path: Path) -> BinaryIO:
    """A regular file, opened for reading; a link or a pipe is an `OSError`."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{path.name} is not a regular file")
    return os.fdopen(handle, "rb", buffering=0)


def read_json(path: Path) -> dict:
    """A small JSON object, or an empty one where the file cannot be read as such."""
    try:
        with opened(path) as file:
            found = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def chunks(path: Path, start: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """The whole lines of a file between two offsets, as chunks with the offset after each.

    A line that is longer than a chunk is not an event, and left out. An incomplete last line is
    left for later.
    """
    with opened(path) as file:
        offset, kept, skipping = start, b"", False
        file.seek(start)
        while True:
            most = CHUNK if end is None else min(CHUNK, end - offset - len(kept))
            data = file.read(most) if most > 0 else b""
            if not data:
                return
            whole, newline, rest = (kept + data).rpartition(b"\n")
            if skipping and newline:
                _, _, whole = whole.partition(b"\n")
                skipping = False
            offset += len(kept) + len(data) - len(rest)
            kept = rest
            if newline:
                yield offset, whole + b"\n" if whole else b""
            elif len(kept) >= CHUNK:
                offset, kept, skipping = offset + len(kept), b"", True


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
    lines = iter(_lines(chunk, [events[place].kind for place in others], others))
    start = 0
    for place in [*others, None]:
        steps, values = _columns(events[start:place])
        other = None if place is None else _event(next(lines))
        yield Piece(steps, values, other)
        start = len(events) if place is None else place + 1


def _decoded(chunk: bytes) -> list[Any]:
    """The events of a chunk of which every line is one; raises `ValueError` for any other."""
    if msgspec is not None:
        return _DECODER.decode_lines(chunk)
    lines = [line for line in chunk.split(b"\n") if line.strip()]
    events = json.loads(b"[" + b",".join(lines) + b"]")
    if len(events) != len(lines):
        raise ValueError
    missing = dict.fromkeys(NUMBERS, MISSING)
    for event in events:
        if type(event) is not dict or type(event.get("kind")) is not str:
            raise ValueError
        if type(event.get("step")) is not int or (event["kind"] == "train" and not _plain(event)):
            raise ValueError
    return [SimpleNamespace(**(missing | event)) for event in events]


def _plain(event: dict) -> bool:
    return all(type(event.get(name)) in (float, int, type(None)) for name in NUMBERS)


def _lines(chunk: bytes, kinds: list[str], places: list[int]) -> list[bytes]:
    """The lines at some places, which are of these kinds; without splitting all of the chunk.

    A log writes all its events in the same way, so that their beginnings can be searched for.
    """
    found = []
    for kind in dict.fromkeys(kinds):
        words = b'{"kind": ' + json.dumps(kind).encode()
        place = chunk.find(words)
        while place >= 0:
            if not place or chunk[place - 1] == ord("\n"):
                found.append(place)
            place = chunk.find(words, place + 1)
    if len(found) == len(kinds):
        return [chunk[place : chunk.index(b"\n", place)] for place in sorted(found)]
    every = [line for line in chunk.split(b"\n") if line.strip()]
    return [every[place] for place in places]


def _columns(events: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Steps and numbers of `train` events."""
    count = len(events)
    steps = np.fromiter(map(attrgetter("step"), events), float, count)
    values = np.full((count, len(NUMBERS)), MISSING)
    for place, name in enumerate(NUMBERS):
        found = map(attrgetter(name), events)
        try:
            column = np.fromiter(found, float, count)
        except TypeError:  # some are `None`, which becomes NaN
            column = np.array([getattr(event, name) for event in events], float)
        values[:, place] = column
    values[np.abs(values) >= 1e300] = np.nan
    logged = ~np.isnan(values[:, 0])
    if not logged.all():  # a loss that is not finite is `None`, and one that is missing NaN
        logged |= np.array([event.loss is None for event in events])
    sound = logged & (steps >= 0) & (steps < 2.0**53)
    return steps[sound], values[sound]


def _with_care(chunk: bytes) -> Iterator[Piece]:
    """The same line by line, for a chunk with a line that is not an event."""
    steps: list[float] = []
    rows: list[list[float]] = []
    for line in chunk.split(b"\n"):
        event = _event(line)
        if event is None:
            continue
        if event["kind"] == "train":
            steps.append(event["step"])
            rows.append([_number(event.get(name)) for name in NUMBERS])
        else:
            yield Piece(np.array(steps), np.array(rows).reshape(-1, len(NUMBERS)), event)
            steps, rows = [], []
    yield Piece(np.array(steps), np.array(rows).reshape(-1, len(NUMBERS)), None)


def _event(line: bytes) -> dict | None:
    """A line as an event with valid fields; see `readable`."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    sound = readable([found])
    if sound and sound[0]["kind"] == "train" and _number(found.get("gradients")) > 0:
        return sound[0] | {"gradients": found["gradients"]}
    return sound[0] if sound else None


def _number(value: Any) -> float:
    usable = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
    return float(value) if usable else MISSING
