"""A log of a gigabyte: pages answer, memory is bounded, and nobody waits for it."""

import concurrent.futures
import json
import re
import time
from pathlib import Path

import pytest

from studio.pages import START, a_log, served, train_event, write_run

SIZE = 1_000_000_000  # bytes
BLOCK = 10_000  # events that are written at once
MEMORY = 250  # megabytes


def write_events(path, size):
    """Add `train` events until the file has so many bytes; the number of the last one."""
    lines = [json.dumps(train_event(1234567890, 3.0 + n % 7)) + "\n" for n in range(BLOCK)]
    places = [line.replace("1234567890", f"@{n:04d}") for n, line in enumerate(lines)]
    block, number = "".join(places).encode(), 0
    with open(path, "ab") as log:
        while log.tell() < size:
            number += 1
            log.write(block.replace(b"@", b"%d" % number))
        return number * BLOCK + BLOCK - 1


def resident(pid):
    """The largest resident size of a process so far, in megabytes."""
    words = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", words)[1]) / 1024


def timed(call, *arguments):
    started = time.monotonic()
    found = call(*arguments)
    return time.monotonic() - started, found


@pytest.mark.slow
def test_a_log_of_a_gigabyte(tmp_path):
    write_run(tmp_path / "small", a_log())
    log = write_run(tmp_path / "large", [{**START, "steps": 10**8}]) / "events.jsonl"
    try:
        last = write_events(log, SIZE)
        with served(tmp_path) as studio, concurrent.futures.ThreadPoolExecutor(1) as pool:
            took, found = timed(studio.json, "/api/runs")
            rows = {row["name"]: row for row in found["runs"]}
            assert took < 30 and rows["large"]["step"] == last and len(rows) == 2
            took, view = timed(studio.json, "/api/run?name=large&sample=1")
            assert took < 10 and view["sampled"] and view["numbers"]["step"] == last
            whole = pool.submit(timed, studio.json, "/api/run?name=large")
            waited = []
            while not whole.done():
                for path in ("/run?name=large", "/api/runs", "/api/run?name=small"):
                    took, (status, _, _) = timed(studio.ask, path)
                    assert status == 200
                    if not whole.done():
                        waited.append(took)
            took, view = whole.result()
            assert not view["sampled"] and view["offset"] == log.stat().st_size
            (loss,) = (
                chart["figure"]["data"][0]["x"]
                for section in view["sections"]
                for chart in section["charts"]
                if chart["name"] == "loss"
            )
            assert loss[0] == BLOCK and loss[-1] == last and len(loss) < 20_000
            near = f"/api/chart?name=large&chart=loss&from={last - 500}&to={last}"
            zoomed, chart = timed(studio.json, near)
            assert chart["figure"]["data"][0]["x"] == list(range(last - 500, last + 1))
            size = resident(studio.process.pid)
        print(f"read in {took:.1f} s, others waited {max(waited):.2f} s at most, {size:.0f} MB")
        assert len(waited) >= 9 and max(waited) < took / 3 and zoomed < took / 3
        assert size < MEMORY
    finally:
        log.unlink()
