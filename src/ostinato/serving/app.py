"""A served run: which routes it has depends on what its network does."""

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from ..cells import Model
from ..errors import BadInput
from ..runs import Run
from ..runs.folder.provenance import versions
from ..runs.streaming.codecs import codec_of
from ..web import as_json
from ..wiring.stepping import Stepping
from .completions import Completions, NoModel
from .gate import RETRY_AFTER, Metrics, refused
from .requests import Endpoint, Limits, openapi, page
from .stepped import Busy, NoSession, Sessions, Stepped
from .turns import Turns
from .whole_answers import USES, WholeAnswers
from .worker import Full, Worker

STATUS: dict[type[Exception], int] = {
    NoSession: 404,
    NoModel: 404,
    Busy: 409,
    BadInput: 400,
    TimeoutError: 503,
}


class Loaded(Run):
    """A run that reads its network once."""

    @cached_property
    def best(self) -> Model:
        return super().network()

    def network(self, which: str | int = "best", like: Model | None = None) -> Model:
        return self.best if which == "best" and like is None else super().network(which, like)


class Service:
    """A run and its routes.

    Args:
        run: a trained run.
        limits: what the server takes on.

    Raises `BadInput` for a run that has nothing to serve.
    """

    def __init__(self, run: Run, limits: Limits = Limits()) -> None:
        self.run = Loaded(**{x.name: getattr(run, x.name) for x in dataclasses.fields(run)})
        self.limits, self.name = limits, run.path.name
        self.metrics, self.sessions = Metrics(), Sessions(limits.sessions, limits.expiry)
        verb = run.config.task.kind.verb(run.artefacts)
        self.stepped: Stepped | None = None
        try:
            self.stepped = self._stepped()
        except BadInput as error:
            if verb not in USES:
                raise BadInput(f"{run.path} cannot be served: {error}") from None
        self.whole = WholeAnswers(self.run, verb, limits) if verb in USES else None
        self.endpoints = [
            Endpoint("GET", "/health", "Whether the server works, and how busy it is", self.health),
            Endpoint("GET", "/metrics", "Numbers in the format of Prometheus", self.numbers),
            Endpoint("GET", "/openapi.json", "These routes, for programs", self.openapi),
            Endpoint("GET", "/", "These routes, for people", self.page),
        ]
        self.workers: list[Worker] = []
        if self.whole is not None:
            self.workers.append(self.whole.gatherer)
            self.endpoints += self.whole.endpoints()
        if self.stepped is not None:
            self.workers.append(self.stepped.turns.batcher)
            self.endpoints += self.stepped.endpoints()

    def _stepped(self) -> Stepped:
        task = self.run.config.task
        network = self.run.network()  # it is read now, also for what is answered as a whole
        interface = task.kind.interface(task.settings, self.run.artefacts)
        stepping = Stepping.of(network, interface.residual)
        codec = codec_of(interface)
        turns = Turns(stepping, self.run.sizes.inputs, self.limits)
        if codec.text is None:
            return Stepped(turns, codec, self.sessions)
        return Completions(turns, codec, self.sessions, codec.text, name=self.name)

    def app(self) -> Starlette:
        """The ASGI application, without its gate."""

        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            for worker in self.workers:
                await asyncio.to_thread(worker.start)
            yield
            for worker in self.workers:
                await asyncio.to_thread(worker.end)

        routes = [Route(x.path, _route(x), methods=[x.method]) for x in self.endpoints]
        wrong: Any = {404: lost, 405: lost}
        return Starlette(routes=routes, lifespan=lifespan, exception_handlers=wrong)

    def end_soon(self, seconds: float) -> None:
        """Take on nothing more, and let what goes on end within some seconds."""
        for worker in self.workers:
            worker.closing = time.monotonic() + seconds

    async def health(self, request: Request, chosen: Any, more: Any) -> Any:
        numbers = {name: int(value) for name, (_, value) in self._gauges().items()}
        return {"status": "ok", "run": self.name, "task": self.run.config.task.name, **numbers}

    def _gauges(self) -> dict[str, tuple[str, float]]:
        active = 0 if self.stepped is None else len(self.stepped.turns.batcher.active)
        waiting = sum(len(worker.queue) for worker in self.workers)
        return {
            "active": ("Requests that are being stepped.", active),
            "waiting": ("Requests that wait for their turn.", waiting),
            "sessions": ("Sessions that are open.", len(self.sessions)),
        }

    async def numbers(self, request: Request, chosen: Any, more: Any) -> Any:
        counters: dict[str, tuple[str, float]] = {}
        if self.stepped is not None:
            batcher = self.stepped.turns.batcher
            counters["turns_total"] = ("Steps of the network.", batcher.turns)
            counters["steps_total"] = ("Values that it read in them.", batcher.steps)
        return PlainTextResponse(self.metrics.as_text(self._gauges(), counters))

    async def openapi(self, request: Request, chosen: Any, more: Any) -> Any:
        return openapi(self.endpoints, f"Ostinato: {self.name}", versions()["ostinato"])

    async def page(self, request: Request, chosen: Any, more: Any) -> Any:
        return HTMLResponse(page(self.endpoints, f"Ostinato: {self.name}"))


def _route(endpoint: Endpoint) -> Any:
    async def route(request: Request) -> Response:
        try:
            chosen, more = endpoint.read(await request.body())
            answer = await endpoint.call(request, chosen, more)
        except Full as error:
            answer = failure(request, 503, str(error))
            answer.headers["retry-after"] = RETRY_AFTER
        except (BadInput, TimeoutError) as error:
            status = next(x for kind, x in STATUS.items() if isinstance(error, kind))
            answer = failure(request, status, str(error) or "it took too long; ask for less")
        return answer if isinstance(answer, Response) else as_json(answer)

    return route


def failure(request: Request, status: int, words: str) -> Response:
    """What is wrong, as the body of an answer; see `refused`."""
    return as_json(refused(request.url.path, status, words), status)


async def lost(request: Request, error: Exception) -> Response:
    """An address that is not there, or is asked in another way."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    known = "there is nothing at this address; GET / lists what there is"
    words = known if status == 404 else f"{request.method} is not how this is asked; see GET /"
    return failure(request, status, words)
