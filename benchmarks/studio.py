"""The studio: a long log, many folders, and what an open page costs a run that trains.

    python benchmarks/studio.py [PART ...] [--trackio PYTHON]

Parts are `start`, `million`, `folders`, `cost` and `beside`; all of them without a name. Pages are
opened in chromium, headless, by the same client as in `tests/studio`. `beside` logs the same
numbers with trackio, by the Python in whose environment it is installed, and opens its dashboard.
Both are started anew and opened in a new browser three times, in turn, and the best of each counts:
until the server answers, and from opening the page until the curve of the loss is painted.
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
from pages import START, a_log, served, train_event, write_run

MILLION, FOLDERS, BESIDE, PORT = 1_000_000, 500, 10_000, 7871
DRAWN = "document.querySelector('[data-chart=loss] .main-svg')"
CURVE = "document.querySelector('[data-chart=loss] .scatterlayer path.js-line')?.getAttribute('d')"
# trackio draws on a canvas; its axes and letters are grey, so a pixel with a colour is the curve.
CURVE_OF_TRACKIO = """[...document.querySelectorAll('.plot-container')].some(box => {
    if (box.querySelector('.plot-title')?.innerText.trim() !== 'loss') return false;
    const own = box.querySelector('canvas');
    const dots = own.getContext('2d').getImageData(0, 0, own.width, own.height).data;
    for (let i = 0; i < dots.length; i += 4) {
        const [red, green, blue, there] = [dots[i], dots[i + 1], dots[i + 2], dots[i + 3]];
        const spread = Math.max(red, green, blue) - Math.min(red, green, blue);
        if (there > 128 && spread > 40) return true;
    }
    return false;
})"""
TRAIN = ("--units", "128", "--length", "50", "--steps", "300", "--validate-every", "150")
TRACKIO = """
import sys, trackio
trackio.init(project="beside", name="run")
for step in range(1, {count} + 1):
    trackio.log({{"loss": 4.0 / step, "norm": 0.5, "rate": 0.01, "took": 0.1}}, step=step)
trackio.finish()
"""
SHOW = "import trackio; trackio.show(project='beside', open_browser=False)"
# The megabytes of a package with all that it requires, one extra of it included.
SIZE = """
import re, sys
from importlib.metadata import PackageNotFoundError, distribution
name, extra = sys.argv[1:]
seen, waiting, total = set(), [(name, extra)], 0
while waiting:
    name, extra = waiting.pop()
    try:
        found = distribution(name)
    except PackageNotFoundError:  # for another system
        continue
    key = found.metadata["Name"].lower().replace("_", "-")
    again, _ = key in seen, seen.add(key)
    for words in found.requires or []:
        needed, _, marker = words.partition(";")
        if "extra" not in marker or extra and re.search(f"extra == .{extra}.", marker):
            own = re.match(r"[A-Za-z0-9._-]+", needed)[0]
            if own.lower().replace("_", "-") not in seen:
                waiting.append((own, ""))
    if not again:
        places = [found.locate_file(file) for file in found.files or []]
        total += sum(place.stat().st_size for place in places if place.exists())
print(round(total / 1e6))
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
            answered(studio.page())
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
            browser.open(studio.page("run?name=long"))
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
            browser.open(studio.page())
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
            browser.open(studio.page(f"run?name={run.name}"))
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


def painted(address: str, curve: str) -> float:
    """Seconds from opening a page until it has painted a curve."""
    browser = Browser()
    try:
        started = time.perf_counter()
        browser.open(address)
        browser.wait(curve, 120)
        browser.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return time.perf_counter() - started
    finally:
        browser.close()


def of_studio(folder: Path) -> tuple[float, float]:
    """Seconds until the studio answers, and until it has painted the curve."""
    started = time.perf_counter()
    with served(folder) as studio:
        answered(studio.page())
        taken = time.perf_counter() - started
        return taken, painted(studio.page("run?name=run"), CURVE)


def of_trackio(python: str, environment: dict[str, str]) -> tuple[float, float]:
    """The same of trackio."""
    started = time.perf_counter()
    process = subprocess.Popen([python, "-c", SHOW], env=environment, stdout=subprocess.DEVNULL)
    try:
        answered(f"http://127.0.0.1:{PORT}/")
        taken = time.perf_counter() - started
        return taken, painted(f"http://127.0.0.1:{PORT}/?project=beside", CURVE_OF_TRACKIO)
    finally:
        process.kill()
        process.wait()


def megabytes(python: str, package: str, extra: str) -> int:
    """The size of a package with all that it requires."""
    command = [python, "-c", SIZE, package, extra]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def beside(folder: Path, python: str | None) -> list[list[str]]:
    path = write_run(folder / "run", [{**START, "steps": BESIDE}])
    with open(path / "events.jsonl", "a") as log:
        for step in range(1, BESIDE + 1):
            log.write(json.dumps(train_event(step)) + "\n")
    own = {**os.environ, "TRACKIO_DIR": str(folder / "trackio"), "HF_HUB_OFFLINE": "1"}
    own |= {"GRADIO_SERVER_PORT": str(PORT)}
    own.pop("PYTHONPATH", None)
    if python is not None:
        subprocess.run([python, "-c", TRACKIO.format(count=BESIDE)], check=True, env=own)
    times: dict[str, list] = {"studio": [], "trackio": []}
    for _ in range(3):
        times["studio"].append(of_studio(folder))
        if python is not None:
            times["trackio"].append(of_trackio(python, own))
    rows = []
    for name, found in times.items():
        if found:
            start, paint = map(min, zip(*found, strict=True))
            each = ", ".join(f"{a:.2f}/{b:.2f}" for a, b in found)
            words = f"{name}, {BESIDE:,} events: start and curve painted ({each} s)"
            rows.append([words, f"{start:.2f} s and {paint:.2f} s"])
    plain, with_studio = (megabytes(sys.executable, "ostinato", one) for one in ("", "studio"))
    words = "install size of ostinato, and what its extra `studio` adds"
    rows.append([words, f"{plain} MB and {with_studio - plain} MB"])
    if python is not None:
        rows.append(["install size of trackio", f"{megabytes(python, 'trackio', '')} MB"])
    return rows


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
