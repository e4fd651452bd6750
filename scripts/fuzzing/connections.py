"""Many connections to a server that serves a run: idle, slow, or left in the middle.

Whatever they do, a health check is answered. The server has the gate and the limits of
`ostinato serve`, made small, around an application that takes its time.
"""

import asyncio
import contextlib
import functools
import http.client
import json
import socket
import threading

from .outcomes import ACCEPTED, Case, check

SPACE = 12  # connections
REQUESTS = 4  # that are answered at a time
MOST = 60
HELD = 0.3  # seconds that an answer takes


@functools.cache
def _port() -> int:
    """The port of the server of all cases of this process."""
    import uvicorn

    from ostinato import web
    from ostinato.serving.gate import Gate, Metrics

    async def app(scope, receive, send):  # type: ignore[no-untyped-def]
        if scope["path"] != "/health":
            await asyncio.sleep(HELD)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    taken, port, hosts = web.listening("127.0.0.1", 0, "")
    gate = Gate(app, hosts, 1000, Metrics(), {"/health", "/generate"}, REQUESTS)
    options = {**web.uvicorn_options(SPACE), "lifespan": "off"}
    running = uvicorn.Server(uvicorn.Config(gate, **options))
    threading.Thread(
        target=lambda: asyncio.run(running.serve(sockets=[taken])), daemon=True
    ).start()
    return port


def connections(case: Case) -> str:
    """Some connections, each of which sends nothing, a part of a request, or a whole one."""
    chance, port = case.chance, _port()
    host = f"Host: 127.0.0.1:{port}\r\n"
    begins = (
        "", "G", "GET /health", f"GET /health HTTP/1.1\r\n{host}", f"GET / HTTP/1.1\r\n{host}\r\n",
        f"POST /generate HTTP/1.1\r\n{host}Content-Length: 9\r\n\r\nabc",
        f"POST /generate HTTP/1.1\r\n{host}Content-Length: 2\r\n\r\n{{}}",
        f"POST /v1/completions HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n3\r\nab",
    )  # fmt: skip
    count = chance.randint(1, MOST)
    case.what = f"{count} connections"
    with contextlib.ExitStack() as opened:
        for _ in range(count):
            one = opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            with contextlib.suppress(OSError):  # it has had to give way
                one.sendall(chance.choice(begins).encode())
                if chance.random() < 0.2:
                    one.close()
            if chance.random() < 0.1:
                _check_health(port)
        _check_health(port)
        _check_full_or_answered(port)
    return ACCEPTED


def _ask(port: int, method: str, path: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, {k.lower(): x for k, x in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def _check_health(port: int) -> None:
    try:
        status = _ask(port, "GET", "/health")[0]
    except (OSError, http.client.HTTPException) as error:
        status = f"{type(error).__name__}: {error}"  # type: ignore[assignment]
    check(status == 200, f"a health check is answered with {status}")


def _check_full_or_answered(port: int) -> None:
    status, headers, body = _ask(port, "POST", "/generate")
    check(status in (200, 503), f"a request is answered with {status}")
    if status == 503:
        check(headers.get("retry-after"), "a full server does not say when to come back")
        check("error" in json.loads(body), "a full server does not answer in JSON")
