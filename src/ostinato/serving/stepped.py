"""Routes of a network with a step: sessions, which keep its state between requests."""

import dataclasses
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.requests import Request

from ..errors import BadInput
from ..runs.streaming.codecs import StepCodec
from .batcher import Job
from .requests import Endpoint, listed
from .turns import Turns

VALUES = {"value": "what the next step reads", "values": "or several of them, in a list"}


class NoSession(BadInput):
    """A session that is not there, or no longer."""


class Busy(BadInput):
    """What was asked for cannot be had now."""


@dataclasses.dataclass(eq=False)
class Session:
    """What the network has read for a client.

    Attributes:
        name: a random word by which it is asked for.
        state: the arrays of the network's state; `None` at the beginning.
        pending: what was written last and not read yet.
        steps: how many values were read or written.
        used: when it was used last, by `time.monotonic`.
        busy: whether a request goes on with it now.
    """

    name: str
    state: list[Any] | None = None
    pending: list[Any] = dataclasses.field(default_factory=list)
    steps: int = 0
    used: float = 0.0
    busy: bool = False


class Sessions:
    """All sessions of a server.

    Args:
        limit: how many there may be.
        expiry: seconds after its last use at which a session ends.
    """

    def __init__(self, limit: int, expiry: float) -> None:
        self.limit, self.expiry = limit, expiry
        self._all: dict[str, Session] = {}

    def __len__(self) -> int:
        self._sweep()
        return len(self._all)

    def open(self) -> Session:
        """A new one."""
        self._sweep()
        if len(self._all) >= self.limit:
            raise Busy(f"there are {self.limit} sessions already; end one, or come back later")
        session = Session(secrets.token_urlsafe(16), used=time.monotonic())
        self._all[session.name] = session
        return session

    def find(self, name: str) -> Session:
        """One that a client names, which nobody else uses now."""
        self._sweep()
        session = self._all.get(name)
        if session is None:
            raise NoSession(
                f"there is no session {name:.40}; it has ended, or was not used for "
                f"{self.expiry:g} s"
            )
        if session.busy:
            raise Busy("another request uses this session; wait for its end")
        session.used = time.monotonic()
        return session

    def close(self, name: str) -> None:
        """End one."""
        self._all.pop(self.find(name).name)

    def _sweep(self) -> None:
        early = time.monotonic() - self.expiry
        old = [name for name, one in self._all.items() if one.used < early and not one.busy]
        for name in old:
            del self._all[name]


class Stepped:
    """
    Args:
        turns: where jobs are given to the batcher.
        codec: what the numbers of the network mean.
        sessions: those of the server.
    """

    def __init__(self, turns: Turns, codec: StepCodec, sessions: Sessions) -> None:
        self.turns, self.codec, self.sessions = turns, codec, sessions

    def endpoints(self) -> list[Endpoint]:
        step = "/sessions/{session}/step"
        return [
            Endpoint("POST", "/sessions", "Begin a session, which keeps its state", self.begin),
            Endpoint("DELETE", "/sessions/{session}", "End a session", self.close),
            Endpoint("POST", step, "Read a value, and answer", self.step, lists=VALUES),
        ]

    async def begin(self, request: Request, chosen: Any, more: Any) -> Any:
        session = self.sessions.open()
        return {"session": session.name, "expires": self.sessions.expiry}

    async def close(self, request: Request, chosen: Any, more: Any) -> Any:
        self.sessions.close(request.path_params["session"])
        return {"ended": True}

    async def step(self, request: Request, chosen: Any, more: Any) -> Any:
        session = self.sessions.find(request.path_params["session"])
        if len(more) != 1:
            raise BadInput("give a value, or values")
        values = [more["value"]] if "value" in more else listed(more, "values", self.turns.length)
        answer = await self.read(request, [*self.codec.reader(values)], session)
        return {"answer": self.codec.plain(answer), "steps": session.steps}

    async def read(
        self, request: Request, values: list[Any], session: Session | None = None
    ) -> Any:
        """The answer of the network after some values."""
        state = None
        if session is not None:
            values, state = [*session.pending, *values], session.state
        if not values:
            raise BadInput("there is nothing to read")
        job = Job(values, state=state, keep=session is not None)
        with self.using(session, job), self.turns.submitted([job]):
            await self.turns.finish(request, job)
        assert job.outputs is not None
        (answer,) = self.codec.tell(job.outputs[None])
        return answer

    @contextmanager
    def using(self, session: Session | None, job: Job) -> Iterator[None]:
        """Keep others from a session while a job goes on with it; then it is where the job is."""
        if session is None:
            yield
            return
        session.busy = True
        try:
            yield
            session.state, session.steps = job.state, session.steps + job.place
            session.pending = job.values[job.place :]
        finally:
            session.busy, session.used = False, time.monotonic()
