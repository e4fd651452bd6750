"""The numbers that an evaluation prints, computed a second time: float64, plain loops, raw data.

Nothing is shared with the library but the weights of a small network or, for networks that are too
long to write down here, its outputs. Each case is a kind of task on a kind of data: plain, ragged
(sequences of different lengths), masked (values are missing), badly scaled (far from zero, tiny,
huge) or empty.
"""

import collections
import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sacrebleu
import scipy.io

from ostinato.cells import Simple
from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.runs.analysis.evaluation import evaluate_network, measured
from ostinato.tasks import (
    NARMA10,
    TASKS,
    Arrays,
    BouncingBalls,
    Captions,
    Classify,
    Handwriting,
    MackeyGlass,
    MemoryCapacity,
    NTMCopy,
    Recall,
    Series,
    Tagging,
    Task,
    Text,
)
from ostinato.tasks.metrics import counted, values_of
from ostinato.tasks.pairs import captions
from ostinato.tasks.pairs.write_answers import Answer, PairCode
from ostinato.wiring import Network, OneHot, Readout, outputs_of

UNITS = 3
Numbers = dict[str, tuple[float | None, float | None]]  # printed and recomputed
CASES: dict[str, Callable[[Path], Numbers]] = {}


def case(*data: Any) -> Callable:
    """Register a function of a folder, or of a folder and a kind of data for each of `data`."""

    def register(f: Callable) -> Callable:
        if not data:
            CASES[f.__name__] = f
        for kind in data:
            CASES[f"{f.__name__}, {kind}"] = lambda folder, kind=kind: f(folder, kind)
        return f

    return register


# A network, and the same in NumPy


def network(task: Task, bias: Any = 0.0) -> Network:
    def unfilled():
        key = jax.random.key(0)
        encoding = OneHot(task.inputs) if task.symbolic else None
        cell, readout = Simple(task.inputs, UNITS, key=key), Readout(UNITS, task.outputs, key=key)
        return Network(cell, readout, encoding)

    draw = np.random.default_rng(0)
    made = eqx.filter_eval_shape(unfilled)
    made = jax.tree.map(lambda x: draw.normal(0, 1 / np.sqrt(UNITS), x.shape), made)
    made = eqx.tree_at(lambda n: n.readout.b, made, np.zeros(task.outputs) + bias)
    return jax.tree.map(lambda x: jnp.asarray(x.astype(np.float32)), made)


def run(made: Network, xs: Any, state: Any = None) -> np.ndarray:
    """The outputs `(T, outputs)` for one sequence of vectors or symbols."""
    W, R, b, V, c = (
        np.asarray(x, float)
        for x in (made.cell.W, made.cell.R, made.cell.b, made.readout.V, made.readout.b)
    )
    h, found = np.zeros(UNITS) if state is None else state, []
    for x in xs:
        u = W[int(x)] if np.ndim(x) == 0 else np.asarray(x, float) @ W
        h = np.tanh(u + b + h @ R)
        found.append(h @ V + c)
    return np.array(found)


def printed(made: Network, task: Task, part: str = "valid") -> dict[str, float | None]:
    values = measured(made, task.evaluated(part), task.metrics)
    return {metric.name: value for metric, value in zip(task.metrics, values, strict=True)}


def beside(found: dict, expected: dict) -> Numbers:
    """Both, name by name; whatever is printed must be recomputed."""
    assert found.keys() == expected.keys()
    return {name: (found[name], expected[name]) for name in found}


def nats(output: np.ndarray, target: int) -> float:
    return math.log(sum(math.exp(x - max(output)) for x in output)) + max(output) - output[target]


def binary_nats(output: np.ndarray, target: np.ndarray) -> float:
    """Of independent bits."""
    p = 1 / (1 + np.exp(-output))
    return float(-np.sum(target * np.log(p) + (1 - target) * np.log(1 - p)))


# Texts


def kneser_ney(train: list, test: list, symbols: int, order: int) -> float:
    """Bits per symbol, modified Kneser-Ney with dictionaries."""
    tables = []
    for k in range(order + 1):
        grams = [tuple(train[i - k : i + 1]) for i in range(k, len(train))]
        if k < order:
            longer = {tuple(train[i - k - 1 : i + 1]) for i in range(k + 1, len(train))}
            grams = [gram[1:] for gram in longer]
        count = collections.Counter(grams)
        after = collections.defaultdict(dict)
        for (*context, symbol), c in count.items():
            after[tuple(context)][symbol] = c
        n = [sum(c == i for c in count.values()) for i in range(5)]
        d = [0, 0.5, 1.0, 1.5]
        if all(n[1:]):
            y = n[1] / (n[1] + 2 * n[2])
            d = [0, *(min(max(i - (i + 1) * y * n[i + 1] / n[i], 0.1), i) for i in (1, 2, 3))]
        tables.append((after, d))
    bits = 0.0
    for place, symbol in enumerate(test):
        p = 1 / symbols
        for k in range(min(order, place) + 1):
            after, d = tables[k]
            here = after.get(tuple(test[place - k : place]))
            if here is None:
                break
            taken = {s: d[min(c, 3)] for s, c in here.items()}
            own = here.get(symbol, 0) - taken.get(symbol, 0)
            p = (own + sum(taken.values()) * p) / sum(here.values())
        bits -= math.log2(p)
    return bits / len(test)


@case("plain", "ragged", "bytes")
def text(folder: Path, kind: str) -> Numbers:
    words = "the cat sat on the mat and the rat ran after it; "
    raw = (words * 12)[: 500 if kind == "plain" else 487]
    if kind == "bytes":
        raw = raw.replace("cat", "Kätzchen")
    (folder / "text").write_text(raw, encoding="utf-8")
    settings = Text.Settings(
        file=str(folder / "text"),
        level="bytes" if kind == "bytes" else "characters",
        split="60/30/10",
    )
    task = Text.from_settings(settings, 0)
    symbols = list(raw.encode() if kind == "bytes" else raw)
    known = [*range(256)] if kind == "bytes" else sorted(set(symbols))
    symbols = [known.index(x) for x in symbols]
    first, second = round(0.6 * len(symbols)), round(0.9 * len(symbols))
    train, valid = symbols[:first], symbols[first:second]
    made = network(task)
    outputs = run(made, valid[:-1])
    total = sum(nats(o, y) for o, y in zip(outputs, valid[1:], strict=True)) / math.log(2)
    bits = total / (len(valid) - 1)
    shares = [train.count(x) / len(train) for x in set(train)]
    unit = "byte" if kind == "bytes" else "character"
    numbers = beside(
        printed(made, task), {f"bits per {unit}": bits, f"perplexity per {unit}": 2**bits}
    )
    return numbers | beside(
        task.baselines(),
        {
            "chance": -sum(x * math.log2(x) for x in shares),
            "bigram": kneser_ney(train, valid, len(known), 1),
            "order 5": kneser_ney(train, valid, len(known), 5),
        },
    )


# Labelled sequences


def drawn(kind: str, outputs: int) -> tuple[list, list]:
    """Sequences and numbers for each of their steps."""
    draw = np.random.default_rng(len(kind))
    sizes = draw.integers(2, 8, 16) if kind in ("ragged", "masked") else np.full(16, 7)
    xs = [draw.normal(size=(n, 2)) for n in sizes]
    ys = [draw.normal(size=(n, outputs)) + x[:, :1] for n, x in zip(sizes, xs, strict=True)]
    if kind == "masked":
        for x, y in zip(xs, ys, strict=True):
            x[draw.random(x.shape) < 0.2] = np.nan
            y[draw.random(y.shape) < 0.2] = np.nan
    centre, size = {"far": (101325, 10), "tiny": (0, 1e-25), "huge": (0, 1e20)}.get(kind, (0, 1))
    return xs, [centre + size * y for y in ys]


def scaling(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and deviation of each column, and which columns have gaps."""
    columns = [column[~np.isnan(column)] for column in rows.T]
    means = np.array([sum(x) / len(x) for x in columns])
    squares = [sum((x - m) ** 2) / len(x) for x, m in zip(columns, means, strict=True)]
    return means, np.sqrt(squares), np.flatnonzero(np.isnan(rows).any(axis=0))


def scaled(x: np.ndarray, means: Any, deviations: Any, gaps: Any) -> np.ndarray:
    filled = np.where(np.isnan(x), means, x)
    return np.concatenate([(filled - means) / deviations, np.isnan(x)[:, gaps]], axis=1)


def regression(said: np.ndarray, right: np.ndarray) -> dict[str, float | None]:
    """Of rows in the units of the data; a row with a gap does not count."""
    pairs = [(s, r) for s, r in zip(said, right, strict=True) if not np.isnan(r).any()]
    errors = np.array([s - r for s, r in pairs])
    targets = np.array([r for _, r in pairs])
    spread = ((targets - targets.mean(axis=0)) ** 2).sum(axis=0)
    return {
        "mean squared error": float((errors**2).mean()),
        "mean absolute error": float(np.abs(errors).mean()),
        "R²": float(np.mean(1 - (errors**2).sum(axis=0) / spread)),
    }


@case("plain", "ragged", "masked", "far", "tiny", "huge", "tiny, not scaled")
def arrays_of_numbers(folder: Path, kind: str) -> Numbers:
    data, scale = kind.split(",")[0], kind not in ("far", "tiny, not scaled")
    xs, ys = drawn(data, 2)
    if not scale and data == "tiny":
        ys = [1e10 * y for y in ys]  # 1e-15: float32 holds its square, but not that of 1e-25
    split = {"train": range(8), "valid": range(8, 16)}
    task = Arrays(xs, ys, split=split, scale=scale, missing="mask", per_step=True)
    means, deviations, gaps = scaling(np.concatenate(xs[:8]))
    complete = np.concatenate(ys[:8])
    complete = complete[~np.isnan(complete).any(axis=1)]
    shift, factor, _ = scaling(complete)
    if not scale:
        means = shift = np.zeros(2)
        deviations = factor = np.ones(2)
    made = network(task, bias=101325 if data == "far" else 0.0)
    rows = [factor * run(made, scaled(x, means, deviations, gaps)) + shift for x in xs[8:]]
    numbers = beside(printed(made, task), regression(np.concatenate(rows), np.concatenate(ys[8:])))
    variance = sum(((complete - complete.mean(axis=0)) ** 2).mean(axis=0)) / 2
    batch = task.batch(0, 8)
    outputs, _ = outputs_of(made, batch)
    loss = 0.5 * sum(
        float(np.sum((np.asarray(o, float) - y) ** 2))
        for o, y, w in zip(
            np.asarray(outputs).reshape(-1, 2),
            np.asarray(batch.targets, float).reshape(-1, 2),
            np.ravel(batch.weights),
            strict=True,
        )
        if w
    )
    numbers["loss"] = (
        float(jax.jit(task.loss)(outputs, batch.arrays)),
        loss / np.count_nonzero(batch.weights),
    )
    return numbers | {"chance": (task.chance, variance)}


@case("plain", "ragged", "masked", "far")
def arrays_of_classes(folder: Path, kind: str) -> Numbers:
    xs, ys = drawn("plain" if kind == "far" else kind, 1)
    labels = [float(np.nan_to_num(y[0, 0]) > 0.2) + float(y.shape[0] % 2) for y in ys]
    labels = [0.0, 1.0, 2.0, *labels[3:]]
    if kind == "masked":
        labels[4] = labels[11] = np.nan
    if kind == "far":
        xs = [1e6 + 100 * x for x in xs]
    split = {"train": range(8), "valid": range(8, 16)}
    task = Arrays(xs, np.array(labels), split=split, kind="classification", missing="mask")
    means, deviations, gaps = scaling(np.concatenate(xs[:8]))
    made = network(task)
    said, right = [], []
    for x, label in zip(xs[8:], labels[8:], strict=True):
        if not np.isnan(label):
            said.append(int(np.argmax(run(made, scaled(x, means, deviations, gaps))[-1])))
            right.append(int(label))
    scores = []
    for k in {*said, *right}:
        both = sum(s == r == k for s, r in zip(said, right, strict=True))
        scores.append(2 * both / (said.count(k) + right.count(k)))
    expected = {
        "accuracy": sum(s == r for s, r in zip(said, right, strict=True)) / len(right),
        "F1": sum(scores) / len(scores),
    }
    known = [x for x in labels[:8] if not np.isnan(x)]
    numbers = beside(printed(made, task), expected)
    return numbers | {"chance": (task.chance, max(map(known.count, known)) / len(known))}


# Series


def wave(kind: str) -> np.ndarray:
    """100 steps of two columns."""
    draw, time = np.random.default_rng(1), np.arange(100)[:, None]
    found = np.sin(time / np.array([3, 5])) + 0.3 * draw.normal(size=(100, 2))
    if kind == "masked":
        found[draw.random(found.shape) < 0.1] = np.nan
    return {"far": 101325 + 10 * found, "tiny": 1e-25 * found, "huge": 1e20 * found}.get(
        kind, found
    )


def known_so_far(x: np.ndarray, means: np.ndarray) -> np.ndarray:
    """The last value of each column that is known at each step, or else the mean."""
    last, rows = means.copy(), []
    for row in x:
        last = np.where(np.isnan(row), last, row)
        rows.append(last)
    return np.array(rows)


@case("plain", "ragged", "masked", "far", "tiny", "huge")
def forecasts(folder: Path, kind: str) -> Numbers:
    x, season, horizon, washout = wave(kind), 6, 2, 3 if kind == "plain" else 0
    each = [x, x[:80] + 0.5] if kind == "ragged" else [x]
    given = {"horizon": horizon, "season": season, "split": (0.5, 0.3, 0.2), "missing": "mask"}
    task = Series(each, scale=kind != "far", washout=washout, **given)
    train = np.concatenate([x[: len(x) // 2] for x in each])
    fit = means, _, gaps = scaling(train)
    if kind == "far":
        fit = np.zeros(2), np.ones(2), gaps
    shift, factor = (np.tile(part, horizon) for part in fit[:2])
    made = network(task, bias=101325 if kind == "far" else 0.0)
    said, right, naive = [], [], {"persistence": [], "seasonal naive": []}
    for x in each:
        begin, end = len(x) // 2, round(0.8 * len(x))
        outputs = run(made, scaled(x[begin : end - horizon], *fit))
        known = known_so_far(x, means)
        for t in range(begin + washout, end - horizon):
            said.append(factor * outputs[t - begin] + shift)
            right.append(np.concatenate([x[t + 1], x[t + 2]]))
            naive["persistence"].append(np.tile(known[t], 2))
            naive["seasonal naive"].append(np.concatenate([known[t - 5], known[t - 4]]))
    right = np.array(right)
    first = {name: regression(rows, right)["mean squared error"] for name, rows in naive.items()}
    later = [
        np.concatenate([x[t + 1], x[t + 2]]) for x in each for t in range(len(x) // 2 - horizon)
    ]
    later = np.array([row for row in later if not np.isnan(row).any()])
    chance = float(np.mean([np.mean((c - np.mean(c)) ** 2) for c in later.T]))
    numbers = beside(printed(made, task), regression(said, right))
    return numbers | beside(task.baselines(), {"chance": chance, **first})


@case("plain", "masked", "far")
def quantiles(folder: Path, kind: str) -> Numbers:
    x, levels = wave(kind), (0.1, 0.5, 0.8)
    task = Series(
        x, targets=[0], quantiles=levels, split=(0.5, 0.3, 0.2), missing="mask", scale=kind != "far"
    )
    fit = means, _, gaps = scaling(x[:50])
    if kind == "far":
        fit = np.zeros(2), np.ones(2), gaps
    bias = np.array([-1.0, 0.5, 0.2]) + (101325 if kind == "far" else 0.0)
    made = network(task, bias=bias)
    outputs = fit[1][0] * run(made, scaled(x[50:79], *fit)) + fit[0][0]
    known = known_so_far(x, means)[:, 0]

    def score(rows: Any, right: Any) -> float:
        found = [
            max(q * (y - o), (q - 1) * (y - o))
            for row, y in zip(rows, right, strict=True)
            for o, q in zip(row, levels, strict=True)
            if not np.isnan(y)
        ]
        return sum(found) / len(found)

    right = x[51:80, 0]
    pairs = [(sorted(o), y) for o, y in zip(outputs, right, strict=True) if not np.isnan(y)]
    train = x[1:50, 0]
    wrong = np.quantile([y - k for y, k in zip(train, known[:49], strict=True) if y == y], levels)
    constant = np.quantile(train[~np.isnan(train)], levels)
    return beside(
        printed(made, task),
        {
            "pinball loss": score(outputs, right),
            "coverage of the 0.7 interval": np.mean([o[0] <= y <= o[2] for o, y in pairs]),
            "mean absolute error": np.mean([abs(o[1] - y) for o, y in pairs]),
        },
    ) | beside(
        task.baselines(),
        {
            "chance": score([constant] * 49, train),
            "persistence": score([k + wrong for k in known[50:79]], right),
        },
    )


# Generated tasks: what they measure on the batches that they make


def held_out(task: Task) -> list[tuple[np.ndarray, ...]]:
    """Inputs, targets and weights of each held-out sequence, without padding."""
    found = []
    for batch in task.held_out("valid", 100_000):
        for n in range(batch.sequences):
            steps = batch.steps if batch.lengths is None else int(batch.lengths[n])
            targets = np.asarray(batch.targets)[:, n]
            found.append((np.asarray(batch.inputs)[:steps, n], targets, batch.weights[:, n]))
    return found


def nrmse(said: np.ndarray, right: np.ndarray) -> float:
    return math.sqrt(1 - regression(said, right)["R²"])


@case()
def mackey_glass(folder: Path) -> Numbers:
    task = MackeyGlass(samples=400, washout=10, length=20)
    made = network(task)
    (x,) = task.series
    mean, deviation, _ = scaling(x[:240])
    outputs = run(made, (x[240:319] - mean) / deviation)[10:] * deviation + mean
    expected = regression(outputs, x[251:320])
    expected = {"NRMSE": nrmse(outputs, x[251:320]), **expected}
    last = np.mean((x[250:319] - x[251:320]) ** 2) / np.var(x[251:320])
    baselines = {"chance": 1.0, "persistence": math.sqrt(last)}
    return beside(printed(made, task), expected) | beside(task.baselines(), baselines)


@case()
def narma(folder: Path) -> Numbers:
    task = NARMA10(samples=400, washout=50, length=20)
    made = network(task)
    u = task.series[0]
    y = np.concatenate([task.parts[part].targets for part in ("train", "valid", "test")])
    scaler = task.answers.scaler
    y = y.astype(float) * scaler.factor[0] + scaler.shift[0]
    mean, deviation, _ = scaling(u[:240])
    center, factor, _ = scaling(y[:240])
    outputs = run(made, (u[240:320] - mean) / deviation)[50:] * factor + center
    rows = {
        part: np.array([[*np.pad(v, (39, 0))[t : t + 40], 1] for t in range(50, len(v))])
        for part, v in (
            ("train", ((u[:240] - mean) / deviation)[:, 0]),
            ("valid", ((u[240:320] - mean) / deviation)[:, 0]),
        )
    }
    weights, *_ = np.linalg.lstsq(rows["train"], y[50:240], rcond=None)
    line = nrmse(rows["valid"] @ weights, y[290:320])
    expected = {"NRMSE": nrmse(outputs, y[290:320]), **regression(outputs, y[290:320])}
    return beside(printed(made, task), expected) | beside(
        task.baselines(), {"chance": 1.0, "delay line": line}
    )


@case("plain", "far")
def memory_capacity(folder: Path, kind: str) -> Numbers:
    task = MemoryCapacity(samples=300, delays=3, washout=10, length=20)
    made = network(task, bias=1e3 if kind == "far" else 0.0)
    u = task.series[0][:, 0]
    mean, deviation = u[:180].mean(), u[:180].std()
    outputs = run(made, (u[180:240, None] - mean) / deviation)[10:]
    past = np.array([[u[t - k] for k in (1, 2, 3)] for t in range(190, 240)])
    found = printed(made, task)
    together = [np.corrcoef(outputs[:, k], past[:, k])[0, 1] ** 2 for k in range(3)]
    return {"memory capacity": (found["memory capacity"], sum(together))}


@case()
def ntm_copy(folder: Path) -> Numbers:
    task = NTMCopy(bits=3, min_items=1, max_items=4)
    made, bits, wrong, steps = network(task), 0.0, 0.0, 0
    sequences = held_out(task)
    for xs, targets, weights in sequences:
        for output, target, weight in zip(run(made, xs), targets, weights, strict=False):
            if weight:
                bits += binary_nats(output, target) / math.log(2)
                wrong += sum((o > 0) != (y > 0.5) for o, y in zip(output, target, strict=True)) / 3
                steps += 1
    expected = {"bits per sequence": bits / len(sequences), "share of wrong bits": wrong / steps}
    return beside(printed(made, task), expected)


@case()
def recall(folder: Path) -> Numbers:
    patterns = 2 * np.random.default_rng(0).integers(0, 2, (6, 4)) - 1
    task = Recall(patterns, noise=0.25, length=3)
    made, right = network(task), []
    for xs, targets, _ in held_out(task):
        right.append((run(made, xs)[-1] > 0) == (targets[-1] > 0))
    share = (patterns > 0).mean(axis=0)
    chance = np.mean([max(p, 1 - p) for p in share])
    expected = {"bits right": np.mean(right), "patterns right": np.mean([x.all() for x in right])}
    return beside(printed(made, task), expected) | {"chance": (task.chance, chance)}


@case()
def bouncing_balls(folder: Path) -> Numbers:
    task = BouncingBalls(length=4, pixels=3, balls=1)
    made, films = network(task), held_out(task)
    errors, entropies, again = [], [], []
    for xs, targets, _ in films:
        for output, target, before in zip(run(made, xs), targets, xs, strict=True):
            errors.append(sum((1 / (1 + np.exp(-output)) - target) ** 2))
            entropies.append(binary_nats(output, target.astype(float)))
            again.append(sum((before.astype(float) - target) ** 2))
    frames = np.concatenate([targets for _, targets, _ in films]).astype(float)
    constant = sum(((frames - frames.mean(axis=0)) ** 2).mean(axis=0))
    expected = {"squared error per frame": np.mean(errors), "nats per step": np.mean(entropies)}
    baselines = {"chance": constant, "the frame before": np.mean(again)}
    return beside(printed(made, task), expected) | beside(task.baselines(), baselines)


@case()
def chorales(folder: Path) -> Numbers:
    draw = np.random.default_rng(0)
    parts: dict[str, Any] = {}
    for part, sizes in (("train", (5, 9)), ("valid", (7, 4, 2)), ("test", (3,))):
        rolls = np.empty((1, len(sizes)), object)
        for n, size in enumerate(sizes):
            rolls[0, n] = (draw.random((size, 88)) < 0.1).astype(np.uint8)
        parts[f"{part}data"] = rolls
    (folder / "jsb").mkdir()
    scipy.io.savemat(folder / "jsb/JSB_Chorales.mat", parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OSTINATO_DATA", str(folder))
        task = TASKS["jsb"]()
    made, found = network(task), []
    for roll in parts["validdata"][0]:
        roll = roll.astype(float)
        found += [binary_nats(o, y) for o, y in zip(run(made, roll[:-1]), roll[1:], strict=True)]
    share = np.concatenate([roll[1:] for roll in parts["traindata"][0]]).astype(float).mean(axis=0)
    share = share[share > 0]
    chance = float(-np.sum(share * np.log(share) + (1 - share) * np.log(1 - share)))
    return beside(printed(made, task), {"nats per step": np.mean(found)}) | {
        "chance": (task.chance, chance)
    }


def edits(one: list, other: list) -> int:
    row = [*range(len(other) + 1)]
    for i, a in enumerate(one, 1):
        above, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return row[-1]


def ctc(outputs: np.ndarray, labels: list) -> float:
    """-log p of a transcript, by the forward recursion over blanks and labels."""
    path = [0, *(x for label in labels for x in (label, 0))]
    p = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    alpha = [p[0][s] if n < 2 else 0.0 for n, s in enumerate(path)]
    for now in p[1:]:
        new = []
        for n, s in enumerate(path):
            reached = alpha[n] + (alpha[n - 1] if n else 0.0)
            if n > 1 and s and path[n - 2] != s:
                reached += alpha[n - 2]
            new.append(now[s] * reached)
        alpha = new
    return -math.log(alpha[-1] + alpha[-2])


@case()
def handwriting(folder: Path) -> Numbers:
    task = Handwriting(alphabet="01", characters=2, writers=2, length=12)
    made, wrong, count = network(task, bias=[0.3, 0, 0]), 0, 0
    for xs, targets, _ in held_out(task):
        best = [int(np.argmax(o)) for o in run(made, xs)]
        merged = [s for n, s in enumerate(best) if s and (n == 0 or best[n - 1] != s)]
        right = [int(x) for x in targets if x]
        wrong, count = wrong + edits(merged, right), count + len(right)
    batch = task.batch(0, 4)
    outputs, _ = outputs_of(made, batch)
    transcripts = [[int(x) for x in column if x] for column in batch.targets.T]
    loss = sum(
        ctc(run(made, np.asarray(batch.inputs)[: batch.lengths[n], n]), transcripts[n])
        for n in range(4)
    )
    numbers = beside(printed(made, task), {"label error rate": wrong / count})
    return numbers | {
        "loss": (
            float(jax.jit(task.loss)(outputs, batch.arrays)),
            loss / sum(map(len, transcripts)),
        ),
        "chance": (task.chance, sum(map(len, transcripts)) / sum(map(len, transcripts))),
    }


# Words: the outputs are a rule, so that they are the same whatever the order of the sentences


SURE = 3.0


def rule(symbols: list[int], outputs: int) -> list[int]:
    """What is predicted for some right symbols: mostly them, but every fifth is another."""
    return [
        (symbol + 1) % outputs if (symbol + 3 * place) % 5 == 4 else symbol
        for place, symbol in enumerate(symbols)
    ]


def by_rule(task: Task, part: str = "valid") -> dict[str, float | None]:
    """What is printed of a network that follows the rule."""
    counts = []
    for batch in task.evaluated(part):
        lengths = np.asarray(batch.lengths)
        outputs = np.zeros((*np.shape(batch.targets), task.outputs), np.float32)
        for n, size in enumerate(lengths):
            said = rule(np.asarray(batch.targets)[:size, n].tolist(), task.outputs)
            outputs[np.arange(size), n, said] = SURE
        counts.append(counted(task.metrics, jnp.asarray(outputs), batch))
    values = values_of(task.metrics, counts)
    return {metric.name: value for metric, value in zip(task.metrics, values, strict=True)}


def of_sentences(texts: list[str], known: list[str], ending: bool) -> dict[str, float]:
    """Exact match, accuracy and bits of the rule, from the words of the texts.

    Args:
        texts: as they are in the file.
        known: the words by symbol; `None` stands for what no word is.
        ending: whether an end is predicted too.
    """
    right = total = exact = bits = 0
    for text in texts:
        words = text.split() + ["\n"] * ending
        symbols = [known.index(w) if w in known else 1 for w in words]
        said = rule(symbols, len(known))
        good = [known[s] == w for s, w in zip(said, words, strict=True)]
        spread = math.log2(math.exp(SURE) + len(known) - 1)
        bits += sum(
            spread - SURE / math.log(2) * (s == y) for s, y in zip(said, symbols, strict=True)
        )
        right, total, exact = right + sum(good), total + len(words), exact + all(good)
    return {
        "exact match": exact / len(texts),
        "accuracy": right / total,
        "bits per symbol": bits / total,
    }


SENTENCES = {
    "train": ["the cat sat", "the dog ran", "a cat ran far", "a dog sat", "the cat ran"] * 3,
    "valid": ["the dog sat", "a cat sat", "the bird sang far", "a dog ran", "the cat", "a bird"],
    "test": ["the dog ran far", "the zebra ran"],
}


def vocabulary(texts: list[str], least: int) -> list[str]:
    counts = collections.Counter(word for text in texts for word in text.split())
    return ["\n", "⟨unknown⟩", *sorted(w for w, n in counts.items() if n >= least)]


def own_meteor(said: list[str], right: list[str]) -> float:
    """METEOR of texts that differ from the right ones in unknown words alone."""
    matched = chunks = written = wanted = 0
    for one, other in zip(said, right, strict=True):
        same = [a == b for a, b in zip(one.split(), other.split(), strict=True)]
        matched += sum(same)
        chunks += sum(now and not before for before, now in zip([False, *same], same, strict=False))
        written += len(same) + 2 * one.count("⟨")  # brackets are words of their own
        wanted += len(same)
    precision, recall = matched / written, matched / wanted
    mean = 10 * precision * recall / (recall + 9 * precision)
    return mean * (1 - 0.5 * (chunks / matched) ** 3)


def own_bleu(found: list[str], right: list[str], order: int = 4) -> float:
    """Corpus BLEU of texts of words without punctuation; zero counts are halved (`exp`)."""
    logs, halved = 0.0, 1.0
    for n in range(1, order + 1):
        same = total = 0
        for a, b in zip(found, right, strict=True):
            grams = [
                collections.Counter(tuple(x[i : i + n]) for i in range(len(x) - n + 1))
                for x in (a.split(), b.split())
            ]
            same += sum((grams[0] & grams[1]).values())
            total += sum(grams[0].values())
        if not same:
            halved *= 2
        logs += math.log(same / total if same else 1 / (halved * total)) / order
    one, two = (sum(len(x.split()) for x in texts) for texts in (found, right))
    return 100 * min(1.0, math.exp(1 - two / one)) * math.exp(logs)


def own_chrf(found: list[str], right: list[str]) -> float:
    """chrF2: the mean precision and recall of character n-grams up to 6, without spaces.

    As in sacrebleu, the n-grams of a text whose reference has none of that length do not count.
    """
    precisions, recalls = [], []
    for n in range(1, 7):
        same = one = two = 0
        for a, b in zip(found, right, strict=True):
            grams = [
                collections.Counter(x[i : i + n] for i in range(len(x) - n + 1))
                for x in (a.replace(" ", ""), b.replace(" ", ""))
            ]
            same += sum((grams[0] & grams[1]).values())
            one += sum(grams[0].values()) if grams[1] else 0
            two += sum(grams[1].values())
        precisions.append(same / one)
        recalls.append(same / two)
    p, r = np.mean(precisions), np.mean(recalls)
    return float(100 * 5 * p * r / (4 * p + r))


def answered(texts: list[str]) -> Any:
    """In place of what a network writes."""
    return lambda *args: ([Answer(text, 0.0, True, np.zeros(0, int))] for text in texts)


@case("plain", "unknown words", "another file")
def translation(folder: Path, kind: str) -> Numbers:
    given = {}
    for part, texts in SENTENCES.items():
        head = "" if part == "train" else f"{part}_"
        for side in ("source", "target"):
            given[f"{head}{side}"] = str(folder / f"{part}.{side}")
            (folder / f"{part}.{side}").write_text("\n".join(texts))
    least = 4 if kind == "unknown words" else 1
    settings = TASKS["translate"].Settings(**given, level="words", min_count=least)
    task = TASKS["translate"].from_settings(settings, 0)
    right = SENTENCES["valid"]
    if kind == "another file":
        right = [*SENTENCES["test"], *SENTENCES["train"][:3]]
        (folder / "other").write_text("\n".join(f"{text}\t{text}" for text in right))
        task = type(task).on_file(folder / "other", settings, task.artefacts())
    known = vocabulary(SENTENCES["train"], least)
    # What a network would write that has learned all it can: the words it knows, and ⟨unknown⟩.
    said = [" ".join(w if w in known else "⟨unknown⟩" for w in text.split()) for text in right]
    said[0] = f"{said[0]} far far"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PairCode, "written", answered(said))
        scores = {name.split(" (")[0]: x for name, x in task.scores(None, "valid").items()}
    expected = {
        "exact, beam of 5": sum(a == b for a, b in zip(said, right, strict=True)) / len(right),
        "BLEU": own_bleu(said, right),
        "chrF2": own_chrf(said, right),
    }
    assert expected["BLEU"] == pytest.approx(sacrebleu.corpus_bleu(said, [right]).score)
    assert expected["chrF2"] == pytest.approx(sacrebleu.corpus_chrf(said, [right]).score)
    numbers = beside(by_rule(task), of_sentences(right, known, True)) | beside(scores, expected)
    if kind == "plain":
        every = [*" \n ".join([*SENTENCES["train"], ""]).split(" ")]
        every = [word for word in every if word]
        shares = [every.count(word) / len(every) for word in set(every)]
        numbers["chance"] = task.chance, -sum(x * math.log2(x) for x in shares)
    return numbers


@case("plain", "unknown words")
def picture_captions(folder: Path, kind: str) -> Numbers:
    draw = np.random.default_rng(0)
    images = {p: draw.integers(0, 256, (len(t), 4, 4, 3)) for p, t in SENTENCES.items()}
    parts = {p: (images[p].astype(np.uint8), SENTENCES[p]) for p in SENTENCES}
    least = 4 if kind == "unknown words" else 1
    task = Captions(parts, min_count=least, exact=kind == "plain")
    known, right = vocabulary(SENTENCES["train"], least), SENTENCES["valid"]
    said = [" ".join(w if w in known else "⟨unknown⟩" for w in text.split()) for text in right]
    near = []
    for picture in images["valid"]:
        away = [np.sum((picture - other) ** 2) for other in images["train"]]
        near.append(SENTENCES["train"][int(np.argmin(away))])
    same = sum(a == b for a, b in zip(near, right, strict=True)) / len(right)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(captions, "written", answered(said))
        scores = {name.split(" (")[0]: x for name, x in task.scores(None, "valid").items()}
    expected = {
        "exact, beam of 5": sum(a == b for a, b in zip(said, right, strict=True)) / len(right),
        "METEOR": own_meteor(said, right),
        **{f"BLEU-{n}": own_bleu(said, right, n) for n in (1, 2, 3, 4)},
        "BLEU-1, nearest picture": own_bleu(near, right, 1),
    }
    every = [w for text in SENTENCES["train"] for w in [*text.split(), "\n"]]
    most = max(every.count(w) for w in set(every) if w in known) / len(every)
    baselines = {"chance": 0.0, "nearest picture": same} if kind == "plain" else {"chance": most}
    return (
        beside(by_rule(task), of_sentences(right, known, True))
        | beside(scores, expected)
        | beside(task.baselines(), baselines)
    )


@case("plain", "masked")
def tags(folder: Path, kind: str) -> Numbers:
    tag = {"the": "DET", "a": "DET", "cat": "NOUN", "dog": "NOUN", "bird": "NOUN", "far": "ADV"}
    said = {
        p: [
            (t.split(), [tag.get(w, "VERB") if kind == "plain" or n % 3 else "_"
                         for n, w in enumerate(t.split())])
            for t in texts
        ]
        for p, texts in SENTENCES.items()
    }  # fmt: skip
    task = Tagging(said["train"], said["valid"], said["test"])
    names = sorted({x for part in said.values() for _, some in part for x in some} - {"_"})
    right = total = 0
    for _, some in said["valid"]:
        symbols = [names.index(x) if x in names else 0 for x in some]
        for guess, x in zip(rule(symbols, len(names)), some, strict=True):
            right, total = right + (x != "_" and names[guess] == x), total + (x != "_")
    seen = [(w, x) for words, some in said["train"] for w, x in zip(words, some, strict=True)]
    seen = [(w, x) for w, x in seen if x != "_"]
    usual = collections.Counter(x for _, x in seen).most_common(1)[0]
    of_word = {
        w: collections.Counter(x for v, x in seen if v == w).most_common(1)[0][0] for w, _ in seen
    }
    pairs = [(w, x) for ws, some in said["valid"] for w, x in zip(ws, some, strict=True)]
    good = [of_word.get(w, usual[0]) == x for w, x in pairs if x != "_"]
    baselines = {"chance": usual[1] / len(seen), "most frequent tag": sum(good) / len(good)}
    return beside(by_rule(task), {"accuracy": right / total}) | beside(task.baselines(), baselines)


@case("plain", "unknown words")
def classified(folder: Path, kind: str) -> Numbers:
    texts = SENTENCES["train"] + SENTENCES["valid"]
    labels = ["cat" if "cat" in text else "other" for text in texts]
    if kind == "unknown words":
        texts = [f"{text} {'x' * n}" for n, text in enumerate(texts, 1)]
    task = Classify(texts, labels, split={"train": range(15), "valid": range(15, 21)})
    made = network(task)
    counts = collections.Counter(word for text in texts[:15] for word in text.split())
    known = sorted((w for w in counts if counts[w] >= 2), key=lambda w: (-counts[w], w))
    by_symbol = {word: task.words.encode([word])[0] for word in known}
    assert sorted(by_symbol.values()) == list(range(1, len(known) + 1))  # 0 is unknown
    coded = [[by_symbol.get(word, 0) for word in text.split()] for text in texts]
    names, said = sorted(set(labels)), []
    for symbols in coded[15:]:
        said.append(names[int(np.argmax(run(made, symbols)[-1]))])
    scores = []
    for name in {*said, *labels[15:]}:
        both = sum(a == b == name for a, b in zip(said, labels[15:], strict=True))
        scores.append(2 * both / (said.count(name) + labels[15:].count(name)))
    guessed = []
    for symbols in coded[15:]:
        points = {}
        for name in names:
            own = [
                s for some, x in zip(coded[:15], labels, strict=False) if x == name for s in some
            ]
            points[name] = math.log(labels[:15].count(name)) + sum(
                math.log((own.count(s) + 1) / (len(own) + len(known) + 1)) for s in symbols
            )
        guessed.append(max(names, key=lambda name: points[name]))
    share = [sum(a == b for a, b in zip(x, labels[15:], strict=True)) / 6 for x in (said, guessed)]
    most = max(labels[:15].count(name) for name in names) / 15
    return beside(
        printed(made, task), {"accuracy": share[0], "F1": sum(scores) / len(scores)}
    ) | beside(task.baselines(), {"chance": most, "naive Bayes": share[1]})


@case()
def addition(folder: Path) -> Numbers:
    lines = [(f"print(({a}+{b}))", str(a + b)) for a, b in ((1, 2), (13, 4), (20, 31), (5, 6))]
    kind = TASKS["addition"]
    own = kind(digits=2)
    (folder / "sums").write_text("\n".join("\t".join(line) for line in lines))
    task = kind.on_file(folder / "sums", kind.Settings(digits=2), own.artefacts())
    known = ["\n", "⟨unknown⟩", *sorted("0123456789")]
    expected = of_sentences([" ".join(answer) for _, answer in lines], known, True)
    answers = [own.targets.decode(x) for x in own.parts["valid"][1]]
    most = max(collections.Counter(answers).values()) / len(answers)
    return beside(by_rule(task), expected) | beside(
        own.baselines(), {"chance": 0.0, "most frequent answer": most}
    )


# The tests


@pytest.fixture(autouse=True)
def as_installed():
    """JAX as it comes: without float64."""
    with jax.enable_x64(False):
        yield


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """The numbers of each case, computed once."""

    @functools.cache
    def of(name: str) -> Numbers:
        return CASES[name](tmp_path_factory.mktemp("case"))

    return of


@pytest.mark.parametrize("name", CASES)
def test_what_is_printed_is_so(name, numbers):
    # Outputs of 101,325 are multiples of 0.0078 in float32.
    near = {"rel": 1e-3, "abs": 1e-3} if name.endswith(", far") else {"rel": 2e-5, "abs": 0}
    for what, (found, expected) in numbers(name).items():
        assert found == pytest.approx(expected, **near), what
    assert numbers(name)


@functools.cache
def empty() -> dict[str, Task]:
    """Tasks whose validation part has nothing to measure."""
    xs, ys = drawn("plain", 1)
    given: dict[str, Any] = {"split": {"train": range(16)}}
    labels = np.arange(16) % 2
    pairs = TASKS["translate"].of_texts(["a b"] * 4, ["b a"] * 4, split=(1, 0, 0))
    pictures = np.zeros((4, 4, 4, 3), np.uint8)
    parts = {"train": (pictures, ["a dot"] * 4), "valid": (pictures[:0], []), "test": ([], [])}
    return {
        "text": Text.of("a text " * 20, split=(1, 0, 0)),
        "numbers": Arrays(xs, ys, per_step=True, **given),
        "classes": Arrays(xs, labels, **given),
        "classify": Classify(["a b", "b b"] * 8, ["x", "y"] * 8, **given),
        "series": Series(wave("plain"), split=(1, 0, 0), season=3),
        "quantiles": Series(wave("plain"), split=(1, 0, 0), quantiles=(0.1, 0.9)),
        "pairs": pairs,
        "captions": Captions(parts, exact=True),
        "tags": Tagging([(["a", "b"], ["X", "Y"])] * 4, split=(1, 0, 0)),
        "mackey-glass": MackeyGlass(samples=200, washout=10, split=(1, 0, 0)),
    }


@pytest.mark.parametrize("name", empty())
def test_nothing_is_measured_where_there_is_nothing(name):
    task = empty()[name]
    assert measured(network(task), task.evaluated("valid"), task.metrics) == [None] * len(
        task.metrics
    )
    with pytest.raises(BadInput, match="is empty; there is nothing to score"):
        evaluate_network(network(task), task)
    assert task.scores(None, "valid") == {}
    assert task.yardsticks("valid") == {}
    assert set(task.baselines()) == {"chance"}


def test_a_part_without_answers_gives_no_number():
    """All weights are zero: every metric says so."""
    for name, task in empty().items():
        batch = task.batch(0, 4)
        nothing = batch._replace(weights=np.zeros_like(batch.weights))
        outputs = jnp.zeros((*np.shape(batch.weights), task.outputs), jnp.float32)
        found = values_of(task.metrics, [counted(task.metrics, outputs, nothing)])
        assert found == [None] * len(task.metrics), name


def test_a_million_steps():
    """Sums in float64 are exact to more digits than float32 has."""
    task = Series(np.random.default_rng(0).normal(size=(1_000_000, 1)), split=(0.1, 0.9, 0))
    outputs = np.full((999_999, 1, 1), 0.1, np.float32)
    batch = Batch(None, np.zeros_like(outputs), np.ones((999_999, 1), np.float32))
    first, second, _ = values_of(task.metrics, [counted(task.metrics, outputs, batch)])
    factor = task.answers.scaler.factor[0]
    assert second == pytest.approx(factor * float(np.float32(0.1)), rel=1e-9)
    assert first == pytest.approx((factor * float(np.float32(0.1))) ** 2, rel=1e-9)
