"""The studio: a long log, many folders, and what an open page costs a run that trains.

    python benchmarks/studio.py [PART ...] [--trackio PYTHON]

Parts are `start`, `million`, `folders`, `cost` and `beside`; all of them without a name. Pages are
opened in chromium, headless, by the same client as in `tests/studio`. `beside` logs the same
numbers with trackio, by the Python in whose environment it is installed, and opens its dashboard.
"""

import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from measure import publish, table

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "studio"))
from browser import Browser
from serving import START, a_log, served, train_event, write_run

MILLION, FOLDERS, BESIDE = 1_000_000, 500, 10_000
DRAWN = "document.querySelector('[data-chart=loss] .main-svg')"
TRAIN = ("--units", "128", "--length", "50", "--steps", "300", "--validate-every", "150")
TRACKIO = """
import sys, trackio
trackio.init(project="beside", name="run")
for step in range(1, {count} + 1):
    trackio.log({{"loss": 4.0 / step, "norm": 0.5, "rate": 0.01, "took": 0.1}}, step=step)
trackio.finish()
"""


def memory(pid: int) -> float:
    """The largest resident size of a process so far, in megabytes."""
    words = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", words)[1]) / 1024


def answered(address: str, seconds: float = 120) -> float:
    """The seconds until an address answers."""
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(address, timeout=60).read()
            return time.perf_counter() - started
        time.sleep(0.02)
    raise TimeoutError(address)


def start(folder: Path) -> list[list[str]]:
    write_run(folder / "run", a_log())
    times = []
    for _ in range(3):
        started = time.perf_counter()
        with served(folder) as studio:
            answered(studio.address)
            times.append(time.perf_counter() - started)
            small = memory(studio.process.pid)
    return [["start until the first page", f"{statistics.median(times):.2f} s, {small:.0f} MB"]]


def million(folder: Path) -> list[list[str]]:
    path = write_run(folder / "long", [{**START, "steps": MILLION}])
    with open(path / "events.jsonl", "a") as log:
        for step in range(1, MILLION + 1):
            log.write(json.dumps(train_event(step, 3.0 + step % 7, moved=1e-3)) + "\n")
    size = (path / "events.jsonl").stat().st_size / 1e6
    with served(folder) as studio:
        browser = Browser()
        both = studio.process.pid, browser.process.pid
        try:
            before, started = [processor(one) for one in both], time.perf_counter()
            browser.open(f"{studio.address}run?name=long")
            browser.wait(DRAWN, 300)
            first = time.perf_counter() - started
            spent = [processor(one) - own for one, own in zip(both, before, strict=True)]
            started = time.perf_counter()
            studio.json("/api/chart?name=long&chart=loss&from=500000&to=501000")
            near = time.perf_counter() - started
            started = time.perf_counter()
            studio.json("/api/chart?name=long&chart=loss&from=300000&to=700000")
            wide = time.perf_counter() - started
            heap = browser.run("performance.memory.usedJSHeapSize") / 1e6
        finally:
            browser.close()
        server = memory(studio.process.pid)
    return [
        [f"{MILLION:,} events, {size:.0f} MB: first chart drawn", f"{first:.1f} s"],
        ["processor time of server and browser until then", "{:.1f} s and {:.1f} s".format(*spent)],
        ["zoom to a thousandth, and to 40% of it", f"{near:.2f} s and {wide:.2f} s"],
        ["memory of server and page", f"{server:.0f} MB and {heap:.0f} MB"],
    ]


def folders(folder: Path) -> list[list[str]]:
    for number in range(FOLDERS):
        write_run(folder / f"group-{number % 10}" / f"run-{number}", a_log(400))
    with served(folder) as studio:
        times = []
        for _ in range(3):
            started = time.perf_counter()
            assert len(studio.json("/api/runs")["runs"]) == FOLDERS
            times.append(time.perf_counter() - started)
        browser = Browser()
        try:
            started = time.perf_counter()
            browser.open(studio.address)
            browser.wait("document.querySelectorAll('tbody tr').length >= 300")
            shown = time.perf_counter() - started
        finally:
            browser.close()
    return [
        [f"{FOLDERS} folders: first list, and again", f"{times[0]:.2f} s and {times[-1]:.2f} s"],
        ["its page, shown", f"{shown:.2f} s"],
    ]


def processor(root: int) -> float:
    """Seconds of processor time of a process and all below it so far."""
    found: dict[int, tuple[int, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words = path.read_text().rpartition(")")[2].split()
            ticks = sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
            found[int(path.parent.name)] = int(words[1]), ticks
    total, below = 0.0, {root}
    while below:
        total += sum(found[one][1] for one in below if one in found)
        below = {one for one, (parent, _) in found.items() if parent in below}
    return total


def trained(folder: Path, watched: bool) -> tuple[float, float]:
    """Seconds of training of a run without compiling, perhaps with its page open.

    Returns:
        The seconds, and the share of a processor that page and server took meanwhile.
    """
    run = folder / f"run-{time.monotonic_ns()}"
    command = [sys.executable, "-m", "ostinato", "train", "--json", "--run", str(run), *TRAIN]
    share = 0.0
    with contextlib.ExitStack() as stack:
        if watched:
            studio = stack.enter_context(served(folder))
            browser = Browser()
            stack.callback(browser.close)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while watched and not (run / "events.jsonl").exists():
            time.sleep(0.05)
        if watched:
            browser.open(f"{studio.address}run?name={run.name}")
            browser.wait(DRAWN, 120)
            both = studio.process.pid, browser.process.pid
            before, started = sum(map(processor, both)), time.perf_counter()
        while process.poll() is None:
            time.sleep(0.1)
            if watched:
                spent, passed = sum(map(processor, both)) - before, time.perf_counter() - started
        if watched:
            share = spent / passed
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    own = [event["took"] for event in events if event["kind"] == "train" and event["step"] > 50]
    return sum(own), share


def cost(folder: Path) -> list[list[str]]:
    trained(folder, False)
    pairs = [(trained(folder, False), trained(folder, True)) for _ in range(3)]
    times = [(alone, with_page) for (alone, _), (with_page, _) in pairs]
    alone, with_page = (statistics.median(found) for found in zip(*times, strict=True))
    each = ", ".join(f"{a:.1f}/{b:.1f}" for a, b in times)
    share = statistics.median(share for _, (_, share) in pairs) / (os.cpu_count() or 1)
    return [
        [f"a run alone and with its page open: {each} s", f"{with_page / alone - 1:+.1%}"],
        ["processor time of server and browser meanwhile, of all cores", f"{share:.1%}"],
    ]


def first_words(address: str, word: str) -> float:
    """Seconds from opening a page until it shows a word."""
    browser = Browser()
    try:
        started = time.perf_counter()
        browser.open(address)
        browser.wait(f"document.body.innerText.toLowerCase().includes('{word}')", 120)
        return time.perf_counter() - started
    finally:
        browser.close()


def beside(folder: Path, python: str | None) -> list[list[str]]:
    path = write_run(folder / "run", [{**START, "steps": BESIDE}])
    with open(path / "events.jsonl", "a") as log:
        for step in range(1, BESIDE + 1):
            log.write(json.dumps(train_event(step)) + "\n")
    started = time.perf_counter()
    with served(folder) as studio:
        answered(studio.address)
        ours = time.perf_counter() - started
        paint = first_words(f"{studio.address}run?name=run", "bits per character")
    rows = [
        [f"studio, {BESIDE:,} events: start and first chart", f"{ours:.2f} s and {paint:.2f} s"]
    ]
    if python is None:
        return rows
    own = {**os.environ, "TRACKIO_DIR": str(folder / "trackio"), "HF_HUB_OFFLINE": "1"}
    own.pop("PYTHONPATH", None)
    subprocess.run([python, "-c", TRACKIO.format(count=BESIDE)], check=True, env=own)
    started = time.perf_counter()
    port = 7871
    shown = "import trackio; trackio.show(project='beside', open_browser=False)"
    process = subprocess.Popen(
        [python, "-c", shown], env=own | {"GRADIO_SERVER_PORT": str(port)}, stdout=subprocess.PIPE
    )
    try:
        answered(f"http://127.0.0.1:{port}/")
        theirs = time.perf_counter() - started
        paint = first_words(f"http://127.0.0.1:{port}/?project=beside", "loss")
        return [*rows, ["trackio, the same", f"{theirs:.2f} s and {paint:.2f} s"]]
    finally:
        process.kill()
        process.wait()


def main():
    words = sys.argv[1:]
    python = words[words.index("--trackio") + 1] if "--trackio" in words else None
    parts = {"start": start, "million": million, "folders": folders, "cost": cost}
    parts["beside"] = lambda folder: beside(folder, python)
    chosen = [name for name in parts if name in words] or list(parts)
    rows = []
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            rows += parts[name](Path(folder))
            print(name, rows[-1], file=sys.stderr, flush=True)
    load = f"Load average when it began: {os.getloadavg()[0]:.1f}."
    publish("The studio", f"{load}\n\n{table(['what', 'measured'], rows)}")


if __name__ == "__main__":
    main()
