"""The side of the batcher that belongs to the event loop: requests that wait for their jobs."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import StreamingResponse

from ..decoding.text import Decoder, Stop
from ..errors import BadInput
from ..runs.streaming.readers import CharacterReader
from ..wiring.stepping import Stepping
from .batcher import Batcher, Job
from .requests import Limits
from .worker import Full

TOGETHER = 0.001  # seconds for each active request, in which text is gathered before it is sent
LOOKING = 0.5  # seconds after which a client is looked for again


def event(content: Any) -> bytes:
    """A server-sent event."""
    words = content if isinstance(content, bytes) else msgspec.json.encode(content)
    return b"data: " + words + b"\n\n"


async def streamed(events: AsyncIterator[bytes]) -> StreamingResponse:
    """An answer of server-sent events.

    The first is waited for here: what they need is taken before another request is read, a refusal
    is an answer of its own, and events that nobody reads are ended when they are forgotten.
    """
    first = await anext(events)

    async def all_of_them() -> AsyncIterator[bytes]:
        yield first
        async for one in events:
            yield one

    return StreamingResponse(all_of_them(), media_type="text/event-stream")


class Turns:
    """Gives jobs to a batcher, and waits for them.

    Args:
        stepping: the network.
        inputs: the size of its input vectors; see `Batcher`.
        limits: those of the server.
    """

    def __init__(self, stepping: Stepping, inputs: int, limits: Limits) -> None:
        self.batcher = Batcher(
            stepping, inputs, slots=limits.slots, waiting=limits.waiting, hear=self._hear
        )
        self.length, self.seconds = limits.length, limits.seconds
        self._loop: asyncio.AbstractEventLoop | None = None

    def _hear(self, jobs: list[Job]) -> None:
        """In the thread of the batcher: wake whoever waits for what has ended."""
        over = [job for job in jobs if job.ended is not None]
        if over and self._loop is not None:
            self._loop.call_soon_threadsafe(lambda: [job.waiter.set() for job in over])

    def _submit(self, job: Job) -> None:
        count = len(job.values) + job.draws
        if count > self.length:
            raise BadInput(f"a request reads and writes at most {self.length} values, got {count}")
        job.deadline = time.monotonic() + self.seconds
        self._loop = asyncio.get_running_loop()
        job.waiter = asyncio.Event()  # set when it has ended, and its state is kept
        self.batcher.add(job)

    @contextlib.contextmanager
    def submitted(self, jobs: Sequence[Job]) -> Iterator[None]:
        """Give jobs to the batcher, and let go of those that have not ended with the block."""
        try:
            for job in jobs:
                self._submit(job)
            yield
        finally:
            for job in jobs:
                job.gone = True

    async def _end(self, job: Job, seconds: float) -> None:
        """Wait until a job has ended, but no longer than some seconds."""
        job.deadline = min(job.deadline, self.batcher.closing)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await job.waiter.wait()

    async def finish(self, request: Request, job: Job) -> None:
        """Wait until a job has ended; raises if it has not come to its end."""
        while not job.waiter.is_set() and not await request.is_disconnected():
            if time.monotonic() > job.deadline + LOOKING:  # it still waits for a slot
                raise Full
            await self._end(job, LOOKING)
        if job.ended == "time":
            raise TimeoutError
        if job.ended in ("gone", None):
            raise Full
        if job.ended == "damaged":
            raise BadInput("the outputs of the network are not finite numbers")

    async def pieces(self, job: Job, text: "Writing") -> AsyncIterator[str]:
        """The text of a job as it is written."""
        sent = 0
        while True:
            ended, symbols = job.ended if job.waiter.is_set() else None, job.symbols
            piece = text.push(symbols[sent:]) + (text.end() if ended else "")
            sent = len(symbols)
            if piece:
                yield piece
            if ended is not None:
                return
            await self._end(job, TOGETHER * max(10, len(self.batcher.active)))


class Writing:
    """Drawn symbols as text, up to where it stops."""

    def __init__(self, text: CharacterReader, stops: list[str]) -> None:
        self._decoder, self._stop = Decoder(text.vocabulary), Stop(stops)

    def push(self, symbols: list[int]) -> str:
        """What can be given out after some more symbols."""
        if self._stop.reached or not symbols:
            return ""
        return self._stop.push(self._decoder.push(np.array(symbols)))

    def end(self) -> str:
        """What was held back."""
        if self._stop.reached:
            return ""
        last = self._stop.push(self._decoder.end())
        return last + self._stop.end()

    def whole(self, job: Job) -> str:
        """The text of a job that has ended."""
        return self.push(job.symbols) + self.end()
