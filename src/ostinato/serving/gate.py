"""What a served run counts, and the gate around it that counts every request."""

import resource
import sys
import time
from collections import Counter
from typing import Any

import msgspec

from .. import web
from ..web import Receive, Refusals, Scope, Send, answer, to_the_end
from .worker import Full

ALWAYS = ("/health", "/metrics")  # routes that a full server answers too
RETRY_AFTER = "1"  # seconds, in the header of an answer that a full server gives
POLICY = (
    b"content-security-policy",
    b"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'",
)


class Metrics:
    """Counters and the time that requests took, in the text format of Prometheus."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.seconds: Counter[str] = Counter()
        self._started = time.time()

    def note(self, route: str, status: int, seconds: float) -> None:
        """A request that has been answered."""
        self.requests[route, status] += 1
        self.seconds[route] += seconds  # type: ignore[assignment]

    def as_text(self, gauges: dict[str, tuple[str, float]], counters: dict) -> str:
        """All numbers; gauges and counters are pairs of a line of help and a number, by name."""
        unit = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        own = {
            "memory_peak_bytes": ("The most memory that the process has had.", peak),
            "start_time_seconds": ("When the server was started.", self._started),
        }
        requests = {
            f'{{route="{route}",status="{status}"}}': str(count)
            for (route, status), count in sorted(self.requests.items())
        }
        seconds = {
            f'{{route="{route}"}}': f"{taken}" for route, taken in sorted(self.seconds.items())
        }
        return "".join(
            [
                _family("requests_total", "counter", "Requests that were answered.", requests),
                _family("request_seconds_total", "counter", "Seconds that requests took.", seconds),
                *(
                    _family(name, kind, words, {"": f"{value}"})
                    for kind, numbers in (("counter", counters), ("gauge", {**gauges, **own}))
                    for name, (words, value) in numbers.items()
                ),
            ]
        )


def _family(name: str, kind: str, words: str, values: dict[str, str]) -> str:
    """The lines of one metric, with its values by their labels."""
    head = f"# HELP ostinato_{name} {words}\n# TYPE ostinato_{name} {kind}\n"
    return head + "".join(f"ostinato_{name}{labels} {value}\n" for labels, value in values.items())


def refused(path: str, status: int, words: str) -> dict[str, Any]:
    """What is wrong, in one line; a client of OpenAI's expects more around it."""
    if path.startswith("/v1/"):
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": words, "type": kind, "param": None, "code": None}}
    return {"error": words}


class Gate(web.Gate):
    """
    Args:
        app: the application.
        hosts: the hosts by which it may be called, with their port; `None` for any.
        body: bytes of a body, at most.
        metrics: hears of every request.
        routes: the paths that are counted by their names; others are counted together.
        requests: how many may be read and answered at a time, besides those of `ALWAYS`.
    """

    headers = (*web.HEADERS, POLICY)
    media_type = b"application/json"

    def __init__(
        self,
        app: Any,
        hosts: set[str] | None,
        body: int,
        metrics: Metrics,
        routes: set[str],
        requests: float = float("inf"),
    ) -> None:
        too_large = f"a request has at most {body} bytes"
        refusals = Refusals(
            host="this is not the host that the server was started with",
            origin="requests from pages of other sites are refused",
            size=too_large,
            time=f"{too_large}, and arrives in time",
        )
        super().__init__(app, hosts, body, refusals)
        self.metrics, self.routes = metrics, routes
        self.requests, self.active = requests, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        begin, status = time.monotonic(), 500
        head = scope["path"].strip("/").split("/")[0]
        route = next((x for x in (scope["path"], f"/{head}") if x in self.routes), "other")

        async def counted(message: dict) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            if route in ALWAYS:
                await super().__call__(scope, receive, counted)
            elif self.active >= self.requests:
                await self._refuse(scope, receive, counted)
            else:
                self.active += 1
                try:
                    await super().__call__(scope, receive, counted)
                finally:
                    self.active -= 1
        finally:
            self.metrics.note(route, status, time.monotonic() - begin)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that is one too many."""
        body = msgspec.json.encode(refused(scope["path"], 503, str(Full())))
        more = ((b"retry-after", RETRY_AFTER.encode()),)
        rest = to_the_end(receive)
        await answer(self.guarded(send), rest, 503, body, self.media_type, more)

    def encoded(self, refusal: str) -> bytes:
        return msgspec.json.encode({"error": refusal})
