"""What a list says about a log, without reading most of it.

Validations, starts and ends are rare, and every log writes its events in the same way: so lines are
told apart by a letter of their kind, which takes a second per gigabyte. Of the many `train` events
only a few are looked at, for the last step and for a line. A log that has grown is searched from
where it ended.
"""

import json
import os
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..runs.events import readable
from ..runs.reading import CHUNK, opened

KINDS = ("start", "resume", "valid", "trouble", "end")
WANTED = tuple(b'{"kind": "%s"' % kind.encode() for kind in KINDS)
LETTER = len('\n{"kind": "')  # from the end of the line before to the first letter of a kind
FIRST = np.isin(np.arange(256), [ord(kind[0]) for kind in KINDS])
TAIL = 1 << 13  # bytes
POINTS = 48  # of a line


class Summary:
    """A log in a few numbers.

    Attributes:
        start: the first `start` or `resume` event.
        state: `done`, `no gain`, `diverged`, `interrupted` or `not started`.
        best: the best validation.
        step: of the last event.
        changed: when the log changed last, in seconds since 1970.
    """

    def __init__(self) -> None:
        self.offset, self.file = 0, 0
        self.start: dict = {}
        self.state = "not started"
        self.values: list[tuple[int, float]] = []  # validations, thinned
        self.best: float | None = None
        self.step: int | None = None
        self.losses: list[float] = []
        self.changed = 0.0

    @property
    def higher(self) -> bool:
        return bool(self.start.get("higher_is_better"))

    def line(self) -> list[float]:
        """Points of a sparkline: validations, or training losses where there are too few."""
        points = [value for _, value in self.values] if len(self.values) > 2 else self.losses
        return points[:: -(-len(points) // POINTS) or 1]

    def read(self, path: Path) -> None:
        """Read what is new."""
        with opened(path) as file:
            found = os.fstat(file.fileno())
            if found.st_size < self.offset or (self.file and self.file != found.st_ino):
                self.__init__()  # type: ignore[misc]
            self.file, self.changed = found.st_ino, found.st_mtime
            file.seek(self.offset)
            kept = b""
            while data := file.read(CHUNK):
                whole, newline, kept = (kept + data).rpartition(b"\n")
                if newline:
                    self.offset += len(whole) + 1
                    self._search(b"\n" + whole + b"\n")
                elif len(kept) > CHUNK:  # no event is as long
                    self.offset += len(kept)
                    kept = b""
            file.seek(max(0, self.offset - TAIL))
            events = _events(file.read(TAIL).split(b"\n"))
            self.step = max((event["step"] for event in events), default=self.step)
            if len(self.values) <= 2:
                self.losses = self._some(file, self.offset)

    def _search(self, lines: bytes) -> None:
        for place in _maybe_wanted(lines):
            if lines.startswith(WANTED, place):
                for event in _events([lines[place : lines.index(b"\n", place)]]):
                    self._hear(event)

    def _hear(self, event: dict) -> None:
        kind, step = event["kind"], event["step"]
        if kind in ("start", "resume"):
            kept = [] if kind == "start" else [one for one in self.values if one[0] <= step]
            taken = len(kept) < len(self.values)
            self.values = kept
            self.start = event if kind == "start" else {**event, **self.start}
            self.state = "interrupted"  # if nothing more comes
            if kind == "start" or taken:
                self.best = None
                for _, value in kept:
                    self._compare(value)
        elif kind == "valid" and event["value"] is not None:
            self.values.append((step, event["value"]))
            self._compare(event["value"])
            if len(self.values) > 8 * POINTS:
                self.values = self.values[::2]
        elif kind == "trouble":
            self.state = "diverged"
        elif kind == "end":
            self.state = event["reason"][:40]

    def _compare(self, value: float) -> None:
        pick = max if self.higher else min
        self.best = value if self.best is None else pick(value, self.best)

    def _some(self, file: BinaryIO, size: int) -> list[float]:
        """The losses of events that are evenly spaced in the file."""
        found = []
        for i in range(POINTS):
            file.seek(i * size // POINTS)
            lines = file.read(4096).split(b"\n")
            events = _events(lines[1:3] if i else lines[:3])
            found += [e["loss"] for e in events if e["kind"] == "train" and e["loss"] is not None]
        return found


def _maybe_wanted(lines: bytes) -> list[int]:
    """Where lines begin that may be of a wanted kind: most `train` events are not among them.

    Example:
        >>> _maybe_wanted(b'\\n{"kind": "train", "step": 1}\\n{"kind": "valid", "step": 1}\\n')
        [30]
    """
    letters = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero(letters[: -LETTER - 2] == ord("\n"))
    first, third = letters[ends + LETTER], letters[ends + LETTER + 2]
    train = (first == ord("t")) & (third == ord("a"))
    return (ends[FIRST[first] & ~train] + 1).tolist()


def _events(lines: list[bytes]) -> list[dict]:
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except (ValueError, RecursionError):
            continue
    return readable(found)
