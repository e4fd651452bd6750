"""Who may ask, how much, and what is counted: an ASGI application around another.

A page of another site must not use the server through its reader's browser, so the `Host` must be
ours and an `Origin` must be that host. A body is read here, up to a limit and in time, before
anything else happens.
"""

import resource
import sys
import time
from collections import Counter
from typing import Any

import msgspec

from ..web import Receive, Scope, Send, again, answer, read_body, to_the_end

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
        b"frame-ancestors 'none'",
    ),
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
        lines = ["# HELP ostinato_requests_total Requests that were answered."]
        lines.append("# TYPE ostinato_requests_total counter")
        for (route, status), count in sorted(self.requests.items()):
            lines.append(f'ostinato_requests_total{{route="{route}",status="{status}"}} {count}')
        lines.append("# HELP ostinato_request_seconds_total Seconds that requests took.")
        lines.append("# TYPE ostinato_request_seconds_total counter")
        for route, seconds in sorted(self.seconds.items()):
            lines.append(f'ostinato_request_seconds_total{{route="{route}"}} {seconds:.6f}')
        unit = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        own = {
            "memory_peak_bytes": ("The most memory that the process has had.", float(peak)),
            "start_time_seconds": ("When the server was started.", self._started),
        }
        for kind, numbers in (("counter", counters), ("gauge", {**gauges, **own})):
            for name, (words, value) in numbers.items():
                lines.append(f"# HELP ostinato_{name} {words}")
                lines.append(f"# TYPE ostinato_{name} {kind}")
                lines.append(f"ostinato_{name} {value:g}")
        return "\n".join(lines) + "\n"


class Gate:
    """
    Args:
        app: the application.
        hosts: the hosts by which it may be called, with their port; `None` for any.
        body: bytes of a body, at most.
        metrics: hears of every request.
        routes: the paths that are counted by their names; others are counted together.
    """

    def __init__(
        self, app: Any, hosts: set[str] | None, body: int, metrics: Metrics, routes: set[str]
    ) -> None:
        self.app, self.hosts, self.body = app, hosts, body
        self.metrics, self.routes = metrics, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        begin, status = time.monotonic(), 500
        head = scope["path"].strip("/").split("/")[0]
        route = next((x for x in (scope["path"], f"/{head}") if x in self.routes), "other")

        async def counted(message: dict) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", []), *HEADERS]}
            await send(message)

        try:
            await self._checked(scope, receive, counted)
        finally:
            self.metrics.note(route, status, time.monotonic() - begin)

    async def _checked(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        rest = to_the_end(receive)
        if (refused := self._refusal(headers)) is not None:
            return await _refuse(send, rest, 403, refused)
        length = headers.get(b"content-length", "0")
        too_large = f"a request has at most {self.body} bytes"
        if not length.isdecimal() or int(length[:20]) > self.body:
            return await _refuse(send, rest, 413, too_large)
        body = await read_body(rest, self.body)
        if body is None:
            return await _refuse(send, rest, 413, f"{too_large}, and arrives in time")
        await self.app(scope, again(body, receive), send)

    def _refusal(self, headers: dict[bytes, str]) -> str | None:
        host = headers.get(b"host", "").lower()
        if self.hosts is not None and host not in self.hosts:
            return "this is not the host that the server was started with"
        origin = headers.get(b"origin")
        if origin is not None and origin.lower().partition("://")[2] != host:
            return "requests from pages of other sites are refused"
        return None


async def _refuse(send: Send, rest: Receive, status: int, words: str) -> None:
    await answer(send, rest, status, msgspec.json.encode({"error": words}), b"application/json")
