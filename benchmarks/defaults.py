"""The defaults of a network and its learner, by measurement: what changes if one is another.

    python benchmarks/defaults.py run FOLDER --texts a.txt b.txt c.txt --cells lstm gru
    python benchmarks/defaults.py run FOLDER --tasks sunspots laser adding --cells lstm gru
    python benchmarks/defaults.py table FOLDER

Every candidate changes one setting of the defaults. `ostinato.contrast` trains it with the same
seeds, steps and batches on each task at three sizes. A task's error is its metric, or one minus it
if higher is better; the table has the error as a ratio to that of the defaults: the geometric mean
over tasks and sizes, the best and the worst case, and in how many of them it is lower. A tenth of
the largest error is added to both, so that one task that is learned or not does not decide.
"""

import argparse
import dataclasses
import json
import math
import os
from pathlib import Path

from measure import machine, publish, table
from ostinato.contrast import Spec, contrast
from ostinato.learning.first_order import FIRST_ORDER

DATA = Path(os.environ.get("OSTINATO_DATA", ".")) / "timeseries"
SEEDS = 2
TEXT_SIZES = ((1, 256), (2, 512), (2, 1024))
SIZES = ((1, 64), (1, 128), (2, 128))
TASKS: dict[str, dict] = {
    "sunspots": {"task": "series", "file": str(DATA / "sunspots.csv")},
    "laser": {"task": "series", "file": str(DATA / "santafe_laser.npy")},
    "adding": {"task": "adding", "length": 100},
    "temporal-order": {"task": "temporal-order"},
    "memorisation": {"task": "memorisation"},
}
CANDIDATES: dict[str, dict] = {
    "the defaults": {},
    "input glorot": {"input": "glorot"},
    "recurrent normal 0.1": {"recurrent": "normal:0.1"},
    "forget bias 0": {"forget": 0.0},
    "forget bias 2": {"forget": 2.0},
    "rate halved": {"rate": 0.5},  # times the usual
    "rate doubled": {"rate": 2.0},
    "warm-up of 50 steps": {"warmup": 50},
    "clip at 0.25": {"clip": "0.25"},
    "clip at 5": {"clip": "5"},
    "window halved": {"length": 25, "batch": 64},
    "window doubled": {"length": 100, "batch": 16},
}
OF_LSTM = ("forget bias 0", "forget bias 2")
OF_TEXT = ("window halved", "window doubled")


def candidates(cell: str, is_text: bool, units: int) -> dict[str, dict]:
    """The candidates that mean something for a cell on a task; rates are multiples of the usual."""
    usual = FIRST_ORDER["adam"].usual_rate(units)
    return {
        name: {**settings, "rate": usual * settings["rate"]} if "rate" in settings else settings
        for name, settings in CANDIDATES.items()
        if (name not in OF_LSTM or cell == "lstm") and (name not in OF_TEXT or is_text)
    }


def measured(folder: Path, cell: str, task: str, settings: dict, size: tuple, given) -> None:
    """One contrast of all candidates, into a file of errors by candidate."""
    name = f"{task}-{cell}-{size[0]}x{size[1]}"
    if (folder / f"{name}.json").exists():
        return
    tried = candidates(cell, settings["task"] == "text", size[1])
    spec = Spec.from_dict(
        {
            "cells": [cell],
            "tasks": {task: settings},
            "wirings": {name: tried[name] for name in given.candidates if name in tried},
            "settings": {"steps": given.steps, "layers": size[0], "units": size[1]},
            "seeds": SEEDS,
            "trials": 0,
            "test": False,
        }
    )
    [group] = contrast(spec, folder / name).groups
    errors = {}
    for row in group.rows:
        values = [math.nan if x is None else x for x in row.valid]
        if group.higher_is_better:
            values = [1 - x for x in values]
        errors[row.label] = values
    result = {"task": task, "cell": cell, "size": size, "metric": group.metric, "errors": errors}
    (folder / f"{name}.json").write_text(json.dumps({**result, "machine": machine()}))


@dataclasses.dataclass
class Cases:
    """The ratios of a candidate to the defaults, by case."""

    ratios: list[float] = dataclasses.field(default_factory=list)
    diverged: int = 0

    def row(self) -> list[str]:
        if not self.ratios:
            return ["-"] * 4 + [str(self.diverged)]
        mean = math.exp(math.fsum(map(math.log, self.ratios)) / len(self.ratios))
        lower = sum(ratio < 0.995 for ratio in self.ratios)
        higher = sum(ratio > 1.005 for ratio in self.ratios)
        ends = f"{min(self.ratios):.2f} to {max(self.ratios):.2f}"
        return [
            f"{mean:.3f}",
            ends,
            f"{lower} of {len(self.ratios)}",
            str(higher),
            str(self.diverged),
        ]


def ratios(results: list[dict]) -> dict[str, Cases]:
    """The cases of each candidate."""
    found: dict[str, Cases] = {}
    for result in results:
        means = {name.split(", ")[-1]: sum(x) / len(x) for name, x in result["errors"].items()}
        floor = 0.1 * max(x for x in means.values() if math.isfinite(x))
        usual = means["the defaults"] + floor
        for name, mean in means.items():
            cases = found.setdefault(name, Cases())
            if math.isfinite(mean):
                cases.ratios.append((mean + floor) / usual)
            else:
                cases.diverged += 1
    return found


def show(folder: Path, write: bool) -> None:
    results = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    headings = ["candidate", "error, as a ratio", "best and worst", "lower", "higher", "diverged"]
    text = []
    for cell in sorted({result["cell"] for result in results}):
        of_cell = [result for result in results if result["cell"] == cell]
        found = ratios(of_cell)
        rows = [[name, *found[name].row()] for name in CANDIDATES if name in found]
        text.append(f"**{cell}**, {len(of_cell)} cases\n\n{table(headings, rows)}")
    print("\n\n".join(text))
    if write:
        publish("Defaults, one changed at a time", "\n\n".join(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--texts", nargs="*", default=[], type=Path)
    parser.add_argument("--tasks", nargs="*", default=[], choices=TASKS)
    parser.add_argument("--cells", nargs="*", default=["lstm", "gru"])
    parser.add_argument(
        "--sizes", nargs="*", default=[0, 1, 2], type=int, help="which of the three"
    )
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--candidates", nargs="*", default=list(CANDIDATES), choices=CANDIDATES)
    parser.add_argument("--publish", action="store_true")
    given = parser.parse_args()
    if given.what == "table":
        return show(given.folder, given.publish)
    given.folder.mkdir(parents=True, exist_ok=True)
    for place in given.sizes:
        for cell in given.cells:
            for text in given.texts:
                settings = {"task": "text", "file": str(text)}
                size = TEXT_SIZES[place]
                measured(given.folder, cell, text.stem, settings, size, given)
            for task in given.tasks:
                measured(given.folder, cell, task, TASKS[task], SIZES[place], given)


if __name__ == "__main__":
    main()
