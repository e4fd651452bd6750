"""Who may ask, and for how much.

Everything needs a random token: it is part of the address that is printed at the start, which only
the user sees, and then a cookie. Other users of the machine are refused.

A page of another site must not read or steer the studio through the reader's own browser, which
has the cookie. The cookie is `SameSite=Strict`, but pages of other ports of this machine are of the
same site. So the `Host` must be ours (against DNS rebinding), an `Origin` must be that host with
its port, and a request that changes something needs a header that only a page of the same origin
can send without asking first.
"""

import hmac
import secrets
from collections.abc import Sequence
from html import escape
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urlencode

from ..web import Receive, Scope, Send, again, answer, read_body, to_the_end

BODY = 64 << 10  # bytes
COOKIE = "ostinato-studio"
HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        b"img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        b"frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Guard:
    """An ASGI application around another one.

    Args:
        app: the application.
        hosts: the hosts by which it may be called, with their port; `None` for any.
        port: its port. A browser does not keep the cookies of ports apart, so each has its name.
        token: a random word; made if not given.
    """

    def __init__(self, app: Any, hosts: set[str] | None, port: int, token: str | None = None):
        self.app, self.hosts, self.cookie = app, hosts, f"{COOKIE}-{port}"
        self.token = token or secrets.token_urlsafe(24)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        rest = to_the_end(receive)
        refused = self._refusal(scope, headers)
        if refused is not None:
            return await _answer(send, rest, 403, refused)
        if self._asked(scope):
            return await self._enter(scope, rest, send)
        if int(headers.get(b"content-length", "0") or 0) > BODY:
            return await _answer(send, rest, 413, "the request is too large")
        body = await read_body(rest, BODY)
        if body is None:
            return await _answer(send, rest, 413, "the request is too large, or too slow")

        async def guarded(message: dict) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *HEADERS]}
            await send(message)

        await self.app(scope, again(body, receive), guarded)

    async def _enter(self, scope: Scope, rest: Receive, send: Send) -> None:
        """Make the token a cookie, and go to the same address without it.

        A page leads there and not a redirection: after a link in a page of another site, such as a
        terminal in a browser, a redirected request would come without the cookie.
        """
        asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        others = urlencode([pair for pair in asked if pair[0] != "token"])
        address = "/" + quote(scope["path"].lstrip("/")) + (f"?{others}" if others else "")
        page = (
            '<!DOCTYPE html><link rel="icon" href="data:,">'
            f'<meta http-equiv="refresh" content="0; url={escape(address)}">'
        )
        cookie = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        await _answer(send, rest, 200, page, b"text/html", [(b"set-cookie", cookie.encode())])

    def _refusal(self, scope: Scope, headers: dict[bytes, str]) -> str | None:
        host = headers.get(b"host", "").lower()
        if self.hosts is not None and host not in self.hosts:
            return "this is not the host that the studio was opened with"
        origin = headers.get(b"origin")
        if origin is not None and origin.lower().partition("://")[2] != host:
            return "requests from other sites are refused"
        if headers.get(b"sec-fetch-site", "none") in ("cross-site", "same-site"):
            if headers.get(b"sec-fetch-mode") != "navigate" or scope["method"] != "GET":
                return "requests from other sites are refused"
        if not (self._asked(scope) or self._has_cookie(headers)):
            return "open the address that was printed when the studio was started"
        if scope["method"] not in ("GET", "HEAD") and b"x-studio" not in headers:
            return "this request must come from a page of the studio; load the page anew"
        return None

    def _asked(self, scope: Scope) -> bool:
        """Whether this is the printed address."""
        if scope["method"] != "GET":
            return False
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])
        return self._is_token(given[0])

    def _has_cookie(self, headers: dict[bytes, str]) -> bool:
        parts = (part.strip().partition("=") for part in headers.get(b"cookie", "").split(";"))
        return any(name == self.cookie and self._is_token(value) for name, _, value in parts)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())


async def _answer(
    send: Send,
    rest: Receive,
    status: int,
    words: str,
    kind: bytes = b"text/plain",
    more: Sequence[tuple] = (),
) -> None:
    await answer(send, rest, status, f"{words}\n".encode(), kind, [*HEADERS, *more])
