"""The log of a run: an append-only file with one JSON object per line.

A run that continues from a checkpoint logs a `resume` event, which supersedes the events of later
steps; so nothing is ever removed from the file. A log may have a gigabyte, and it may grow while it
is read: `Log` gives what is new as chunks of whole lines, of which `event_of` makes events, and a
`Fold` keeps what it wants of them and forgets what a resume supersedes. Whoever reads a log does so
by these three.
"""

import abc
import json
import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from ...files import append_line, open_regular
from .events import Event, Opening, event_of, goes_on_after, opens

NAME = "events.jsonl"
CHUNK = 1 << 20  # bytes; other requests wait while one is decoded


class Log:
    """A log, from where it was left.

    Args:
        path: the file. A link or a pipe is an `OSError` when it is opened.
        offset: bytes that have been read.
        longest: bytes of a line; one that is longer is not an event, and left out.

    Attributes:
        changed: when the file was changed last, in seconds since 1970.
    """

    def __init__(self, path: Path, offset: int = 0, longest: float = CHUNK):
        self.path, self.offset, self.longest = path, offset, longest
        self.changed = 0.0
        self._file: tuple[int, int] | None = None

    def open(self) -> BinaryIO:
        return open_regular(self.path, links=False)

    def size(self) -> int:
        """The bytes of the file, 0 if there is none."""
        try:
            return os.lstat(self.path).st_size
        except OSError:
            return 0

    def is_another(self) -> bool:
        """Whether it is no longer the file that was read: what was read is then to be forgotten."""
        with self.open() as file:
            status = os.fstat(file.fileno())
        before, self._file = self._file, (status.st_dev, status.st_ino)
        self.changed = status.st_mtime
        return status.st_size < self.offset or before not in (None, self._file)

    def chunks(self, end: float = math.inf) -> Iterator[bytes]:
        """The whole lines up to an offset, or as far as there are any; `offset` moves with them.

        An incomplete last line is left for later, unless it lacks nothing but its end.
        """
        with self.open() as file:
            parts: list[bytes] = []  # of a line that has not ended yet
            waiting, skipping = 0, False
            file.seek(self.offset)
            while data := file.read(max(0, int(min(CHUNK, end - self.offset - waiting)))):
                before, newline, rest = data.rpartition(b"\n")
                if newline:
                    whole = b"".join([*parts, before, newline])
                    self.offset += len(whole)
                    yield whole.partition(b"\n")[2] if skipping else whole
                    parts, waiting, skipping = [], 0, False
                parts.append(rest)
                waiting += len(rest)
                if waiting >= self.longest:
                    self.offset += waiting
                    parts, waiting, skipping = [], 0, True
                    yield b""
            last = b"".join(parts)
            if not skipping and event_of(last) is not None:
                self.offset += len(last)
                yield last

    def lines(self, end: float = math.inf) -> Iterator[tuple[int, bytes]]:
        """The same line by line, each with the offset after it."""
        for chunk in self.chunks(end):
            place = self.offset - len(chunk)
            for line in lines_of(chunk):
                place = min(place + len(line) + 1, self.offset)
                yield place, line


def lines_of(chunk: bytes) -> list[bytes]:
    """The lines of a chunk.

    Example:
        >>> lines_of(b"one\\n\\ntwo\\n"), lines_of(b"")
        ([b'one', b'', b'two'], [])
    """
    return chunk.removesuffix(b"\n").split(b"\n") if chunk else []


class Fold(abc.ABC):
    """What a reader keeps of a log, event by event, without what a later `resume` supersedes.

    Args:
        resumes: for a second pass, the steps after which the log goes on, one for each of its
            opening events in order: what is superseded is then not taken at all.

    Attributes:
        start: the first event that opens, with the number of steps that was asked for last.
        limit: the last step that no `resume` to come supersedes, as far as those are known.
    """

    def __init__(self, resumes: Sequence[int] = ()):
        self.resumes, self.resumed = list(resumes), 0
        self.start: Opening = {}
        self._find_limit()

    def hear(self, event: Event) -> None:
        """Take the next event of the log."""
        if opens(event):
            self._go_on(event)
            self.keep(event)
        elif event["step"] <= self.limit:
            self.keep(event)

    def go_to(self, resumed: int) -> None:
        """Go on at another place of the log, which is after so many of its opening events."""
        self.resumed = resumed
        self._find_limit()

    @abc.abstractmethod
    def keep(self, event: Event) -> None:
        """Keep what is needed of an event."""

    @abc.abstractmethod
    def forget_after(self, step: int) -> None:
        """Forget all later steps: the run goes on from this one, or starts anew if it is -1."""

    def _go_on(self, event: Opening) -> None:
        step = goes_on_after(event)
        self.start = event if step < 0 else {**event, **self.start}
        if "steps" in event:
            self.start["steps"] = event["steps"]
        if self.resumed == len(self.resumes):  # it was not known before
            self.resumes.append(step)
        self.go_to(self.resumed + 1)
        self.forget_after(step)

    def _find_limit(self) -> None:
        self.limit = min(self.resumes[self.resumed :], default=math.inf)


class _EveryEvent(Fold):
    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []

    def keep(self, event: Event) -> None:
        self.events.append(event)

    def forget_after(self, step: int) -> None:
        self.events = [event for event in self.events if event["step"] <= step]


def read_events(folder: Path) -> list[Event]:
    """The events in order; damaged and incomplete lines are skipped.

    Every event has a `kind` and a `step`. Events of a resumed run supersede those of the same steps
    before.

    Example:
        >>> sorted({event["kind"] for event in read_events(run.path)})
        ['end', 'lens', 'start', 'train', 'valid']
    """
    path = Path(os.path.realpath(folder / NAME))
    fold = _EveryEvent()
    damaged = []
    lines = Log(path, longest=math.inf).lines() if path.is_file() else iter(())
    for number, (_, line) in enumerate(lines, 1):
        event = event_of(line)
        if event is not None:
            fold.hear(event)
        elif line.strip():
            damaged.append(number)
    if damaged:
        words = f"line {damaged[0]}" if len(damaged) == 1 else f"{len(damaged)} lines"
        warnings.warn(
            f"{folder / NAME}: {words} cannot be read; skipped", RuntimeWarning, stacklevel=3
        )
    return fold.events


def add_event(folder: Path, event: Mapping[str, Any]) -> None:
    """Append an event to the log."""
    append_line(folder / NAME, json.dumps(finite(event), allow_nan=False).encode())


def finite(value: Any) -> Any:
    """Plain values with `None` in place of NaN and infinity, which JSON does not have.

    Example:
        >>> finite({"loss": float("inf"), "norms": [1.0, float("nan")]})
        {'loss': None, 'norms': [1.0, None]}
    """
    if isinstance(value, dict):
        return {name: finite(x) for name, x in value.items()}
    if isinstance(value, list | tuple):
        return [finite(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
