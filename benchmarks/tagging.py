"""Parts of speech of UD English EWT: accuracy, and training speed against PyTorch.

    python benchmarks/tagging.py                  both
    python benchmarks/tagging.py accuracy --seconds 600
    python benchmarks/tagging.py speed

A bidirectional LSTM over the words, on vectors of words and the final states of a bidirectional
LSTM over their characters; no pretrained vectors. Accuracy is on the words of the test set, with
the checkpoint that was best on the validation set.

Speed: sentences per second in training, on the same batches of 32 sentences of similar lengths,
with Adam, dropout and clipped gradients; two threads each. The PyTorch side is the loop that a
person would write: `nn.LSTM` on packed sequences, which reads each distinct word of a batch once.
Its batches are made beforehand, ours within the measured time. Compiling is not counted.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "2")

import argparse
import tempfile
import time

import jax
import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from measure import machine, table
from ostinato.data import find_data
from ostinato.runs import Config, evaluate_network, train
from ostinato.runs.build import build_task
from steps import Steps

BATCH, LETTER, SPELLING, EMBEDDING = 32, 32, 50, 100
FILES = {
    name: f"ud_ewt/en_ewt-ud-{end}"
    for name, end in (("file", "train.conllu.gz"), ("valid", "dev.conllu"), ("test", "test.conllu"))
}
SPEED = {"units": 128, "layers": 1, "dropout": 0.4, "spelling": SPELLING, "embedding": EMBEDDING}
NETWORK = {
    "units": 256,
    "layers": 2,
    "dropout": 0.5,
    "spelling": 100,
    "embedding": 128,
    "unknown": 1.0,  # half of the words that occur once are unknown in each epoch
}
LEARNER = {"learner": "adam", "rate": 0.002, "schedule": "cosine", "warmup": 100}


def config(**more):
    files = {name: str(find_data(path)) for name, path in FILES.items()}
    return Config(task="tag", cell="lstm", **files, **LEARNER, batch=BATCH, **more)


class Torch(nn.Module):
    """The same network."""

    def __init__(self, task, units, layers, rate):
        super().__init__()
        both = {"bidirectional": True}
        self.words = nn.Embedding(task.inputs, EMBEDDING)
        self.letters = nn.Embedding(task.model["letters"], LETTER)
        self.spelling = nn.LSTM(LETTER, SPELLING, **both)
        size = EMBEDDING + 2 * SPELLING
        self.layers = nn.LSTM(size, units, layers, dropout=rate if layers > 1 else 0.0, **both)
        self.before, self.after = nn.Dropout(rate), nn.Dropout(rate)
        self.out = nn.Linear(2 * units, task.outputs)
        self.adam = torch.optim.Adam(self.parameters(), lr=LEARNER["rate"])

    def step(self, words, which, letters, sizes, lengths, targets):
        packed = pack_padded_sequence(self.letters(letters), sizes, enforce_sorted=False)
        _, (h, _) = self.spelling(packed)
        spelled = torch.cat([h[0], h[1]], dim=-1)[which]
        x = self.before(torch.cat([self.words(words), spelled], dim=-1))
        packed = pack_padded_sequence(x, lengths, enforce_sorted=False)
        ys, _ = pad_packed_sequence(self.layers(packed)[0])
        logits = self.out(self.after(ys))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)
        self.adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters(), 1.0)
        self.adam.step()
        return loss.item()


def for_torch(batch):
    """A batch with each distinct word once, and nothing padded further than needed."""
    inputs, steps = batch.inputs, int(batch.lengths.max())
    rows = inputs.letters.shape[2]
    letters = inputs.letters[:, 0]
    first, index, which = np.unique(inputs.first, return_index=True, return_inverse=True)
    sizes = (inputs.last.ravel()[index] - first) // rows + 1
    spelled = np.zeros((sizes.max(), len(first)), np.int64)
    for n, (place, size) in enumerate(zip(first, sizes, strict=True)):
        spelled[:size, n] = letters[place // rows : place // rows + size, place % rows]
    targets = np.where(batch.counted > 0, batch.targets, -1)[:steps]
    which = which.reshape(inputs.first.shape)[:steps]
    found = inputs.words[:steps], which, spelled, sizes, batch.lengths, targets
    return [torch.from_numpy(np.ascontiguousarray(x, np.int64)) for x in found]


def speed(rounds):
    torch.set_num_threads(2)
    made = config(**SPEED)
    task = build_task(made)
    ours, theirs = Steps(made, task), Torch(task, SPEED["units"], SPEED["layers"], 0.4)
    indices = np.linspace(0, 391, 49).astype(int).tolist()  # of an epoch, so of all lengths
    batches = [for_torch(task.batch(index, BATCH)) for index in indices]
    shapes = {task.batch(index, BATCH).inputs.letters.shape for index in indices}
    started = time.perf_counter()
    for index in indices:
        jax.block_until_ready(ours.step(index))
    compiling = time.perf_counter() - started
    [theirs.step(*batch) for batch in batches[:5]]
    times = {"Ostinato": [], "PyTorch": []}
    for _ in range(rounds):
        started = time.perf_counter()
        for index in indices:
            loss = ours.step(index)
        jax.block_until_ready(loss)
        times["Ostinato"].append(time.perf_counter() - started)
        started = time.perf_counter()
        for batch in batches:
            theirs.step(*batch)
        times["PyTorch"].append(time.perf_counter() - started)
    mine, other = (BATCH * len(indices) / np.median(times[name]) for name in times)
    counts = ours.parameters, sum(x.numel() for x in theirs.parameters())
    print(
        table(
            ["training, 1 layer of 2 × 128 units", "parameters", "sentences/s", "times as fast"],
            [
                ["PyTorch, packed sequences", f"{counts[1]:,}", f"{other:,.0f}", ""],
                ["Ostinato", f"{counts[0]:,}", f"{mine:,.0f}", f"**{mine / other:.2f}**"],
            ],
        )
        + f"\n\nMedians of {rounds} rounds over {len(indices)} batches of an epoch. The first "
        f"round of Ostinato took {compiling:.0f} s: it compiles {len(shapes)} shapes.\n"
    )


def accuracy(seconds, seed):
    made = config(seed=seed, **NETWORK)
    task = build_task(made)
    trainer = Steps(made, task)
    per_epoch = round(1 / task.epochs(1, BATCH))
    for index in range(per_epoch):  # compiles every shape
        trainer.step(index)
    started = time.perf_counter()
    for index in range(200):
        loss = trainer.step(index)
    jax.block_until_ready(loss)
    steps = int(seconds * 200 / (time.perf_counter() - started))
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        run = train(made.replace(steps=steps, validate_every=per_epoch), f"{folder}/tag", task=task)
        minutes = (time.perf_counter() - started) / 60
        network = run.network()
        valid, test = (evaluate_network(network, task, part) for part in ("valid", "test"))
    common = task.baselines()["most frequent tag"]
    row = [f"{trainer.parameters:,}", f"{steps / per_epoch:.1f}", f"{minutes:.1f}", seed]
    print(
        table(
            ["parameters", "epochs", "minutes", "seed", "UPOS, validation", "UPOS, test"],
            [[*row, f"{valid:.2%}", f"**{test:.2%}**"]],
        )
        + f"\n\nThe most frequent tag of each word: {common:.2%} (validation). "
        f"{NETWORK} {LEARNER}\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", choices=["accuracy", "speed", []])
    parser.add_argument("--seconds", type=float, default=600, help="of training, for accuracy")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=5, help="for speed")
    given = parser.parse_args()
    print(f"## Tagging UD English EWT\n{machine()}\n", flush=True)
    if "speed" in (given.what or ["speed"]):
        speed(given.rounds)
    if "accuracy" in (given.what or ["accuracy"]):
        accuracy(given.seconds, given.seed)


if __name__ == "__main__":
    main()
