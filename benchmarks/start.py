"""How long a command takes to start, in processor seconds and in seconds of the clock.

    python benchmarks/start.py            on two idle cores; --repeats 5, --print not to publish

Every command is a process of its own. "First output" is when the first character of its answer, or
the first line of its page, can be read; of `train` it is when the first step is in the log. Cold
means that nothing is compiled yet, warm that the cache of compiled programs is filled. Python's
own bytecode is always there, as after an installation by pip.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from measure import publish, table


class Took:
    """What a process took.

    Attributes:
        processor: seconds of user and system time.
        first: seconds until the first output.
        whole: seconds until the end.
    """

    def __init__(self, words: list[str], folder: Path, log: Path | None = None):
        started = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, "-m", "ostinato", *words],
            cwd=folder,
            env=environment(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert child.stdout is not None
        if log is None:
            child.stdout.read(1)
        else:
            reader = threading.Thread(target=child.stdout.read)
            reader.start()
            while reader.is_alive() and not has_step(log):
                time.sleep(0.005)
        self.first = time.perf_counter() - started
        if log is None:
            child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        self.whole = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        self.processor = used.ru_utime + used.ru_stime
        if child.returncode:
            raise SystemExit(f"ostinato {' '.join(words)} ended with {child.returncode}")


def environment(folder: Path) -> dict[str, str]:
    """Caches of our own, so that cold is cold, and bytecode whatever the environment says."""
    found = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    found.pop("JAX_COMPILATION_CACHE_DIR", None)
    found["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    found["OSTINATO_CACHE"] = str(folder / "cache")
    return found


def has_step(log: Path) -> bool:
    return log.exists() and '"kind": "train"' in log.read_text()


def forget_compiled(folder: Path) -> None:
    for file in (folder / "cache").rglob("*"):
        if file.is_file():
            file.unlink()


def prepare(folder: Path) -> None:
    """A text of 1 MB, a table, and a run on each."""
    words = Path(__file__).read_text()
    (folder / "text.txt").write_text((words * (10**6 // len(words) + 1))[: 10**6])
    (folder / "table.csv").write_text("x\n" + "\n".join(str(n % 17) for n in range(600)))
    for file, name in (("text.txt", "text"), ("table.csv", "series")):
        Took(["train", file, "--steps", "20", "--run", f"runs/{name}"], folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--print", action="store_true", help="do not write to RESULTS.md")
    given = parser.parse_args()
    rows = []

    def add(name: str, took: list[Took], limit: str = "") -> None:
        parts = ("processor", "first", "whole")
        middle = [statistics.median(getattr(one, part) for one in took) for part in parts]
        rows.append([f"`{name}`", *(f"{x:.2f}" for x in middle), limit])

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        number = 0

        def train() -> Took:
            nonlocal number
            number += 1
            run = f"runs/first-{number}"
            words = ["train", "text.txt", "--steps", "20", "--run", run]
            return Took(words, folder, folder / run / "events.jsonl")

        repeats = range(given.repeats)
        limits = {"--help": "0.3", "--version": "0.3", "train --help": "1"}
        for words in ("--help", "--version", "train --help", "train --help series", "runs"):
            Took(words.split(), folder)  # for its bytecode
            limit = f"{limits[words]} processor" if words in limits else ""
            add(words, [Took(words.split(), folder) for _ in repeats], limit)
        for words in ("sample runs/text --length 100", "apply runs/series table.csv"):
            verb = words.split()[0]
            Took(words.split(), folder)
            forget_compiled(folder)
            add(f"{verb} (cold)", [Took(words.split(), folder)])
            add(f"{verb} (warm)", [Took(words.split(), folder) for _ in repeats], "2 first output")
        forget_compiled(folder)
        add("train, 1 MB of text (cold)", [train()])
        add("train, 1 MB of text (warm)", [train() for _ in repeats], "6 first output")
    text = (
        f"Seconds, median of {given.repeats} (cold: once), bytecode of Python in place:\n\n"
        + table(["", "processor", "first output", "whole", "at most"], rows)
    )
    if given.print:
        print(text)
    else:
        publish("Start of the command line", text)


if __name__ == "__main__":
    main()
