"""The routes of the studio: pages, static files, and what pages ask for as JSON."""

import asyncio
import contextlib
import hashlib
import string
from collections.abc import AsyncIterator, Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, cast
from weakref import WeakValueDictionary

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from ..errors import BadInput
from ..files import is_locked, next_folder
from ..runs.folder.digest import Digest
from ..settings import shown
from ..web import as_json, json_object
from . import tidying
from .actions import Jobs, check_plain
from .browse import Files
from .folder import Digests, Folder, NoRun, newest_checkpoint
from .follow import Follower
from .views import chart_view, compare_view, pages_of, run_view
from .worker_process import Worker

PAGES = {
    "/": ("runs", "Runs"),
    "/run": ("run", "Run"),
    "/compare": ("compare", "Compare"),
    "/start": ("start", "Start a run"),
    "/claims": ("claims", "Claims"),
    "/inside": ("inside", "Inside"),
    "/play": ("play", "Play"),
}
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
PLOTLY = "plotly.min.js"
LONG = 8 << 20  # bytes of a log for which nobody should wait
SHARED = ("look.js",)  # files that a report uses too
# Methods of `Studio` that answer a query with JSON at `/api/NAME`, and those that are sent a body.
ASKED = (
    *("runs", "run", "chart", "compare", "form", "findings", "claims", "job", "forecast"),
    *("pictures", "trash", "pages", "files", "preview"),
)
CHANGING = (
    *("start", "stop", "resume", "verify", "inside"),
    *("label", "move", "delete", "restore"),
)
Sent = dict[str, Any]  # the JSON object that a page has sent


class Studio:
    """The application's state, and a method for every route.

    Args:
        path: the folder with the runs.
        data: the folder whose files can be chosen; that of the runs if it is not given.
    """

    def __init__(self, path: Path, data: Path | None = None):
        self.folder, self.data = Folder(path), Files(path if data is None else data)
        self.digests, self.follower = Digests(), Follower()
        self.jobs = Jobs(self.folder)
        self.measuring, self.claiming, self.looking = Worker(), Worker(), Worker()
        self._reading = asyncio.Lock()  # one long log at a time
        self._turns: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()
        self._kept: dict[str, Any] = {}

    def app(self) -> Starlette:
        """The ASGI application."""
        routes = [Route(path, self.page) for path in PAGES]
        routes += [Route("/static/{name}", self.static)]
        routes += [
            Route(f"/api/{name}", _route(getattr(self, name)), methods=[method])
            for method, names in (("GET", ASKED), ("POST", CHANGING))
            for name in names
        ]
        routes += [Route("/api/events", self.events)]
        routes += [Route("/api/play", self.play, methods=["POST"])]

        @contextlib.asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            yield
            for worker in (self.measuring, self.claiming, self.looking):
                worker.end()

        wrong: Any = {404: self.lost, 405: self.lost}
        return Starlette(routes=routes, lifespan=lifespan, exception_handlers=wrong)

    def _run(self, asked: Mapping[str, Any]) -> Path:
        """The folder of the run that a query or a body names."""
        return self.folder.find(_text(asked, "name"))

    async def page(self, request: Request) -> Response:
        return _page(*PAGES[request.url.path])

    async def lost(self, request: Request, error: Exception) -> Response:
        """An address that is none: a page for a reader, and one line for a script."""
        status = cast(HTTPException, error).status_code
        if status == 405:
            return PlainTextResponse(f"{request.method} is not how this is asked\n", status)
        if request.url.path.startswith(("/api/", "/static/")):
            return PlainTextResponse("there is nothing at this address\n", status)
        return _page("lost", "Nothing here", status)

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        kind = TYPES.get(Path(name).suffix)
        place = (
            files("plotly") / "package_data" if name == PLOTLY else files(__package__) / "static"
        )
        if name in SHARED:
            place = files("ostinato.report")
        file = next((one for one in place.iterdir() if one.name == name), None)
        if kind is None or file is None:
            return PlainTextResponse("there is no such file\n", 404)
        kept = "max-age=86400" if name == PLOTLY else "no-cache"
        data = await asyncio.to_thread(file.read_bytes)
        return Response(data, media_type=kind, headers={"cache-control": kept})

    async def runs(self, query: QueryParams) -> Any:
        """All runs; nothing but a note if they are as the page has them already."""
        rows = await asyncio.to_thread(self.folder.rows)
        shown = {"runs": rows, "trash": tidying.count_trashed(self.folder)}
        mark = hashlib.sha256(msgspec.json.encode(shown)).hexdigest()[:16]
        if query.get("mark") == mark:
            return {"same": True}
        return {"folder": str(self.folder.path), **shown, "mark": mark}

    async def run(self, query: QueryParams) -> Any:
        """A run; with `sample=1`, a long log that is not known yet is only sampled."""
        name = query.get("name", "")
        row = await asyncio.to_thread(self.folder.row, name)
        path = self.folder.find(name)
        job = {"job": self.jobs.state(name), "checkpoint": newest_checkpoint(path) != ""}
        if query.get("sample") == "1" and self.digests.left(path) > LONG:
            sample = await asyncio.to_thread(Digest.sampled, path)
            return await asyncio.to_thread(run_view, row, sample, sampled=True) | job
        async with self._turn(path):
            digest = await self._digest(path)
            return await asyncio.to_thread(run_view, row, digest) | job

    async def pages(self, query: QueryParams) -> Any:
        """The pages on which this run has something to show."""
        row = await asyncio.to_thread(self.folder.row, query.get("name", ""))
        return {"pages": pages_of(row, newest_checkpoint(self.folder.find(row.name)) != "")}

    async def chart(self, query: QueryParams) -> Any:
        path = self._run(query)
        chart = query.get("chart", "")
        first, last = (_number(query, key) for key in ("from", "to"))
        async with self._turn(path):
            digest = await self._digest(path)
            return await asyncio.to_thread(chart_view, digest, chart, first, last)

    async def compare(self, query: QueryParams) -> Any:
        names = list(dict.fromkeys(query.getlist("run")))[:100]
        if not names:
            raise BadInput("no run has been chosen")
        over_seeds = query.get("seeds", "1") == "1"
        rows = [await asyncio.to_thread(self.folder.row, name) for name in names]
        paths = [self.folder.find(name) for name in names]
        async with contextlib.AsyncExitStack() as stack:
            for path in sorted({*paths}):  # in one order, so that two requests cannot block
                await stack.enter_async_context(self._turn(path))
            runs = [(row, await self._digest(path)) for row, path in zip(rows, paths, strict=True)]
            return await asyncio.to_thread(compare_view, runs, over_seeds)

    def _turn(self, path: Path) -> asyncio.Lock:
        """The lock of a run: its digest is read and used by one request at a time."""
        return self._turns.setdefault(path, asyncio.Lock())

    async def _digest(self, path: Path) -> Digest:
        """The digest of a run whose turn it is. A short log need not wait for a long one."""
        if self.digests.left(path) <= LONG:
            return await asyncio.to_thread(self.digests.of, path)
        async with self._reading:
            return await asyncio.to_thread(self.digests.of, path)

    async def events(self, request: Request) -> Response:
        try:
            path = self._run(request.query_params)
        except NoRun as error:
            return PlainTextResponse(f"{error}\n", 404)
        offset = request.headers.get("last-event-id") or request.query_params.get("after", "0")
        if not offset.isdecimal() or len(offset) > 18:
            return PlainTextResponse("the place to follow from is a number of bytes\n", 400)
        return StreamingResponse(
            self.follower.follow(path, int(offset)),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    async def findings(self, query: QueryParams) -> Any:
        """The doctor's findings, measured again only after a new checkpoint or the end."""
        path = self._run(query)
        which = path.stat().st_ino  # another run may have this name by now
        key = f"{path}:{which}:{newest_checkpoint(path)}:{is_locked(path)}"
        asked = {"do": "findings", "path": str(path)}
        return {"findings": await self._known(key, self.measuring, 300.0, **asked)}

    async def form(self, query: QueryParams) -> Any:
        return await self._known("form", self.measuring, do="form")

    async def files(self, query: QueryParams) -> Any:
        """The data files of a folder; see `browse`."""
        folder, match = (query.get(key, "") for key in ("folder", "match"))
        return await asyncio.to_thread(self.data.listing, folder, match)

    async def preview(self, query: QueryParams) -> Any:
        """The beginning of a data file; see `preview`."""
        path = self.data.find(query.get("file", ""))
        shown = await self.measuring.ask(60.0, do="preview", path=str(path))
        return shown | {"given": self.data.given(path)}

    async def claims(self, query: QueryParams) -> Any:
        claims = await self._known("claims", self.claiming, do="claims")
        kept = {name: x for name, x in self._kept.items() if name.startswith("claim:")}
        return {"claims": claims, "checked": kept}

    async def verify(self, sent: Sent) -> Any:
        name = _text(sent, "name")
        verdict = await self.claiming.ask(600.0, do="claim", name=name)
        self._keep(f"claim:{name}", verdict)
        return verdict

    async def inside(self, sent: Sent) -> Any:
        """A question to a network about a text; see `worker.inside`."""
        path = self._run(sent)
        known = ("what", "text", "begin", "unit", "pattern", "at", "labels", "label")
        asked = {key: sent[key] for key in known if key in sent}
        if file := _text(sent, "file"):
            asked |= {"labels": await asyncio.to_thread(self.folder.text, file), "source": file}
        return await self.looking.ask(300.0, do="inside", path=str(path), **asked)

    async def forecast(self, query: QueryParams) -> Any:
        """A series continued from a place; see `worker.forecast`."""
        path = self._run(query)
        asked = {key: _whole(query, key) for key in ("series", "begin", "steps")}
        return await self.looking.ask(300.0, do="forecast", path=str(path), **asked)

    async def pictures(self, query: QueryParams) -> Any:
        path = self._run(query)
        return await self.looking.ask(300.0, do="pictures", path=str(path))

    async def play(self, request: Request) -> Response:
        """Sampled text as lines of JSON, each as soon as it is there; an error is the last line."""
        known = ("prompt", "length", "temperature", "top_k", "top_p", "beam", "seed")
        try:
            sent = json_object(await request.body())
            path = self._run(sent)
        except BadInput as error:
            return PlainTextResponse(msgspec.json.encode({"error": str(error)}), 404)
        asked = {key: sent[key] for key in known if key in sent}

        async def lines() -> AsyncIterator[bytes]:
            try:
                pieces = self.looking.stream(do="play", path=str(path), **asked)
                async with contextlib.aclosing(pieces):
                    async for piece in pieces:
                        yield msgspec.json.encode(piece) + b"\n"
            except BadInput as error:
                yield msgspec.json.encode({"error": str(error)}) + b"\n"

        return StreamingResponse(lines(), media_type="application/jsonl")

    async def start(self, sent: Sent) -> Any:
        settings = sent.get("settings")
        if not isinstance(settings, dict):
            raise BadInput("the settings are missing")
        check_plain(settings)
        name = _text(sent, "name")
        checked = await self.measuring.ask(do="check", settings=settings)
        name = name or next_folder(f"{self.folder.path / checked['name']}-").name
        self.jobs.start(name, settings)
        return {"name": name}

    async def stop(self, sent: Sent) -> Any:
        self.jobs.stop(_text(sent, "name"))
        return {}

    async def resume(self, sent: Sent) -> Any:
        steps = sent.get("steps")
        if steps is not None and (type(steps) is not int or not 0 < steps < 2**31):
            raise BadInput("steps must be a whole number above 0")
        self.jobs.resume(_text(sent, "name"), steps)
        return {}

    async def label(self, sent: Sent) -> Any:
        name, labels = _text(sent, "name"), sent.get("labels")
        return await asyncio.to_thread(tidying.label, self.folder, name, labels)

    async def move(self, sent: Sent) -> Any:
        name, to = _text(sent, "name"), _text(sent, "to")
        self.jobs.check_idle(name)
        await asyncio.to_thread(tidying.move, self.folder, name, to)
        return {"name": to}

    async def delete(self, sent: Sent) -> Any:
        name = _text(sent, "name")
        self.jobs.check_idle(name)
        return {"kept": await asyncio.to_thread(tidying.delete, self.folder, name)}

    async def restore(self, sent: Sent) -> Any:
        kept = _text(sent, "kept")
        return {"name": await asyncio.to_thread(tidying.restore, self.folder, kept)}

    async def trash(self, query: QueryParams) -> Any:
        return {"trash": await asyncio.to_thread(tidying.trashed, self.folder)}

    async def job(self, query: QueryParams) -> Any:
        name = query.get("name", "")
        return {"job": self.jobs.state(name), "there": self.folder.has(name)}

    async def _known(self, key: str, worker: Worker, seconds: float = 120.0, **request: Any) -> Any:
        """The answer of a worker, which is asked once and kept."""
        if key not in self._kept:
            self._keep(key, await worker.ask(seconds, **request))
        return self._kept[key]

    def _keep(self, key: str, value: Any) -> None:
        self._kept[key] = value
        while len(self._kept) > 256:
            self._kept.pop(next(iter(self._kept)))


def _route(call: Callable) -> Callable:
    """A route that answers with JSON; what is wrong with a request is one line.

    `call` is given the query of a request, or of one that changes something the body.
    """

    async def route(request: Request) -> Response:
        status = 200
        try:
            sent = request.method == "POST"
            given = json_object(await request.body()) if sent else request.query_params
            answer = await call(given)
        except NoRun as error:
            status, answer = 404, {"error": str(error)}
        except BadInput as error:
            status, answer = 400, {"error": str(error)}
        except OSError as error:  # a folder that vanished while it was read
            status, answer = 404, {"error": f"this run cannot be read: {error.strerror or error}"}
        return as_json(answer, status)

    return route


def _number(query: QueryParams, key: str) -> float:
    try:
        number = float(query[key])
    except (KeyError, ValueError):
        raise BadInput(f"{key} must be a step") from None
    if number != number:
        raise BadInput(f"{key} must be a step")
    return number


def _text(asked: Mapping[str, Any], key: str) -> str:
    """A text of a query or a body; empty where there is none."""
    words = asked.get(key)
    if words is not None and not isinstance(words, str):
        raise BadInput(f"{key} must be text, got {shown(words)}")
    return words or ""


def _whole(query: QueryParams, key: str) -> int | None:
    """A whole number of a query; `None` where there is none."""
    words = query.get(key, "")
    if not words:
        return None
    if not words.isascii() or not words.isdecimal() or len(words) > 15:
        raise BadInput(f"{key} must be a whole number from 0, got {words:.40}")
    return int(words)


def _page(script: str, title: str, status: int = 200) -> Response:
    words = string.Template(_part("frame.html")).substitute(script=script, title=title)
    return HTMLResponse(words, status, headers={"cache-control": "no-store"})


def _part(name: str) -> str:
    return (files(__package__) / "static" / name).read_text(encoding="utf-8")
