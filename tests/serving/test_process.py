"""A server as a process of its own: clients that vanish, a kill and its end in the middle."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import jax
import pytest

from untrained import untrained, write_files


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    with jax.enable_x64(False):
        return untrained("text", write_files(folder), folder / "fox")


@contextlib.contextmanager
def serving(run, port=0, grace=1):
    """A process, and its host and port."""
    command = [sys.executable, "-m", "ostinato", "serve", str(run.path), "--port", str(port)]
    command += ["--length", "1000000", "--grace", str(grace), "--slots", "8"]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "0"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        line = process.stdout.readline()
        assert " at http://127.0.0.1:" in line, line
        yield process, urlsplit(line.split()[-1]).netloc
    finally:
        process.kill()
        process.communicate()


def ask(address, path, **body):
    connection = http.client.HTTPConnection(address, timeout=30)
    method = "GET" if path == "/health" else "POST"
    connection.request(method, path, json.dumps(body) if body else None)
    return connection, connection.getresponse()


def active(address):
    return json.loads(ask(address, "/health")[1].read())["active"]


def memory(process):
    """The most megabytes that a process has ever had in memory."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1000


def send_much(address, method="POST", megabytes=40, **headers):
    """The answer to a request with a large body, read when all of it was sent."""
    host, port = address.split(":")
    lines = {"host": address, **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    piece = b" " * 1_000_000
    chunked = "transfer-encoding" in headers
    piece = b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(f"{method} /generate HTTP/1.1\r\n{head}\r\n".encode())
        for _ in range(megabytes):
            connection.sendall(piece)
        connection.sendall(b"0\r\n\r\n" if chunked else b"")
        return b"".join(iter(lambda: connection.recv(1000), b""))


def test_clients_vanish_huge_bodies_a_kill_and_a_graceful_end(run):
    """A second process, on the port of the first, ends when its last request does."""
    with serving(run) as (process, address):
        gone = [ask(address, "/generate", length=900_000, stream=True) for _ in range(3)]
        for _, answer in gone:
            assert answer.readline().startswith(b"data: ")
        assert active(address) == 3
        for connection, answer in gone:
            answer.close()
            connection.close()
        deadline = time.monotonic() + 20
        while active(address) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert active(address) == 0

        before = memory(process)
        chunked = {"transfer-encoding": "chunked"}
        for how in ({"content-length": "40000000"}, chunked, {"method": "GET", **chunked}):
            answer = send_much(address, **how)
            assert answer.startswith(b"HTTP/1.1 413 ") and b"has at most" in answer
        assert memory(process) - before < 10, "megabytes"
        answer = send_much(address, megabytes=3, host="elsewhere", **chunked)
        assert answer.startswith(b"HTTP/1.1 403 ") and b"not the host" in answer
        assert active(address) == 0

        session = json.loads(ask(address, "/sessions")[1].read())["session"]
        ask(address, "/generate", session=session, prompt="the ", length=5)[1].read()
        before = sorted(run.path.rglob("*"))
        _, answer = ask(address, "/generate", length=900_000, stream=True)
        assert answer.readline().startswith(b"data: ")
        process.kill()
        with pytest.raises((http.client.HTTPException, OSError)):
            answer.read()
        assert process.wait(timeout=20) == -signal.SIGKILL
    assert sorted(run.path.rglob("*")) == before  # nothing was left behind

    with serving(run, urlsplit(f"http://{address}").port, grace=60) as (process, again):
        assert again == address
        _, answer = ask(again, "/generate", session=session, prompt="fox ", length=5)
        (line,) = json.loads(answer.read()).values()
        assert answer.status == 404 and line.startswith("there is no session") and "\n" not in line
        _, answer = ask(again, "/generate", prompt="fox ", length=5, seed=1)
        with jax.enable_x64(False):
            assert json.loads(answer.read())["text"] == run.sample("fox ", 5, seed=1)

        if find_spec("openai"):
            _ask_as_a_client_of_openai(again, run)

        _, answer = ask(again, "/generate", length=3000, stream=True, seed=1)
        assert answer.readline().startswith(b"data: ")
        process.send_signal(signal.SIGTERM)
        events = [line for line in answer.read().split(b"\n\n") if line.strip()]
        last = json.loads(events[-1].strip().removeprefix(b"data: "))
        assert last == {"ended": "length", "length": 3000, "seed": 1}
        assert process.wait(timeout=50) == 0
        assert process.stdout.read() == ""


def _ask_as_a_client_of_openai(address, run):
    import openai

    asked = openai.OpenAI(api_key="none", base_url=f"http://{address}/v1")
    how = {"model": run.path.name, "prompt": "the ", "max_tokens": 30, "seed": 3}
    with jax.enable_x64(False):
        expected = run.sample("the ", 30, seed=3)
    assert asked.completions.create(**how).choices[0].text == expected
    streamed = asked.completions.create(**how, stream=True)
    assert "".join(chunk.choices[0].text for chunk in streamed) == expected
