"""Training a character model against the loop that a person would write in PyTorch.

    python benchmarks/training.py run TEXT        a whole run with every default
    python benchmarks/training.py run TEXT --units 256 --layers 1 --batch 32 --length 100
        --precision float32 --steps 150           the same for two cores
    python benchmarks/training.py steps           single steps and sampling on the CPU

`run` trains an LSTM of 2×1024 in bfloat16 on batches of 64×128 characters, 1,500 steps unless
options say otherwise. Ours is `ostinato.runs.train`: log, validation, previews, checkpoints and
all. "Without checkpoints" is the same with writing replaced by nothing. Theirs is `nn.LSTM` (cuDNN
on a GPU) with Adam, gradients clipped at norm 1 and the loss fetched as often as we log; it neither
validates nor saves. Characters per second are of training: without compiling, the start and
validation. A second table has the time of our run by part, which adds up to the time of the call.

`steps` is an LSTM of 256 units; batches of 32 sequences of 100 characters; two threads each.
Sampling is one stream at temperature 1. The share of the input pipeline is the time to make a batch
over the time of a whole step.
"""

import argparse
import contextlib
import statistics
import tempfile
import time
from pathlib import Path

import jax
import numpy as np
import torch

from measure import publish, seconds, table
from ostinato.data.generated.everyday import book_text
from ostinato.decoding import sample
from ostinato.runs import Config, train
from ostinato.runs.folder.checkpoints import Checkpoints
from ostinato.tasks import Text
from steps import Steps

WARM = 10  # steps
STEPS, CHARACTERS = 12, 2000
# What a run spends its time on: the row of the table, and the names in the run's last event.
PARTS = {
    "start: data, network, baselines": ("building", "start"),
    "compile, with the first step": ("compile",),
    "input": ("input",),
    "step: handing it over": ("step",),
    "step: waiting for the device": ("wait",),
    "log": ("log",),
    "validation": ("validation",),
    "checkpoint": ("checkpoint",),
    "other": ("other",),
}


class Torch:
    """The same model and loop in PyTorch."""

    def __init__(self, config: Config, symbols: int):
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.symbols = symbols
        self.rnn = torch.nn.LSTM(symbols, config.units, config.layers).to(self.device)
        self.out = torch.nn.Linear(config.units, symbols).to(self.device)
        self.parameters = [*self.rnn.parameters(), *self.out.parameters()]
        self.adam = torch.optim.Adam(self.parameters, lr=2e-3)
        low = config.precision == "bfloat16"
        self.precision = torch.autocast(self.device, torch.bfloat16, enabled=low)
        self.state = None

    def one_hot(self, xs):
        return torch.nn.functional.one_hot(xs, self.symbols).float()

    def step(self, xs, targets):
        xs, targets = xs.to(self.device), targets.to(self.device)
        with self.precision:
            hs, state = self.rnn(self.one_hot(xs), self.state)
            logits = self.out(hs).flatten(0, 1)
            loss = torch.nn.functional.cross_entropy(logits, targets.flatten())
        self.state = tuple(x.detach() for x in state)
        self.adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.adam.step()
        return loss

    @torch.no_grad()
    def sample(self, count):
        x, state, found = torch.zeros((1, 1), dtype=torch.int64), None, []
        for _ in range(count):
            ys, state = self.rnn(self.one_hot(x), state)
            x = torch.multinomial(torch.softmax(self.out(ys)[0], -1), 1)
            found.append(x.item())
        return found


# A whole run


def whole_run(text: Path, repeats: int, config: Config) -> None:
    log_every = max(1, min(50, config.steps // 100))
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        ours(config, Path(folder) / "compiled")  # so that neither side pays for compiling
        for turn in range(repeats):
            whole = ours(config, Path(folder) / f"whole-{turn}")
            with no_writing():
                bare = ours(config, Path(folder) / f"bare-{turn}")
            speeds = (rate(whole, config), rate(bare, config), theirs(config, text, log_every))
            print(f"{turn + 1}/{repeats}: {', '.join(f'{x:,.0f}' for x in speeds)}", flush=True)
            runs.append((speeds, whole["parts"]))
    speeds = np.median([speeds for speeds, _ in runs], axis=0)
    names = ("every default", "without checkpoints", "PyTorch")
    rows = [
        [name, f"{x:,.0f}", f"{x / speeds[2]:.2f}"] for name, x in zip(names, speeds, strict=True)
    ]
    parts = sorted((parts for _, parts in runs), key=lambda x: sum(x.values()))[repeats // 2]
    total = sum(parts.values())
    what = f"LSTM {config.layers}×{config.units}, B{config.batch} T{config.length}"
    publish(
        f"A whole run: {what}, {config.precision}, {jax.default_backend()}",
        f"{config.steps} steps on a text of {text.stat().st_size / 1e6:.1f} MB with "
        f"{len(set(text.read_text()))} characters, median of {repeats}:\n\n"
        + table(["", "characters/s", "times PyTorch"], rows)
        + f"\n\nWith every default {speeds[0] / speeds[1]:.1%} of the speed without checkpoints. "
        "The run of median length with every default, compiled before:\n\n"
        + table(
            ["part", "seconds", "share"],
            [
                *([name, f"{x:.2f}", f"{x / total:.1%}"] for name, x in parts.items()),
                ["all", f"{total:.2f}", "100.0%"],
            ],
        ),
    )


def ours(config: Config, folder: Path) -> dict:
    """The last event of a run, with `parts`, the seconds of the whole call by part."""
    started = time.perf_counter()
    end = train(config, folder).events()[-1]
    spent = {**end["spent"], "building": time.perf_counter() - started - end["seconds"]}
    parts = {row: sum(spent.pop(name, 0.0) for name in names) for row, names in PARTS.items()}
    if spent:
        raise ValueError(f"the table has no row for {', '.join(spent)}")
    return {**end, "parts": parts}


@contextlib.contextmanager
def no_writing():
    save, Checkpoints.save = Checkpoints.save, lambda self, checkpoint, progress: None
    try:
        yield
    finally:
        Checkpoints.save = save


def rate(end: dict, config: Config) -> float:
    """Characters per second while training."""
    spent = end["spent"]
    learning = end["seconds"] - sum(spent.get(x, 0) for x in ("compile", "start", "validation"))
    return (end["step"] - 1) * config.batch * config.length / learning


def theirs(config: Config, text: Path, log_every: int) -> float:
    """Characters per second of the PyTorch loop."""
    codes = np.frombuffer(text.read_text().encode("utf-32-le"), "<u4")
    symbols, places = np.unique(codes, return_inverse=True)
    model = Torch(config, len(symbols))
    size = len(places) // config.batch
    rows = torch.from_numpy(places[: size * config.batch]).reshape(config.batch, size).T
    rows, windows = rows.contiguous(), (size - 1) // config.length

    def step(number: int):
        start = number % windows * config.length
        return model.step(*(rows[start + k : start + k + config.length] for k in (0, 1)))

    for number in range(WARM):
        step(number).item()
    started = time.perf_counter()
    for number in range(WARM, WARM + config.steps):
        loss = step(number)
        if number % log_every == 0:
            loss.item()
    loss.item()
    return config.steps * config.batch * config.length / (time.perf_counter() - started)


# Single steps


def typical(call, repeats=STEPS):
    """Median time of a call."""
    return statistics.median(seconds(call, repeats=repeats))


def single_steps() -> None:
    torch.set_num_threads(2)
    config = Config(cell="lstm", units=256, batch=32, length=100)
    task = Text.of(book_text(), length=config.length)
    steps, model, position = Steps(config, task), Torch(config, task.inputs), 0
    network = steps.network

    def our_step():
        nonlocal position
        position += 1
        return float(steps.step(position))

    def their_step():
        batch = task.batch(position, config.batch)
        return model.step(*(torch.from_numpy(x.astype(np.int64)) for x in batch[:2])).item()

    mine, torch_time = typical(our_step), typical(their_step)
    pipeline = typical(lambda: task.batch(position, config.batch), 200)

    def draw():
        pieces = sample(network, np.zeros(1, np.int32), CHARACTERS, key=jax.random.key(0))
        return sum(len(piece) for piece in pieces)

    mine_sampling = CHARACTERS / typical(draw, 5)
    torch_sampling = CHARACTERS / typical(lambda: model.sample(CHARACTERS), 5)
    characters = config.batch * config.length
    rows = [
        ["training, characters/s", *_row(characters / torch_time, characters / mine)],
        ["sampling, characters/s", *_row(torch_sampling, mine_sampling)],
    ]
    publish(
        "Training and sampling on the CPU",
        f"LSTM of {config.units} units, batches of {config.batch} × {config.length} characters, "
        "Adam, two threads each:\n\n"
        + table(["", "PyTorch loop", "Ostinato", "times as fast"], rows)
        + f"\n\nInput pipeline: {pipeline / mine:.2%} of a training step.",
    )


def _row(theirs, ours):
    return [f"{theirs:,.0f}", f"{ours:,.0f}", f"**{ours / theirs:.2f}**"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cases = parser.add_subparsers(dest="case", required=True)
    cases.add_parser("steps")
    run = cases.add_parser("run")
    run.add_argument("text", type=Path)
    sizes = {"units": 1024, "layers": 2, "batch": 64, "length": 128, "steps": 1500}
    for name, usual in sizes.items():
        run.add_argument(f"--{name}", type=int, default=usual)
    run.add_argument("--precision", default="bfloat16")
    run.add_argument("--repeats", type=int, default=5)
    asked = vars(parser.parse_args())
    if asked.pop("case") == "steps":
        single_steps()
    else:
        text, repeats = asked.pop("text"), asked.pop("repeats")
        whole_run(text, repeats, Config(file=str(text), cell="lstm", **asked))


if __name__ == "__main__":
    main()
