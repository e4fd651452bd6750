"""What every server here does alike: where it listens, who is called by its name, and for how long.

uvicorn and starlette, which not every installation has, are imported when they are used.
"""

import abc
import asyncio
import contextlib
import ipaddress
import socket
import warnings
from collections.abc import Awaitable, Callable
from errno import EADDRNOTAVAIL
from typing import Any, NamedTuple

import msgspec

from .errors import BadInput

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
PATIENCE = 10.0  # seconds for a body to arrive
HEADERS_WITHIN = 10.0  # seconds for a request to arrive
LINGERING = 5.0  # seconds in which the rest of a refused request is read
CONNECTIONS = 1000  # that a server keeps open, unless it says how many
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
Headers = tuple[tuple[bytes, bytes], ...]
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict]]
Send = Callable[[dict], Awaitable[None]]


def is_local(host: str) -> bool:
    """Whether only this machine can reach an address.

    Example:
        >>> is_local("127.0.0.1"), is_local("localhost"), is_local("0.0.0.0")
        (True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def name_in_address(host: str) -> str:
    """A host as an address has it."""
    return f"[{host}]" if ":" in host else host


def hosts_of(host: str, port: int) -> set[str] | None:
    """The hosts, with their port, by which a local server may be called; `None` for any.

    A page of another site could otherwise reach it through the reader's own browser, by a name that
    leads to this machine (DNS rebinding).
    """
    if not is_local(host):
        return None
    return {f"{one}:{port}" for one in (*LOOPBACK, name_in_address(host))}


def listening(host: str, port: int, danger: str) -> tuple[socket.socket, int, set[str] | None]:
    """A socket that listens, its port, and the hosts by which it may be called; see `hosts_of`.

    Args:
        host, port: where; port 0 for any that is free.
        danger: what to warn of, if others on the network can reach it.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError, UnicodeError) as error:
        listener.close()
        if isinstance(error, socket.gaierror | UnicodeError) or error.args[0] == EADDRNOTAVAIL:
            raise BadInput(
                f"{host:.100} is not an address of this machine; give --host 127.0.0.1 to be "
                "reached from this machine alone, or --host 0.0.0.0 from its whole network"
            ) from None
        words = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"cannot listen on {host}:{port}: {words}; choose another --port") from None
    listener.listen(256)
    port = listener.getsockname()[1]
    hosts = hosts_of(host, port)
    if hosts is None:
        words = f"others on the network can reach {host}{danger}"
        warnings.warn(words, RuntimeWarning, stacklevel=3)
    return listener, port, hosts


def uvicorn_options(connections: int = CONNECTIONS) -> dict[str, Any]:
    """Options of `uvicorn.Config` that every server here has; see `impatient`."""
    return {
        "http": impatient(connections),
        "ws": "none",
        "log_level": "critical",
        "access_log": False,
        "server_header": False,
        "timeout_keep_alive": 20,
    }


def impatient(connections: int = CONNECTIONS) -> Any:
    """uvicorn's protocol, except that a connection with a part of a request is soon closed.

    This holds for the first request and for each that follows. A connection without any is closed
    by `timeout_keep_alive`. When there are too many connections, the one that has sent nothing for
    the longest time is closed, unless a whole request of it is being answered. uvicorn's own limit
    would instead refuse every new request in plain text, that of a health check too.

    Args:
        connections: how many may be open.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        deadline: asyncio.TimerHandle | None = None
        heard = 0.0  # when it sent something last, by the clock of the loop

        @property
        def answering(self) -> bool:
            """Whether a request that was read as a whole is being answered."""
            cycle = self.cycle
            return cycle is not None and not cycle.response_complete and not cycle.more_body

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.heard = self.loop.time()
            if len(self.connections) > connections:
                idle = [x for x in self.connections if x is not self and not x.answering]
                oldest = min(idle, key=lambda one: one.heard, default=self)
                self.connections.discard(oldest)  # uvicorn does so only when it is closed
                oldest.transport.abort()
            self._expect()

        def data_received(self, data: bytes) -> None:
            self.heard = self.loop.time()
            super().data_received(data)
            self._expect()

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel()
            super().connection_lost(exc)

        def _expect(self) -> None:
            """Start to wait for the rest of a request; stop once it is whole."""
            if self.cycle is not None and not self.cycle.response_complete:
                self._cancel()
            elif self.deadline is None:
                self.deadline = self.loop.call_later(HEADERS_WITHIN, self._give_up)

        def _cancel(self) -> None:
            if self.deadline is not None:
                self.deadline.cancel()
            self.deadline = None

        def _give_up(self) -> None:
            if not self.transport.is_closing():
                self.transport.close()

    return Impatient


class Refusals(NamedTuple):
    """What a server says to a request that it refuses, a line each.

    Attributes:
        host: it names another host.
        origin: it comes from a page of another site.
        size: its body is too large.
        time: its body is too large, or does not come in time.
    """

    host: str
    origin: str
    size: str
    time: str


class Gate(abc.ABC):
    """An ASGI application around another: it checks who asks, and reads the body.

    A page of another site must not use a local server through its reader's browser, so the `Host`
    must be ours and an `Origin` must be that host with its port. A body is read up to a limit and
    in time, before anything else happens.

    Attributes:
        headers: what every answer gets.
        media_type: of a refusal.

    Args:
        app: the application.
        hosts: the hosts by which it may be called, with their port; `None` for any.
        limit: bytes of a body, at most.
        refusals: what is said to a request that is refused.
    """

    headers: Headers = HEADERS
    media_type: bytes

    def __init__(self, app: Any, hosts: set[str] | None, limit: int, refusals: Refusals) -> None:
        self.app, self.hosts, self.limit, self.refusals = app, hosts, limit, refusals

    @abc.abstractmethod
    def encoded(self, refusal: str) -> bytes:
        """A refusal as the body of an answer."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        given = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        rest = to_the_end(receive)

        guarded = self.guarded(send)

        async def refuse(status: int, words: str) -> None:
            await answer(guarded, rest, status, self.encoded(words), self.media_type)

        if (refused := self.refusal(scope, given)) is not None:
            return await refuse(403, refused)
        length = given.get(b"content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self.limit:
            return await refuse(413, self.refusals.size)
        if (body := await read_body(rest, self.limit)) is None:
            return await refuse(413, self.refusals.time)
        await self.respond(scope, again(body, receive), guarded)

    def guarded(self, send: Send) -> Send:
        """A `send` that adds `headers` to an answer."""

        async def guarded(message: dict) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *self.headers]}
            await send(message)

        return guarded

    def refusal(self, scope: Scope, headers: dict[bytes, str]) -> str | None:
        """Why a request is refused; `None` if it is not."""
        host = headers.get(b"host", "").lower()
        if self.hosts is not None and host not in self.hosts:
            return self.refusals.host
        origin = headers.get(b"origin")
        if origin is not None and origin.lower().partition("://")[2] != host:
            return self.refusals.origin
        return None

    async def respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that may ask."""
        await self.app(scope, receive, send)


async def read_body(receive: Receive, limit: int) -> bytes | None:
    """The body of a request; `None` if it is too long or does not come in time."""
    body = bytearray()
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                body += message.get("body", b"")
                if len(body) > limit:
                    return None
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        return None


def again(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives a body that has been read."""
    given = False

    async def once() -> dict:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return once


def to_the_end(receive: Receive) -> Receive:
    """A `receive` that waits for nothing more once the body of its request has ended."""
    ended = False

    async def rest() -> dict:
        nonlocal ended
        message = {"type": "http.disconnect"} if ended else await receive()
        ended = not message.get("more_body", False)
        return message

    return rest


async def answer(
    send: Send,
    rest: Receive,
    status: int,
    body: bytes,
    media_type: bytes,
    more: Headers = (),
) -> None:
    """A whole answer after which the connection is closed.

    The rest of the request is read for a while and forgotten: a connection that is closed before
    is reset, and a client that still sends never sees the answer.

    Args:
        send: of the request.
        rest: what comes of its body, `to_the_end`.
        status, body, media_type: of the answer.
        more: its further headers.
    """
    headers = [
        (b"content-type", media_type + b"; charset=utf-8"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LINGERING):
            while (await rest())["type"] == "http.request":
                pass
    await send({"type": "http.response.body", "body": b""})


def json_object(body: bytes) -> dict[str, Any]:
    """The JSON object that a request has sent."""
    try:
        sent = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadInput("the request is not JSON") from None
    if not isinstance(sent, dict):
        raise BadInput("the request must be a JSON object")
    return sent


def as_json(value: Any, status: int = 200) -> Any:
    """An answer of starlette's whose body is JSON."""
    from starlette.responses import Response

    headers = {"cache-control": "no-store"}
    body = msgspec.json.encode(value)
    return Response(body, status, headers=headers, media_type="application/json")
