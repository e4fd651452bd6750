"""A whole training run with every default, against the usual PyTorch loop.

    python benchmarks/whole_run.py TEXT                      two cores: LSTM 1×256, B32 T100
    python benchmarks/whole_run.py TEXT --units 1024 --layers 2 --batch 64 --length 128
        --precision bfloat16 --steps 1500                    a GPU

Ours is `ostinato.runs.train`: log, validation, previews, checkpoints and all. Theirs is `nn.LSTM`
(cuDNN on a GPU) with Adam, gradients clipped at norm 1 and the loss fetched as often as we log;
it neither validates nor saves. Characters a second are of training: without compiling, the start
and validation. "Without checkpoints" is our own run with writing replaced by nothing.
"""

import argparse
import contextlib
import tempfile
import time
from pathlib import Path

import jax
import numpy as np
import torch

from measure import publish, table
from ostinato.runs import Config, train
from ostinato.runs.checkpoints import Checkpoints

WARM = 10  # steps
PARTS = ("step", "wait", "input", "log", "validation", "checkpoint", "compile", "start")


def ours(config: Config, folder: Path) -> dict:
    """The last event of a run, with `all`, the seconds of the whole call."""
    started = time.perf_counter()
    run = train(config, folder)
    return {**run.events()[-1], "all": time.perf_counter() - started}


@contextlib.contextmanager
def no_writing():
    save, Checkpoints.save = Checkpoints.save, lambda self, checkpoint, progress: None
    try:
        yield
    finally:
        Checkpoints.save = save


def rate(end: dict, config: Config) -> float:
    """Characters a second while training."""
    parts = end["spent"]
    seconds = end["seconds"] - sum(parts.get(x, 0) for x in ("compile", "start", "validation"))
    return (end["step"] - 1) * config.batch * config.length / seconds


def theirs(config: Config, text: str, log_every: int) -> float:
    """Characters a second of the PyTorch loop."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    symbols, places = np.unique(np.frombuffer(text.encode("utf-32-le"), "<u4"), return_inverse=True)
    data = torch.from_numpy(places)
    rnn = torch.nn.LSTM(len(symbols), config.units, config.layers).to(device)
    out = torch.nn.Linear(config.units, len(symbols)).to(device)
    weights = [*rnn.parameters(), *out.parameters()]
    adam = torch.optim.Adam(weights, lr=2e-3)
    low = torch.autocast(device, torch.bfloat16, enabled=config.precision == "bfloat16")
    size = len(data) // config.batch
    rows = data[: size * config.batch].reshape(config.batch, size).T.contiguous()
    windows = (size - 1) // config.length

    def step(number: int, state):
        start = number % windows * config.length
        xs, ys = (rows[start + k : start + k + config.length].to(device) for k in (0, 1))
        with low:
            hs, state = rnn(torch.nn.functional.one_hot(xs, len(symbols)).float(), state)
            loss = torch.nn.functional.cross_entropy(out(hs).flatten(0, 1), ys.flatten())
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        adam.step()
        return loss, tuple(x.detach() for x in state)

    loss, state = step(0, None)
    for number in range(config.steps + WARM):
        if number == WARM:
            loss.item()
            started = time.perf_counter()
        loss, state = step(number, state)
        if number % log_every == 0:
            loss.item()
    loss.item()
    return config.steps * config.batch * config.length / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path)
    for name, usual in (("units", 256), ("layers", 1), ("batch", 32), ("length", 100)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--repeats", type=int, default=3)
    given = vars(parser.parse_args())
    text, repeats = given.pop("text"), given.pop("repeats")
    config = Config(file=str(text), cell="lstm", **given)
    log_every = max(1, min(50, config.steps // 100))
    rows, shares = [], {}
    with tempfile.TemporaryDirectory() as folder:
        ours(config, Path(folder) / "compiled")  # so that neither side pays for compiling
        for turn in range(repeats):
            whole = ours(config, Path(folder) / f"whole-{turn}")
            with no_writing():
                bare = ours(config, Path(folder) / f"bare-{turn}")
            speeds = (
                rate(whole, config),
                rate(bare, config),
                theirs(config, text.read_text(), log_every),
            )
            rows.append([*speeds, whole["all"]])
            shares = {part: whole["spent"].get(part, 0.0) for part in PARTS}
            shares["building"] = whole["all"] - whole["seconds"]
    mean = np.median(rows, axis=0)
    lines = [
        ["every default", f"{mean[0]:,.0f}", f"**{mean[0] / mean[2]:.2f}**"],
        ["without checkpoints", f"{mean[1]:,.0f}", f"{mean[1] / mean[2]:.2f}"],
        ["PyTorch", f"{mean[2]:,.0f}", "1"],
    ]
    words = ", ".join(f"{name} {value:.2f}" for name, value in shares.items())
    what = f"LSTM {config.layers}×{config.units}, B{config.batch} T{config.length}"
    publish(
        f"A whole run: {what}, {config.precision}, {jax.default_backend()}",
        f"{config.steps} steps on a text of {text.stat().st_size / 1e6:.1f} MB with "
        f"{len(set(text.read_text()))} characters, median of {repeats}:\n\n"
        + table(["", "characters/s", "times PyTorch"], lines)
        + f"\n\nWith every default {mean[0] / mean[1]:.1%} of the speed without checkpoints. "
        f"Seconds of the last run by part: {words}.",
    )


if __name__ == "__main__":
    main()
