"""Twenty runs at once against the same twenty one after the other, each a process of its own.

    python benchmarks/packs.py                    all of them
    python benchmarks/packs.py --separate 3       only three separate ones, for the time of twenty

Four learning rates and five seeds of an LSTM with 128 units on the adding problem, 200 steps each,
all else as usual. Both sides are commands, timed from start to end: `ostinato train` twenty times,
and a script that calls `train_many` once. Processor time is that of all threads; it says what an
hour of idle cores would give, where others use the cores too. The last column is how far the
validation curves of packed and separate runs are apart, relative, at most.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from measure import machine, table
from ostinato.runs import Config, open_run

RATES = (1e-3, 2e-3, 4e-3, 8e-3)
SEEDS = range(5)
AT_ONCE = """
import sys
from ostinato.runs import Config
from ostinato.runs.many import train_many
folder, *files = sys.argv[1:]
train_many([Config.from_toml(x) for x in files], [f"{folder}/{n}" for n in range(len(files))])
"""


def settings(steps: int) -> list[dict]:
    usual = {"task": "adding", "cell": "lstm", "units": 128, "steps": steps}
    return [{**usual, "rate": rate, "seed": seed} for rate in RATES for seed in SEEDS]


class Took(NamedTuple):
    seconds: float
    processor: float


def packed(every: list[dict], folder: Path) -> Took:
    """The time of all runs at once."""
    files = []
    for number, given in enumerate(every):
        files.append(folder / f"{number}.toml")
        files[-1].write_text(_toml(Config(**given)))
    return _took([sys.executable, "-c", AT_ONCE, str(folder / "packed"), *map(str, files)])


def separate(given: dict, run: Path) -> Took:
    """The time of one run."""
    options = [part for name, x in given.items() for part in (f"--{name}", str(x))]
    line = [sys.executable, "-m", "ostinato", "train", *options, "--run", str(run), "--json"]
    return _took(line)


def apart(one: Path, other: Path) -> float:
    """The largest relative difference of two validation curves."""
    first, second = (
        np.array([e["value"] for e in open_run(path).events() if e["kind"] == "valid"])
        for path in (one, other)
    )
    return float(np.max(np.abs(first - second) / np.abs(second)))


def _numbers(took: Took) -> list[str]:
    return [f"{took.seconds:.1f}", f"{took.processor:.1f}", f"{3600 / took.seconds:.0f}"]


def _toml(config: Config) -> str:
    lines = []
    for section, part in config.as_json().items():
        lines.append(f"[{section}]")
        for name, x in part.items():
            if x is not None:
                value = str(x).lower() if isinstance(x, bool) else repr(x).replace("'", '"')
                lines.append(f"{name} = {value}")
    return "\n".join(lines)


def _took(line: list[str]) -> Took:
    started, before = time.perf_counter(), _processor()
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
    return Took(time.perf_counter() - started, _processor() - before)


def _processor() -> float:
    """Processor seconds of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--separate", type=int, default=20, help="how many to train separately")
    parser.add_argument("--steps", type=int, default=200)
    asked = parser.parse_args()
    every = settings(asked.steps)
    step = len(every) // asked.separate
    chosen = list(range(0, len(every), step))[: asked.separate]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        together = packed(every, folder)
        print(f"{len(every)} at once: {together}", flush=True)
        times = []
        for number in chosen:
            times.append(separate(every[number], folder / "separate" / str(number)))
            print(f"separate, {every[number]}: {times[-1]}", flush=True)
        far = max(apart(folder / "packed" / str(n), folder / "separate" / str(n)) for n in chosen)
    alone = Took(*np.mean(times, axis=0))
    each = Took(*(x / len(every) for x in together))
    rows = [
        ["one after the other", *_numbers(alone), "1", ""],
        ["at once", *_numbers(each), f"{alone.seconds / each.seconds:.2f}", f"{far:.1e}"],
    ]
    header = [f"{len(every)} runs"]
    header += ["seconds per run", "of processor time", "runs per hour", "times", "curves apart"]
    words = f"{asked.steps} steps each; separate: the mean of {len(chosen)} processes."
    load = f"Load average at the end: {os.getloadavg()[0]:.1f}."
    print(f"## Many runs at once\n{machine()}\n\n{table(header, rows)}\n\n{words} {load}")


if __name__ == "__main__":
    main()
