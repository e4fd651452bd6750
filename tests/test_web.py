"""What every server here does alike."""

import contextlib
import http.client
import socket
import threading

import pytest

from ostinato.errors import BadInput
from ostinato.web import listening, uvicorn_options


@pytest.mark.parametrize(
    "host", ["300.1.1.1", "127.0.0.1.5", "no.such.host.invalid", "::zz", "192.0.2.1", "a" * 300]
)
def test_a_host_that_is_no_address_of_this_machine_is_told_what_to_give(host):
    with pytest.raises(BadInput, match="is not an address of this machine; give --host 127") as no:
        listening(host, 0, "")
    assert "port" not in str(no.value) and len(str(no.value)) < 300


def test_a_port_that_is_taken_is_told_to_take_another():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(BadInput, match="in use; choose another --port"):
            listening("127.0.0.1", taken.getsockname()[1], "")
    with pytest.raises(BadInput, match="choose another --port"):
        listening("127.0.0.1", 70_000, "")


@contextlib.contextmanager
def answering(connections):
    """The port of a server that says yes, with so many connections at most."""
    uvicorn = pytest.importorskip("uvicorn")

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"yes"})

    listener, port, _ = listening("127.0.0.1", 0, "")
    options = {**uvicorn_options(connections), "lifespan": "off"}
    server = uvicorn.Server(uvicorn.Config(app, **options))
    thread = threading.Thread(target=lambda: server.run(sockets=[listener]), daemon=True)
    thread.start()
    try:
        yield port, server.server_state.connections
    finally:
        server.should_exit = True
        thread.join(20)


def yes(connection):
    connection.request("GET", "/")
    return connection.getresponse().read() == b"yes"


def test_idle_connections_give_way_to_new_ones():
    """Those without a request, with a part of one, and between two; the oldest first."""
    with answering(6) as (port, connections), contextlib.ExitStack() as opened:

        def connect():
            return opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))

        for n in range(30):
            if n % 3 == 1:
                connect().sendall(b"GET / HT")
            elif n % 3 == 2:
                connect().sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc")
            else:
                connect()
        kept = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        assert yes(kept) and len(connections) <= 6
        for _ in range(3):
            connect()
        assert yes(kept)  # it was used last
        kept.close()
