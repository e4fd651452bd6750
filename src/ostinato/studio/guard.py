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
from html import escape
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urlencode

from starlette.responses import HTMLResponse

from .. import web
from ..web import Receive, Refusals, Scope, Send

BODY = 64 << 10  # bytes
COOKIE = "ostinato-studio"
POLICY = (
    b"content-security-policy",
    b"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    b"img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'",
)
REFUSALS = Refusals(
    host="this is not the host that the studio was opened with",
    origin="requests from other sites are refused",
    size="the request is too large",
    time="the request is too large, or too slow",
)


class Guard(web.Gate):
    """An ASGI application around another one.

    Args:
        app: the application.
        hosts: the hosts by which it may be called, with their port; `None` for any.
        port: its port. A browser does not keep the cookies of ports apart, so each has its name.
        token: a random word; made if not given.
    """

    headers = (*web.HEADERS, POLICY, (b"cross-origin-opener-policy", b"same-origin"))
    media_type = b"text/plain"

    def __init__(self, app: Any, hosts: set[str] | None, port: int, token: str | None = None):
        super().__init__(app, hosts, BODY, REFUSALS)
        self.cookie, self.token = f"{COOKIE}-{port}", token or secrets.token_urlsafe(24)

    def encoded(self, refusal: str) -> bytes:
        return f"{refusal}\n".encode()

    async def respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._entrance(scope) if self._asked(scope) else self.app
        await app(scope, receive, send)

    def _entrance(self, scope: Scope) -> HTMLResponse:
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
        return HTMLResponse(page, headers={"set-cookie": cookie, "cache-control": "no-store"})

    def refusal(self, scope: Scope, headers: dict[bytes, str]) -> str | None:
        if (refused := super().refusal(scope, headers)) is not None:
            return refused
        if headers.get(b"sec-fetch-site", "none") in ("cross-site", "same-site"):
            if headers.get(b"sec-fetch-mode") != "navigate" or scope["method"] != "GET":
                return self.refusals.origin
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
