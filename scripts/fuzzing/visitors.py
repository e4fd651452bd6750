"""The studio, as those meet it who should not: other users of the machine, other sites, slow lines.

One server runs in this process for all cases, over a folder that no case changes. Requests are
written byte by byte, because no client would write most of them.
"""

import asyncio
import contextlib
import functools
import json
import random
import shutil
import socket
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from .outcomes import ACCEPTED, REFUSED, Case, Failed, check
from .ready import content
from .values import text

PAGES = ("/", "/run", "/compare", "/start", "/claims", "/inside", "/play", "/nothing")
ASKED = (  # what needs no other process
    *("runs", "run", "chart", "compare", "job", "events", "pages", "trash", "files", "preview"),
)
QUICK = ("start", "stop", "resume", "label", "move", "restore")
CHANGING = (*QUICK, "delete", "verify", "inside", "play")
STATIC = ("dom.js", "plotly.min.js", "look.js", "../app.py", "%2e%2e/app.py", "x" * 3000, "")
RUN = {  # as much of a run as these requests look at
    "config.json": '{"task": {"name": "adding"}, "cell": {"name": "lstm"}}',
    "model.json": '{"format": 3}',
    "events.jsonl": '{"kind": "train", "step": 1, "loss": 1.5, "seconds": 0.1}\n' * 3,
}
SECRET = "no visitor may read this"
DEADLINE = 0.3  # seconds for a request to arrive, here
PATIENCE = 8.0


class Server(NamedTuple):
    """A running studio.

    Attributes:
        port: where it listens.
        token: without which nothing is answered.
        folder: with the runs; beside it is `outside`, with a file that holds `SECRET`, and one
            that is called so.
    """

    port: int
    token: str
    folder: Path

    @property
    def cookie(self) -> str:
        return f"ostinato-studio-{self.port}={self.token}"


@functools.cache
def _server(scratch: Path) -> Server:
    """The studio of all cases of this process."""
    import uvicorn

    from ostinato import web
    from ostinato.studio import guard
    from ostinato.studio.app import Studio

    top = scratch / "studio"
    shutil.rmtree(top, ignore_errors=True)
    folder = top / "runs"
    for run in (folder / "good", top / "outside"):
        run.mkdir(parents=True)
        for name, words in RUN.items():
            (run / name).write_text(words)
    (top / "outside" / "secret.txt").write_text(SECRET)
    (top / "outside" / SECRET).touch()
    (top / "outside" / "config.json").write_text(RUN["config.json"].replace("adding", SECRET))
    (folder / "link").symlink_to(top / "outside")
    (folder / "secret.txt").symlink_to(top / "outside" / "secret.txt")
    web.HEADERS_WITHIN = web.PATIENCE = DEADLINE
    taken, port, hosts = web.listening("127.0.0.1", 0, "")
    around = guard.Guard(Studio(folder).app(), hosts, port)
    config = uvicorn.Config(
        around, http=web.impatient(), ws="none", log_level="critical", timeout_keep_alive=20
    )
    running = uvicorn.Server(config)
    threading.Thread(
        target=lambda: asyncio.run(running.serve(sockets=[taken])), daemon=True
    ).start()
    return Server(port, around.token, folder)


def visitors(case: Case) -> str:
    """One request, or a connection that never makes a whole one."""
    server = _server(case.scratch)
    before = content(server.folder.parent)
    kinds = {_stranger: 5, _other_site: 3, _odd: 6, _slow: 2}
    try:
        return case.chance.choices([*kinds], [*kinds.values()])[0](case, server)
    finally:
        after = content(server.folder.parent)
        check(after == before, "a request changed something in the folders")


def _stranger(case: Case, server: Server) -> str:
    """Without the token or with a wrong one: everything is forbidden, and nothing told."""
    chance = case.chance
    name, token = f"ostinato-studio-{server.port}", server.token
    wrong = (
        "", token[:-1], token + "x", token.swapcase(), "é", "\0", " ", "x" * 5000, token[::-1],
    )  # fmt: skip
    cookies = [f"{name}={x}" for x in wrong]
    cookies += [
        f"ostinato-studio={token}",
        f"{name}-x={token}",
        f"{name}%3D{token}",
        token,
        "=",
        ";;",
    ]
    headers = {} if chance.random() < 0.3 else {"Cookie": chance.choice(cookies)}
    if chance.random() < 0.3:
        more = ("Authorization", "X-Studio", "X-Token", "Cookie2", "X-Forwarded-For", "Referer")
        headers[chance.choice(more)] = chance.choice((token, f"Bearer {token}", "127.0.0.1"))
    method, target, body = _request(chance, server)
    if chance.random() < 0.3:
        mark = "&" if "?" in target else "?"
        target += mark + chance.choice(
            (f"token={token[:-1]}", "token=", f"Token={token}", f"tok%00en={token}", "token=é")
        )
    if method != "GET" and chance.random() < 0.3:
        target += ("&" if "?" in target else "?") + f"token={token}"
    reply = _ask(case, server, method, target, headers, body)
    check(reply is None or reply.status in (400, 403), f"a stranger was answered {reply}")
    check(reply is None or token.encode() not in reply.rest, "a stranger was told the token")
    return REFUSED


def _other_site(case: Case, server: Server) -> str:
    """With the cookie, as a page of another site makes the browser ask."""
    chance = case.chance
    method, target, body = _request(chance, server)
    headers = {"Cookie": server.cookie, "X-Studio": "1"}
    other = chance.choice(
        ("evil.example", f"evil.example:{server.port}", "127.0.0.1:1", "null", "[::2]")
    )
    kind = chance.choice(("host", "origin", "site", "no mark"))
    if kind == "host":
        headers["Host"] = chance.choice((other, "", f"127.0.0.1:{server.port}.evil.example"))
    elif kind == "origin":
        headers["Origin"] = chance.choice((f"http://{other}", "null", "", f"https://{other}"))
    elif kind == "site":
        headers |= {"Sec-Fetch-Site": chance.choice(("cross-site", "same-site"))}
        headers |= {"Sec-Fetch-Mode": chance.choice(("no-cors", "cors", "websocket"))}
    else:
        method, target, body = "POST", f"/api/{chance.choice(CHANGING)}", b"{}"
        del headers["X-Studio"]
    reply = _ask(case, server, method, target, headers, body)
    check(reply is None or reply.status in (400, 403), f"another site was answered {reply}")
    return REFUSED


def _odd(case: Case, server: Server) -> str:
    """With everything that a page sends, but an odd request: no error of the server, no secret."""
    method, target, body = _request(case.chance, server)
    headers = {"Cookie": server.cookie, "X-Studio": "1"}
    if case.chance.random() < 0.3:
        name = case.chance.choice(
            ("Content-Length", "Transfer-Encoding", "Content-Type", "Range", "Expect", "Upgrade",
             "Last-Event-Id", "Accept-Encoding", "X-" + "y" * 9000)
        )  # fmt: skip
        values = ("-1", "0", "99999999999", "x", "chunked", "bytes=0-", "100-continue", "²", "")
        headers[name] = case.chance.choice(values)
    reply = _ask(case, server, method, target, headers, body)
    if reply is None:
        return REFUSED
    check(reply.status < 500, f"an error of the server: {reply}")
    check(SECRET.encode() not in reply.rest, "a file outside of the folder was told")
    check(server.token.encode() not in reply.rest, "the token was told")
    return ACCEPTED if reply.status < 400 else REFUSED


def _slow(case: Case, server: Server) -> str:
    """A connection that drips, perhaps after a first whole request, is closed before long."""
    chance = case.chance
    whole = f"GET /static/dom.js HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    whole += f"Cookie: {server.cookie}\r\n\r\n"
    first = chance.random() < 0.6
    kind = chance.choice(("nothing", "line", "headers", "body"))
    drops = {
        "nothing": b"",
        "line": b"GET /" + b"x" * 5000,
        "headers": b"GET / HTTP/1.1\r\n" + b"X-A: b\r\n" * 5000,
        "body": (
            f"POST /api/stop HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Studio: 1\r\n"
            f"Cookie: {server.cookie}\r\nContent-Length: 5000\r\n\r\n"
        ).encode() + b"x" * 4000,
    }[kind]  # fmt: skip
    if kind == "nothing" and first:
        kind, drops = "line", b"GET /" + b"x" * 5000  # an idle connection may stay a while
    case.what = f"a connection that drips {kind}, after a whole request: {first}"
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        if first:
            line.sendall(whole.encode())
            seen = b""
            while b"\r\n\r\n" not in seen:
                seen += line.recv(1 << 16)
        begun, pace = time.monotonic(), 0.02
        at = drops.find(b"\r\n\r\n") + 4 if kind == "body" else 0
        with contextlib.suppress(OSError):
            line.sendall(drops[:at])
            line.settimeout(pace)
            while time.monotonic() - begun < PATIENCE:
                with contextlib.suppress(TimeoutError):
                    if not line.recv(1 << 16):
                        return REFUSED
                    continue
                line.sendall(drops[at : at + 1])
                at += 1
            raise Failed(f"open after {PATIENCE:.0f} s, with a deadline of {DEADLINE} s")
    return REFUSED


# Requests


def _request(chance: random.Random, server: Server) -> tuple[str, str, bytes]:
    """Method, address and body."""
    kind = chance.choice(("page", "static", "asked", "asked", "changing", "strange"))
    method, body = chance.choice(("GET", "GET", "GET", "HEAD")), b""
    if kind == "page":
        return method, f"{chance.choice(PAGES)}?name={_name(chance)}", body
    if kind == "static":
        return method, f"/static/{chance.choice(STATIC)}", body
    if kind == "asked":
        what = chance.choice(ASKED)
        keys = {"compare": "run", "files": "folder", "preview": "file"}
        key = keys.get(what, "name")
        more = f"&chart={_name(chance)}&from={_name(chance)}&to=5&after={_name(chance)}"
        return (
            "GET",
            f"/api/{what}?{key}={_name(chance, bad=what in ('events', 'preview'))}{more}",
            body,
        )
    if kind == "changing":
        return "POST", f"/api/{chance.choice(QUICK)}", _body(chance)
    target = chance.choice(
        ("//", "/../", "/api/", "/api/runs/..", "/%00", "/" + "a" * 9000, "/\xe9")
    )
    return chance.choice(("PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "GET")), target, body


def _name(chance: random.Random, bad: bool = False) -> str:
    """A name of a run in a query, most often none that leads anywhere."""
    names = (
        "../outside", "../outside", "..", "good/../../outside", "/etc", "link", "secret.txt",
        "./good", "good/",
        "x" * 300, "x" * 3000, "\0", "good\0", "../" * 50, "....//outside", ".", "", "~",
    )  # fmt: skip
    drawn = chance.choice((*names, text(chance), *([] if bad else ["good", "good"])))
    data = drawn.encode(errors="surrogatepass")[:4000]
    return "".join(f"%{byte:02x}" for byte in data)


def _body(chance: random.Random) -> bytes:
    """What a page sends, or something that is no such thing; nothing of it starts a run."""
    deep = b"[" * chance.choice((10, 900, 60_000))
    names = ("..", "../outside", "link", "good", "x" * 5000, "\ud800", None, 3, [], {"a": 1}, True)
    sent: dict[str, Any] = {
        "name": chance.choice(names),
        "steps": chance.choice((0, -1, 2**40, "x")),
    }
    sent["settings"] = chance.choice(
        (
            {"cell": "evil.py:Evil"},
            {"task": "os:abort"},
            {"file": "--run"},
            [],
            "x",
            None,
            {"a": {}},
        )
    )
    wrong = ("..", "../x", "good", "good/x", ".trash/x", "/x", "link/x", "", "\0", "x" * 999, 3, [])
    sent |= {"to": chance.choice(wrong), "kept": chance.choice((*wrong, "../good", "x/good"))}
    labels = (None, [], "x", {"tags": 3}, {"title": "x" * 999}, {"a": 1}, {"archived": "yes"})
    sent["labels"] = chance.choice(labels)
    whole = json.dumps(sent).encode()
    return chance.choice(
        (whole, whole, whole, deep, b'{"name": ' + deep, b"", b"{}", b"[]", b"nothing", b"\xff\xfe",
         b"x" * 70_000, whole[:-2], b"1" * 5000, b'{"name": 1e999}', b'{"a": 1, "a": 2}')
    )  # fmt: skip


class Answer(NamedTuple):
    """The status of an answer, and all that came after it."""

    status: int
    rest: bytes

    def __repr__(self) -> str:
        return f"{self.status} {self.rest[-80:]!r}"


def _ask(
    case: Case, server: Server, method: str, target: str, headers: dict[str, str], body: bytes
) -> Answer | None:
    """The answer to a request; `None` if the connection was closed without one."""
    case.what = f"{method} {target[:200]} {str(headers)[:200]} {body[:60]!r}"
    named = {"Host": f"127.0.0.1:{server.port}", "Connection": "close"}
    if body or method == "POST":
        named["Content-Length"] = str(len(body))
    lines = [f"{name}: {value}" for name, value in {**named, **headers}.items()]
    words = "\r\n".join([f"{method} {target} HTTP/1.1", *lines, "", ""])
    seen, begun = b"", time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        with contextlib.suppress(ConnectionError):
            line.sendall(words.encode("latin-1", "replace") + body)
        try:
            while data := line.recv(1 << 16):
                seen += data
                if b"text/event-stream" in seen[:2000]:
                    break
        except ConnectionError:
            pass
        except TimeoutError:
            raise Failed(
                f"no answer after {time.monotonic() - begun:.0f} s: {seen[:60]!r}"
            ) from None
    if not seen:
        return None
    start = seen.split(b"\r\n", 1)[0].split()
    check(len(start) > 1 and start[1].isdigit(), f"no answer of HTTP: {seen[:60]!r}")
    return Answer(int(start[1]), seen)
