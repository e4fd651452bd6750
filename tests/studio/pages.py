"""A studio on a free port, in another process, and runs to show."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

START = {
    "kind": "start",
    "step": 0,
    "steps": 100,
    "task": "text",
    "metric": "bits per character",
    "higher_is_better": False,
    "loss_factor": 1.4426950408889634,
    "baselines": {"chance": 5.0, "bigram": 3.9},
    "parameters": 1234,
    "notes": ["3 rows were sorted by date"],
    "device": "cpu",
}


def train_event(step, loss=None, **more):
    own = {"seconds": 0.1 * step, "took": 0.1, "norm": 0.5, "largest_norm": 0.6, "rate": 0.01}
    value = 4.0 / step if loss is None else loss
    return {"kind": "train", "step": step, "loss": value, **own, "symbols": 100} | more


def write_run(path, events=(), settings=None):
    """A run folder as far as a list needs it."""
    path.mkdir(parents=True)
    config = {
        "task": {"name": "text", "file": "book.txt"},
        "cell": {"name": "lstm"},
        "learner": {"name": "adam", "rate": 0.002, "clip": "1"},
        "training": {"steps": 100, "seed": 0, **(settings or {})},
    }
    (path / "config.json").write_text(json.dumps(config))
    (path / "model.json").write_text(json.dumps({"format": 3, "made": {"used": {"batch": 8}}}))
    (path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


def a_log(steps=20):
    """The events of a short run that was validated four times."""
    events = [START]
    for step in range(1, steps + 1):
        events.append(train_event(step))
        if step % (steps // 4) == 0:
            text = f"text at {step}"
            events.append({"kind": "valid", "step": step, "value": 5.0 / step, "preview": text})
    end = {"kind": "end", "step": steps, "reason": "done", "best": 5.0 / steps, "seconds": 3.0}
    return [*events, end]


class Served:
    """A running studio: `link` is the address that it printed, with its token."""

    def __init__(self, process, link):
        self.process, self.link = process, link
        self.address, _, self.token = link.partition("?token=")
        self.port = int(self.address.split("/")[2].rpartition(":")[2])
        self.cookie = f"ostinato-studio-{self.port}={self.token}"

    def page(self, path=""):
        """The address of a page for a browser that has no cookie yet."""
        return f"{self.address}{path}{'&' if '?' in path else '?'}token={self.token}"

    def ask(self, path, data=None, method=None, **headers):
        """Status, headers and body, asked as a page does; a header that is `None` is not sent."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named = {"Cookie": self.cookie, **({"X-Studio": "1"} if data is not None else {}), **named}
        named = {name: value for name, value in named.items() if value is not None}
        base = self.address.rstrip("/")
        request = urllib.request.Request(base + path, data, named, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            return error.code, dict(error.headers), error.read()

    def json(self, path):
        status, _, body = self.ask(path)
        assert status == 200, (status, body)
        return json.loads(body)

    def send(self, path, **body):
        status, _, found = self.ask(path, json.dumps(body).encode())
        return status, json.loads(found)


@contextlib.contextmanager
def served(folder, *options, port=0):
    """A studio over a folder, started as the command line does."""
    command = [sys.executable, "-m", "ostinato", "studio", str(folder), "--port", str(port)]
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    line = process.stdout.readline()
    assert line.startswith("studio: "), line
    try:
        yield Served(process, line.split()[1])
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def messages(served, path, found, stop, **headers):
    """Collect server-sent events, each with the time it came, in a thread."""

    def listen():
        base = served.address.rstrip("/")
        named = {"Cookie": served.cookie, **headers}
        request = urllib.request.Request(base + path, headers=named)
        with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=60) as stream:
            for line in stream:
                if line.startswith((b"data:", b"event:", b"id:")):
                    found.append((time.monotonic(), line.decode().strip()))
                if stop.is_set():
                    return

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    return thread
