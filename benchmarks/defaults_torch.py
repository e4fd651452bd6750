"""A text learned from our defaults, and by PyTorch from its own: bits at the end of the same steps.

    python benchmarks/defaults_torch.py TEXT... --cells lstm gru --sizes 1x256 2x512 2x1024
        --seeds 5 --steps 600

Ours is `ostinato.runs.train_many`. Theirs is `nn.LSTM` or `nn.GRU` as PyTorch initialises it, with
Adam, in float32 and, on a GPU, under autocast to bfloat16. Both see the same batches, rate,
schedule and clipping, and read the same validation text in the same streams, the state carried.
"""

import argparse
import contextlib
import json
import math
import statistics
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import torch

from measure import machine, publish, table
from ostinato.learning.schedules import factor
from ostinato.runs import Config
from ostinato.runs.build import build_learner, build_task
from ostinato.runs.many import train_many

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PRECISIONS = ("float32", "bfloat16") if DEVICE == "cuda" else ("float32",)
STARTING = threading.Lock()
HEADINGS = [
    "text",
    "cell",
    "layers × units",
    "rate",
    "ours",
    *(f"PyTorch {precision}" for precision in PRECISIONS),
    "ours less the better",
]


class Theirs(torch.nn.Module):
    """One-hot vectors, recurrent layers and a linear readout."""

    def __init__(self, cell: str, symbols: int, layers: int, units: int):
        super().__init__()
        kind = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[cell]
        self.layers = kind(symbols, units, layers)
        self.readout = torch.nn.Linear(units, symbols)
        self.symbols = symbols

    def forward(self, x, state):
        vectors = torch.nn.functional.one_hot(x, self.symbols).float()
        hs, state = self.layers(vectors, state)
        return self.readout(hs), state


def rounded(precision: str):
    """The context of a precision."""
    if precision == "float32":
        return contextlib.nullcontext()
    return torch.autocast(DEVICE, dtype=torch.bfloat16)


def on_device(x) -> torch.Tensor:
    return torch.from_numpy(np.array(x, np.int64)).to(DEVICE)


def theirs(config: Config, task, rate: float, layers: int, precision: str) -> float:
    """The bits per character of the PyTorch loop on the validation text."""
    with STARTING:  # one at a time, because the random generator is shared
        torch.manual_seed(config.seed)
        net = Theirs(str(config.cell), task.inputs, layers, config.units)
    net.to(DEVICE)
    adam = torch.optim.Adam(net.parameters(), rate)
    course = factor(config.schedule, config.steps)
    for step in range(config.steps):
        batch = task.batch(step, config.batch)
        for group in adam.param_groups:
            group["lr"] = rate * float(course(step))
        with rounded(precision):
            outputs, _ = net(on_device(batch.inputs), None)
            loss = torch.nn.functional.cross_entropy(
                outputs.float().flatten(0, 1), on_device(batch.targets).flatten()
            )
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), float(config.clip))
        adam.step()
    return validated(net, task, precision)


@torch.no_grad()
def validated(net: Theirs, task, precision: str) -> float:
    """Bits per character over the validation text, the state carried from window to window."""
    nats, count, state = 0.0, 0.0, None
    for batch in task.held_out("valid", 32):
        with rounded(precision):
            outputs, state = net(on_device(batch.inputs), None if batch.first else state)
        each = torch.nn.functional.cross_entropy(
            outputs.double().flatten(0, 1), on_device(batch.targets).flatten(), reduction="none"
        )
        weights = torch.from_numpy(np.array(batch.weights, np.float64)).to(DEVICE).flatten()
        nats += float((each * weights).sum())
        count += float(weights.sum())
    return nats / count / math.log(2)


def all_at_once(loops: list) -> list:
    """The results of functions, each in a thread and, on a GPU, a stream of its own."""

    def own_stream(loop):
        if DEVICE == "cpu":
            return loop()
        with torch.cuda.stream(torch.cuda.Stream()):
            return loop()

    with ThreadPoolExecutor(len(loops) if DEVICE == "cuda" else 1) as pool:
        return list(pool.map(own_stream, loops))


def measured(text: Path, cell: str, size: str, given) -> dict:
    """The bits of every seed, ours and theirs."""
    layers, units = map(int, size.split("x"))
    common = {"task": "text", "file": str(text), "cell": cell, "units": units, "layers": layers}
    common |= {"batch": given.batch, "length": given.length, "steps": given.steps}
    common |= {} if given.rate is None else {"rate": given.rate}
    configs = [Config(**common, seed=seed) for seed in range(1, given.seeds + 1)]
    tasks = [build_task(config) for config in configs]
    rate = build_learner(configs[0], tasks[0]).chosen_values()["rate"]
    found: dict = {"text": text.stem, "cell": cell, "size": size, "rate": rate}
    with tempfile.TemporaryDirectory() as folder:
        folders = [Path(folder) / str(config.seed) for config in configs]
        runs = train_many(configs, folders)
        found["ours"] = [
            [event["value"] for event in run.events() if event["kind"] == "valid"][-1]
            for run in runs
        ]
    loops = {
        (precision, config.seed): partial(theirs, config, task, rate, layers, precision)
        for precision in PRECISIONS
        for config, task in zip(configs, tasks, strict=True)
    }
    bits = dict(zip(loops, all_at_once(list(loops.values())), strict=True))
    for precision in PRECISIONS:
        found[precision] = [bits[precision, config.seed] for config in configs]
    return found


def row(found: dict) -> list[str]:
    """A line of the table: means and standard deviations."""
    means = {name: statistics.fmean(found[name]) for name in ("ours", *PRECISIONS)}
    shown = [f"{means[x]:.3f} (± {statistics.stdev(found[x]):.3f})" for x in ("ours", *PRECISIONS)]
    better = min(means[x] for x in PRECISIONS)
    size = found["size"].replace("x", " × ")
    difference = f"{means['ours'] - better:+.3f}"
    return [found["text"], found["cell"], size, f"{found['rate']:g}", *shown, difference]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--cells", nargs="+", default=["lstm", "gru"])
    parser.add_argument("--sizes", nargs="+", default=["1x256", "2x512", "2x1024"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=50)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--json", type=Path, help="add each result as a line, and publish nothing")
    given = parser.parse_args()
    rows = []
    for text in given.texts:
        for cell in given.cells:
            for size in given.sizes:
                found = measured(text, cell, size, given)
                rows.append(row(found))
                print(*rows[-1], flush=True)
                if given.json is not None:
                    with given.json.open("a") as lines:
                        lines.write(json.dumps({**found, "machine": machine()}) + "\n")
    if given.json is None:
        words = f"B {given.batch}, T {given.length}, {given.steps} steps, {given.seeds} seeds.\n\n"
        publish("Defaults against PyTorch's", words + table(HEADINGS, rows))


if __name__ == "__main__":
    main()
