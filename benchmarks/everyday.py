"""The defaults of one command against simple methods, on small public data sets.

    pip install '.[bench,sklearn]' aeon
    python benchmarks/everyday.py classes
    python benchmarks/everyday.py classes --only GunPoint --seeds 2

`classes` trains on labelled series that ship with aeon, with their official division into training
and test, and compares the accuracy on the test part with

    nearest neighbour    the label of the nearest training series (padded with zeros)
    MiniRocket           its features and a ridge classifier
    torch GRU            30 lines: 64 units, the last state, Adam, 200 epochs

The default of Ostinato is `train(Config(task="arrays"), ..., task=Arrays(xs, ys, split=...))`,
which is what `ostinato train data.npz` does. Random methods are the mean of the seeds. Processor
seconds cover training, testing and compilation.
"""

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from measure import publish, table

SETS = (
    *("ACSF1", "ArrowHead", "BasicMotions", "GunPoint", "ItalyPowerDemand"),
    *("JapaneseVowels", "OSULeaf", "PickupGestureWiimoteZ", "UnitTest"),
)


def labelled(name):
    """Training and test series `(T, channels)` of a set, and their labels."""
    from aeon.datasets import load_classification

    parts = []
    for part in ("train", "test"):
        xs, ys = load_classification(name, split=part)
        parts += [[np.nan_to_num(np.asarray(x, float).T) for x in xs], np.asarray(ys)]
    return parts


def padded(series, steps):
    """Series as one array `(N, channels, steps)`, with zeros after their ends."""
    whole = np.zeros((len(series), series[0].shape[1], steps))
    for row, x in zip(whole, series, strict=True):
        row[:, : len(x)] = x.T
    return whole


def default(train, labels, test, truth, seed):
    from ostinato import Config
    from ostinato import train as fit
    from ostinato.tasks import Arrays

    begin = len(train)
    split = {"train": np.arange(begin), "test": begin + np.arange(len(test))}
    task = Arrays(train + test, np.concatenate([labels, truth]), split=split)
    with tempfile.TemporaryDirectory() as folder:
        config = Config(task="arrays", seed=seed)
        run = fit(config, Path(folder) / "run", task=task)
        return run.evaluate("test")["accuracy"]


def nearest(train, labels, test, truth, seed):
    steps = max(map(len, train + test))
    a, b = padded(train, steps).reshape(len(train), -1), padded(test, steps).reshape(len(test), -1)
    found = [labels[np.argmin(((a - row) ** 2).sum(axis=1))] for row in b]
    return np.mean(np.array(found) == truth)


def minirocket(train, labels, test, truth, seed):
    from aeon.transformations.collection.convolution_based import MiniRocket
    from sklearn.linear_model import RidgeClassifierCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    steps = max(map(len, train + test))
    model = make_pipeline(
        MiniRocket(random_state=seed),
        StandardScaler(with_mean=False),
        RidgeClassifierCV(alphas=np.logspace(-3, 3, 10)),
    )
    model.fit(padded(train, steps), labels)
    return np.mean(model.predict(padded(test, steps)) == truth)


def torch_gru(train, labels, test, truth, seed):
    import torch
    from torch.nn.utils.rnn import pack_sequence

    torch.manual_seed(seed)
    mean, deviation = np.concatenate(train).mean(0), np.concatenate(train).std(0) + 1e-9

    def packed(series):
        scaled = [torch.tensor((x - mean) / deviation, dtype=torch.float32) for x in series]
        return pack_sequence(scaled, enforce_sorted=False)

    names, ys = np.unique(labels, return_inverse=True)
    ys, gru = torch.tensor(ys), torch.nn.GRU(train[0].shape[1], 64)
    readout = torch.nn.Linear(64, len(names))
    learner = torch.optim.Adam([*gru.parameters(), *readout.parameters()], 0.005)
    for _ in range(200):
        for some in torch.randperm(len(train)).split(32):
            learner.zero_grad()
            outputs = readout(gru(packed([train[n] for n in some]))[1][0])
            torch.nn.functional.cross_entropy(outputs, ys[some]).backward()
            torch.nn.utils.clip_grad_norm_(gru.parameters(), 1.0)
            learner.step()
    with torch.no_grad():
        found = readout(gru(packed(test))[1][0]).argmax(1).numpy()
    return np.mean(names[found] == truth)


METHODS = {
    "Ostinato": (default, True),
    "nearest neighbour": (nearest, False),
    "MiniRocket": (minirocket, True),
    "torch GRU": (torch_gru, True),
}


def classes(names, seeds, left_out):
    rows, means = [], {}
    for name in names:
        parts, row = labelled(name), {}
        for method, (score, random) in METHODS.items():
            if method in left_out:
                continue
            begun = time.process_time()
            scores = [score(*parts, seed) for seed in range(seeds if random else 1)]
            took = (time.process_time() - begun) / len(scores)
            row[method] = float(np.mean(scores)), took
            means.setdefault(method, []).append(row[method][0])
            print(name, method, f"{row[method][0]:.3f} {took:.1f} s", flush=True)
        best = max(score for score, _ in row.values())
        own, took = row["Ostinato"]
        behind = "" if own >= best - 1e-9 else f"{own - best:.3f}"
        shown = [f"{score:.3f}" for score, _ in row.values()]
        rows.append([f"{name} ({len(parts[0])})", *shown, behind, f"{took:.0f}"])
    whole = [float(np.mean(scores)) for scores in means.values()]
    behind = f"{min(0, whole[0] - max(whole)):.3f}"
    rows.append(["mean", *(f"{mean:.3f}" for mean in whole), behind, ""])
    return [["set (training series)", *means, "behind the best", "processor s"], *rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["classes"])
    parser.add_argument("--only", nargs="+", default=SETS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--leave-out", nargs="+", default=[])
    parser.add_argument("--dry", action="store_true", help="print the table, and keep nothing")
    asked = parser.parse_args()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    warnings.simplefilter("ignore")
    head, *rows = classes(asked.only, asked.seeds, asked.leave_out)
    words = (
        f"Accuracy on the official test part, mean over {asked.seeds} seed(s). Negative "
        "numbers say how far the default is behind the best method."
    )
    text = f"{words}\n\n{table(head, rows)}"
    if asked.dry:
        print(text)
    else:
        publish("Labelled series with default settings", text)


main()
