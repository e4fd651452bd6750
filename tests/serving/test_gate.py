"""A full server refuses with a status that clients understand, and still says how it is."""

import asyncio
import json
import resource

import pytest

from ostinato.serving.gate import Gate, Metrics
from ostinato.serving.requests import Limits
from ostinato.serving.server import connections_for

ROUTES = {"/health", "/metrics", "/generate", "/v1/completions"}


async def asked(gate, path, method="POST"):
    """The status, headers and body of the answer to a request without a body."""
    scope = {"type": "http", "path": path, "method": method, "headers": [(b"host", b"here")]}
    sent, given = [], [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive():
        return given.pop() if given else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    await gate(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], dict(sent[0]["headers"]), body


def test_a_full_server_says_so_and_answers_health_checks():
    working, done = asyncio.Event(), asyncio.Event()

    async def app(scope, receive, send):
        if scope["path"] == "/generate":
            working.set()
            await done.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def scene():
        metrics = Metrics()
        gate = Gate(app, {"here"}, 1000, metrics, ROUTES, requests=1)
        first = asyncio.create_task(asked(gate, "/generate"))
        await working.wait()
        status, headers, body = await asked(gate, "/generate")
        assert status == 503 and headers[b"retry-after"] == b"1"
        assert headers[b"content-type"].startswith(b"application/json")
        assert headers[b"x-content-type-options"] == b"nosniff"
        assert "come back later" in json.loads(body)["error"]
        status, headers, body = await asked(gate, "/v1/completions")
        assert status == 503 and headers[b"retry-after"] == b"1"
        assert json.loads(body)["error"]["type"] == "server_error"
        for path in ("/health", "/metrics"):
            assert (await asked(gate, path, "GET"))[0] == 200
        assert metrics.requests["/generate", 503] == 1
        done.set()
        assert (await first)[0] == 200
        assert (await asked(gate, "/generate"))[0] == 200

    asyncio.run(scene())


def test_connections_follow_from_slots_and_waiting(monkeypatch):
    """And from how many files the process may open, of which it takes as many as it needs."""
    allowed = [1024, 4096]
    monkeypatch.setattr(resource, "getrlimit", lambda which: tuple(allowed))
    monkeypatch.setattr(resource, "setrlimit", lambda which, both: allowed.__setitem__(0, both[0]))
    few = connections_for(Limits(slots=8, waiting=20))
    assert few - 28 == connections_for(Limits(slots=1, waiting=0)) - 1 > 0 and allowed[0] == 1024
    assert connections_for(Limits(slots=256, waiting=1000)) > 1256 and 1256 < allowed[0] < 4096
    assert connections_for(Limits(slots=100_000, waiting=0)) < allowed[0] == 4096


@pytest.mark.parametrize("error", ["Full", "Busy"])
def test_what_is_full_says_when_to_come_back(error):
    from starlette.requests import Request

    from ostinato.serving import app, stepped, worker

    raised = worker.Full() if error == "Full" else stepped.Busy("there are 3 sessions already")

    async def call(request, chosen, more):
        raise raised

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    route = app._route(app.Endpoint("POST", "/generate", "", call))
    request = Request({"type": "http", "path": "/generate", "headers": []}, receive)
    answer = asyncio.run(route(request))
    assert answer.status_code == {"Full": 503, "Busy": 409}[error]
    assert answer.headers.get("retry-after") == {"Full": "1", "Busy": None}[error]
