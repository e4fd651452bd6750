"""Characters a second of `ostinato serve`, for one client and for many at once.

    python benchmarks/serving.py --clients 200 --length 200

The server is a process of its own, and the clients are this one; a client sends a request and reads
to the end of its answer. `lost` counts the answers that are not whole.
"""

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from ostinato import Config, train
from ostinato.tasks import Text

TEXT = "the quick brown fox jumps over the lazy dog. PACK MY BOX WITH FIVE DOZEN LIQUOR JUGS! " * 60


async def ask(host, port, path, body=None):
    """The body of an answer."""
    reader, writer = await asyncio.open_connection(host, port)
    content = b"" if body is None else json.dumps(body).encode()
    method = "GET" if body is None else "POST"
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n"
    writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
    answer = await reader.read()
    writer.close()
    head, _, rest = answer.partition(b"\r\n\r\n")
    return rest if b"chunked" not in head else b"".join(re.split(rb"\r?\n?[0-9a-f]+\r\n", rest))


async def one(host, port, length, stream, seed):
    """Whether an answer was whole."""
    body = {"prompt": "the ", "length": length, "stream": stream, "seed": seed}
    rest = await ask(host, port, "/generate", body)
    if not stream:
        return len(json.loads(rest)["text"]) == length
    texts = re.findall(rb'\{"text":"((?:[^"\\]|\\.)*)"\}', rest)
    return sum(len(json.loads(b'"' + x + b'"')) for x in texts) == length


async def measured(host, port, clients, length, stream):
    begin = time.perf_counter()
    whole = await asyncio.gather(*(one(host, port, length, stream, n) for n in range(clients)))
    seconds = time.perf_counter() - begin
    return clients * length / seconds, clients - sum(whole)


async def compare(host, port, clients, length):
    rows = []
    for stream in (False, True):
        alone = [await measured(host, port, 1, length, stream) for _ in range(5)]
        many = [await measured(host, port, clients, length, stream) for _ in range(3)]
        for count, made in ((1, alone), (clients, many)):
            speed, lost = statistics.median(x for x, _ in made), sum(x for _, x in made)
            rows.append((("streamed" if stream else "whole"), count, speed, lost))
    numbers = (await ask(host, port, "/metrics")).decode()
    peak = float(re.search(r"^ostinato_memory_peak_bytes (\S+)", numbers, re.M)[1])
    return rows, peak


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=256)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--length", type=int, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        config = Config(cell="lstm", units=given.units, length=20, batch=2, steps=1)
        train(config, run, task=Text.of(TEXT))
        command = [sys.executable, "-m", "ostinato", "serve", str(run), "--port", "0"]
        environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            address = urlsplit(server.stdout.readline().split()[-1])
            place = address.hostname, address.port
            rows, peak = asyncio.run(compare(*place, given.clients, given.length))
        finally:
            server.terminate()
            server.communicate()
    print("| answers | clients | characters a second | times one client | lost |")
    print("|---|---|---|---|---|")
    for n, (how, count, speed, lost) in enumerate(rows):
        times = speed / rows[n - n % 2][2]
        print(f"| {how} | {count} | {speed:,.0f} | {times:.1f} | {lost} |")
    print(f"\npeak memory of the server: {peak / 2**20:.0f} MiB; it ended with {server.returncode}")


if __name__ == "__main__":
    main()
