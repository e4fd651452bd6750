"""Follow logs as they grow, as server-sent events.

One watcher per run serves all pages. It keeps the latest events; a page that is further behind than
that is told to read the run anew, so nothing grows with slow pages. The id of an event is the
number of bytes up to its end: after a break, or with a restarted server, a page goes on from there.
"""

import asyncio
import json
import os
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path

from ..runs.events import readable
from ..runs.log import NAME as LOG
from ..runs.reading import opened

EVERY = 1.0  # seconds between looks at a file
BEAT = 15.0  # seconds after which a quiet connection gets a comment, so that a dead one is noticed
KEPT = 512  # events
MOST = 1 << 18  # bytes read at a time
RESET = b"event: reset\ndata: {}\n\n"


class Watcher:
    """The latest events of one log."""

    def __init__(self, path: Path):
        self.path = path / LOG
        self.offset = self._size()
        self.begin = self.offset  # the kept events follow from here
        self.kept: deque[tuple[int, bytes]] = deque()
        self.news = asyncio.Event()
        self.pages = 0

    def _size(self) -> int:
        try:
            return os.lstat(self.path).st_size
        except OSError:
            return 0

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            if self._size() != self.offset and await asyncio.to_thread(self._read):
                self.news.set()
                self.news = asyncio.Event()
            await asyncio.sleep(EVERY)

    def _read(self) -> bool:
        """Read what is new; whether there was anything."""
        try:
            with opened(self.path) as file:
                size = os.fstat(file.fileno()).st_size
                if size < self.offset:  # another file
                    self.kept.clear()
                    self.offset = self.begin = 0
                file.seek(self.offset)
                data = file.read(min(MOST, size - self.offset))
        except OSError:
            return False
        whole, newline, _ = data.rpartition(b"\n")
        if not newline:
            if len(data) == MOST:  # a line that is no event
                self.offset += len(data)
            return False
        for line in whole.split(b"\n"):
            self.offset += len(line) + 1
            if (message := as_message(line, self.offset)) is not None:
                self.kept.append((self.offset, message))
        while len(self.kept) > KEPT:
            self.begin = self.kept.popleft()[0]
        return True

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
                early = await asyncio.to_thread(_between, watcher.path, offset, watcher.begin)
                if early is None:
                    yield RESET
                    return
                for _, message in early:
                    yield message
                offset = watcher.begin
            while True:
                news = watcher.news
                found = watcher.since(offset)
                if found is None:
                    yield RESET
                    return
                for _, message in found:
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

    def count(self) -> int:
        return len(self._watchers)


def as_message(line: bytes, offset: int) -> bytes | None:
    """A line of a log as a server-sent event, if it is one that pages know."""
    try:
        found = readable([json.loads(line)])
    except (ValueError, RecursionError):
        return None
    if not found:
        return None
    event = found[0]
    if event["kind"] == "lens":  # large; the page asks for its charts anew
        event = {"kind": "lens", "step": event["step"]}
    words = json.dumps(event, allow_nan=False, separators=(",", ":"))
    return f"id: {offset}\ndata: {words}\n\n".encode()


def _between(path: Path, start: int, end: int) -> list[tuple[int, bytes]] | None:
    """The messages of a stretch of a log; `None` if it is too long to send."""
    if not 0 <= start <= end or end - start > MOST:
        return None
    try:
        with opened(path) as file:
            file.seek(start)
            data = file.read(end - start)
    except OSError:
        return None
    found = []
    for line in data.split(b"\n")[:-1]:
        start += len(line) + 1
        if (message := as_message(line, start)) is not None:
            found.append((start, message))
    return found
