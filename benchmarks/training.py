"""Training and sampling a character model against plain PyTorch loops, on the CPU.

    python benchmarks/training.py

An LSTM of 256 units on one-hot characters with a linear readout; batches of 32 sequences of 100
characters, Adam, gradients clipped at norm 1; two threads each. The PyTorch side is the loop that a
person would write with `nn.LSTM`. Sampling is one stream at temperature 1. The share of the input
pipeline is the time to make a batch over the time of a whole step.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "2")

import statistics
import time

import equinox as eqx
import jax
import numpy as np
import torch

from measure import publish, table
from ostinato.data import Batch
from ostinato.decoding import sample
from ostinato.runs import Config
from ostinato.runs.build import build_learner, build_network
from ostinato.runs.step import compiled_step
from ostinato.tasks import Text, embedded_text

UNITS, BATCH, LENGTH, STEPS = 256, 32, 100, 12
CHARACTERS = 2000


def seconds(call, repeats=STEPS):
    """Median time of a call, after two to warm up."""
    for _ in range(2):
        call()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


class Torch:
    """The same model and loop in PyTorch."""

    def __init__(self, symbols: int):
        self.symbols = symbols
        self.rnn = torch.nn.LSTM(symbols, UNITS)
        self.out = torch.nn.Linear(UNITS, symbols)
        self.parameters = [*self.rnn.parameters(), *self.out.parameters()]
        self.adam = torch.optim.Adam(self.parameters, lr=3e-3)
        self.state = None

    def one_hot(self, xs):
        return torch.nn.functional.one_hot(xs, self.symbols).float()

    def step(self, batch):
        xs, targets = (torch.from_numpy(x.astype(np.int64)) for x in batch[:2])
        ys, state = self.rnn(self.one_hot(xs), self.state)
        self.state = tuple(x.detach() for x in state)
        logits = self.out(ys).reshape(-1, self.symbols)
        loss = torch.nn.functional.cross_entropy(logits, targets.reshape(-1))
        self.adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.adam.step()
        return loss.item()

    @torch.no_grad()
    def sample(self, count):
        x, state, found = torch.zeros((1, 1), dtype=torch.int64), None, []
        for _ in range(count):
            ys, state = self.rnn(self.one_hot(x), state)
            x = torch.multinomial(torch.softmax(self.out(ys)[0], -1), 1)
            found.append(x.item())
        return found


def main():
    torch.set_num_threads(2)
    task = Text.of(embedded_text(), length=LENGTH)
    config = Config(cell="lstm", units=UNITS, batch=BATCH, length=LENGTH)
    network = build_network(config, task)
    learner = build_learner(config, task)
    advance = compiled_step(network, learner, seed=0)
    arrays = eqx.filter(network, eqx.is_array)
    memory, state = learner.initial(network), network.initial((BATCH,))
    theirs = Torch(task.inputs)
    position = 0

    def ours():
        nonlocal arrays, memory, state, position
        batch = task.batch(position, BATCH)
        sequences = Batch(batch.inputs, batch.targets, batch.weights)
        arrays, memory, state, report = advance(
            arrays, memory, state, sequences, np.int32(position)
        )
        position += 1
        return float(report["loss"])

    mine = seconds(ours)
    torch_time = seconds(lambda: theirs.step(task.batch(position, BATCH)))
    pipeline = seconds(lambda: task.batch(position, BATCH), 200)

    def draw():
        pieces = sample(network, np.zeros(1, np.int32), CHARACTERS, key=jax.random.key(0))
        return sum(len(piece) for piece in pieces)

    mine_sampling = CHARACTERS / seconds(draw, 5)
    torch_sampling = CHARACTERS / seconds(lambda: theirs.sample(CHARACTERS), 5)
    rate = BATCH * LENGTH
    rows = [
        ["training, characters/s", *_row(rate / torch_time, rate / mine)],
        ["sampling, characters/s", *_row(torch_sampling, mine_sampling)],
    ]
    publish(
        "Training and sampling on the CPU",
        f"LSTM of {UNITS} units, batches of {BATCH} × {LENGTH} characters, Adam, two threads "
        "each:\n\n"
        + table(["", "PyTorch loop", "Ostinato", "times as fast"], rows)
        + f"\n\nInput pipeline: {pipeline / mine:.2%} of a training step.",
    )


def _row(theirs, ours):
    return [f"{theirs:,.0f}", f"{ours:,.0f}", f"**{ours / theirs:.2f}**"]


if __name__ == "__main__":
    main()
