"""What a list says about a log, without reading most of it.

Validations, starts and ends are rare, and every log writes its events in the same way: so their
lines can be searched for, which takes two seconds per gigabyte. Of the many `train` events only a
few are looked at, for the last step and for a line. A log that has grown is searched from where it
ended.
"""

import re
from pathlib import Path

from .events import KINDS, End, Event, Opening, Train, event_of, goes_on_after, opens
from .log import CHUNK, Log, lines_of

RARE = [kind for kind in KINDS if kind not in ("train", "lens")]
LINE = re.compile(rb'\n(\{"kind": "(?:%s)".*)' % "|".join(RARE).encode())
TAIL = 1 << 13  # bytes
POINTS = 48  # of a line


class Summary:
    """A log in a few numbers.

    Args:
        path: the file.

    Attributes:
        start: the first event that opens.
        state: `done`, `no gain`, `diverged`, `interrupted` or `not started`.
        step: the last one of which there is an event.
        timed: the last event with `seconds`.
        damaged: whether there are other lines than events near the end.
    """

    def __init__(self, path: Path) -> None:
        self.log = Log(path)
        self.start: Opening = {}
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
                    self._hear(event)
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

    def _hear(self, event: Event) -> None:
        self.step = event["step"]
        if opens(event):
            last = goes_on_after(event)
            self.values = [one for one in self.values if one[0] <= last]
            self.records = [one for one in self.records if one[0] <= last]
            self.start = event if last < 0 else {**event, **self.start}
            self.state = "interrupted"  # if nothing more comes
        elif event["kind"] == "valid" and event["value"] is not None:
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
