"""Follow logs as they grow, as server-sent events.

One watcher per run serves all pages. It keeps the latest events; a page that is further behind than
that is told to read the run anew, so nothing grows with slow pages. The id of an event is the
number of bytes up to its end: after a break, or with a restarted server, a page goes on from there.
"""

import asyncio
import json
import math
from collections import deque
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from ..runs.folder.events import FIELDS, event_of
from ..runs.folder.log import NAME as LOG
from ..runs.folder.log import Log

EVERY = 1.0  # seconds between looks at a file
BEAT = 15.0  # seconds after which a quiet connection gets a comment, so that a dead one is noticed
KEPT = 512  # events
MAX = 1 << 18  # bytes read at a time
RESET = b"event: reset\ndata: {}\n\n"


class Watcher:
    """The latest events of one log."""

    def __init__(self, path: Path):
        self.log = Log(path / LOG, longest=MAX)
        self.log.offset = self.offset = self.begin = self.log.size()  # kept events follow from here
        self.kept: deque[tuple[int, bytes]] = deque()
        self.news = asyncio.Event()
        self.pages = 0

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            if self.log.size() != self.offset:
                self._keep(*await asyncio.to_thread(self._read))
            await asyncio.sleep(EVERY)

    def _read(self) -> tuple[bool, list[tuple[int, bytes]]]:
        """What is new, and whether it is from another file; read in another thread."""
        try:
            if anew := self.log.is_another():
                self.log.offset = 0
            return anew, list(_messages(self.log, self.log.offset + MAX))
        except OSError:
            return False, []

    def _keep(self, anew: bool, messages: list[tuple[int, bytes]]) -> None:
        if anew:
            self.kept.clear()
            self.offset = self.begin = 0
        if self.log.offset != self.offset:
            self.offset = self.log.offset
            self.kept.extend(messages)
            self.news.set()
            self.news = asyncio.Event()
        while len(self.kept) > KEPT:
            self.begin = self.kept.popleft()[0]

    def since(self, offset: int) -> list[tuple[int, bytes]] | None:
        """The events after an offset; `None` if they are not kept, or the offset is not one."""
        if not self.begin <= offset <= self.offset:
            return None
        return [(end, message) for end, message in self.kept if end > offset]


class Follower:
    """All watchers, by run."""

    def __init__(self) -> None:
        self._watchers: dict[Path, tuple[Watcher, asyncio.Task]] = {}

    def _watcher(self, path: Path) -> Watcher:
        if path not in self._watchers:
            watcher = Watcher(path)
            self._watchers[path] = watcher, asyncio.create_task(watcher.run())
        return self._watchers[path][0]

    async def follow(self, path: Path, offset: int) -> AsyncIterator[bytes]:
        """Messages for one page, from an offset on, for as long as it listens."""
        watcher = self._watcher(path)
        watcher.pages += 1
        try:
            yield b"retry: 1000\n\n"
            if offset < watcher.begin:
                early = await asyncio.to_thread(_between, watcher.log.path, offset, watcher.begin)
                if early is None:
                    yield RESET
                    return
                for _, message in early:
                    yield message
                offset = watcher.begin
            while True:
                news = watcher.news
                messages = watcher.since(offset)
                if messages is None:
                    yield RESET
                    return
                for _, message in messages:
                    yield message
                offset = watcher.offset
                try:
                    await asyncio.wait_for(news.wait(), BEAT)
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            watcher.pages -= 1
            if not watcher.pages and path in self._watchers:
                self._watchers.pop(path)[1].cancel()


def as_message(line: bytes, offset: int) -> bytes | None:
    """A line of a log as a server-sent event, if it is one that pages know."""
    event = event_of(line)
    if event is None or event["kind"] not in FIELDS:
        return None
    known = {"kind", "step"} | (FIELDS[event["kind"]].keys() if event["kind"] != "lens" else set())
    sent = {name: value for name, value in event.items() if name in known}  # a look is large
    words = json.dumps(sent, allow_nan=False, separators=(",", ":"))
    return f"id: {offset}\ndata: {words}\n\n".encode()


def _messages(log: Log, end: float = math.inf) -> Iterator[tuple[int, bytes]]:
    """The messages of what is new in a log, each with the offset after it."""
    for offset, line in log.lines(end):
        if (message := as_message(line, offset)) is not None:
            yield offset, message


def _between(path: Path, start: int, end: int) -> list[tuple[int, bytes]] | None:
    """The messages of a stretch of a log; `None` if it is too long to send."""
    if not 0 <= start <= end or end - start > MAX:
        return None
    try:
        return list(_messages(Log(path, start), end))
    except OSError:
        return None
