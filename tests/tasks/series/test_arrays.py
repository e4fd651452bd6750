"""Labelled sequences of one's own."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.losses import SquaredError
from ostinato.tasks import Arrays

RNG = np.random.default_rng(5)
N, T = 40, 12
XS = RNG.normal(size=(N, T, 3)) * [1.0, 10.0, 0.1] + [0.0, 100.0, 5.0]
LENGTHS = RNG.integers(3, T + 1, N)
CLASSES = RNG.integers(0, 3, N)
NUMBERS = RNG.normal(size=(N, 2)) * [5, 50] + 7
NAN = np.nan
LIST = [x[:n] for x, n in zip(XS, LENGTHS, strict=True)]


def held(task, part="valid"):
    (batch,) = task.held_out(part, 1000)
    return batch


def test_a_class_per_sequence_is_asked_for_at_its_last_step():
    task = Arrays(XS, CLASSES, LENGTHS)
    assert (task.inputs, task.outputs, task.symbolic) == (3, 3, False)
    batch = task.batch(0, 8)
    assert batch.lengths is not None and np.array_equal(batch.weights.sum(0), np.ones(8))
    assert np.array_equal(np.argmax(batch.weights, 0), batch.lengths - 1)
    valid = held(task)
    asked = valid.targets[valid.lengths - 1, np.arange(4)]
    assert np.array_equal(asked, CLASSES[task.parts["valid"]])
    share = np.bincount(CLASSES[task.parts["train"]]).max() / 32
    assert task.chance == pytest.approx(share) and task.metric.name == "accuracy"
    assert [m.name for m in task.metrics] == ["accuracy", "F1"]


def test_a_list_of_sequences_is_the_same_as_padded_arrays():
    one, other = Arrays(XS, CLASSES, LENGTHS), Arrays(LIST, CLASSES)
    for x, y in zip(one.batch(3, 8)[:4], other.batch(3, 8)[:4], strict=True):
        assert np.array_equal(x, y)
    assert one.fingerprint() == other.fingerprint()


def test_what_lies_in_the_padding_changes_nothing():
    spoilt = np.where(np.arange(T)[:, None] < LENGTHS[:, None, None], XS, np.nan)
    one, other = Arrays(XS, CLASSES, LENGTHS), Arrays(spoilt, CLASSES, LENGTHS)
    assert one.fingerprint() == other.fingerprint()
    assert one.artefacts() == other.artefacts()


def test_scaling_is_fitted_on_the_valid_steps_of_the_training_part():
    task = Arrays(XS, NUMBERS, LENGTHS)
    rows = np.concatenate([LIST[n] for n in task.parts["train"]])
    np.testing.assert_allclose(task.scaler.shift, rows.mean(0))
    np.testing.assert_allclose(task.scaler.factor, rows.std(0))
    targets = NUMBERS[task.parts["train"]]
    np.testing.assert_allclose(task.answers.scaler.factor, targets.std(0))
    assert task.chance == pytest.approx(targets.var(0).mean())
    changed = XS.copy()
    changed[task.parts["valid"]] *= 1000  # the other parts do not matter
    assert Arrays(changed, NUMBERS, LENGTHS).artefacts() == task.artefacts()


def test_errors_are_in_the_units_of_the_data():
    task = Arrays(XS, NUMBERS, LENGTHS)
    batch, which = held(task), task.parts["valid"]
    guess = NUMBERS[which] + [3.0, -40.0]
    scaled = (guess - task.answers.scaler.shift) / np.array(task.answers.scaler.factor)
    outputs = jnp.broadcast_to(scaled, (len(batch.inputs), *scaled.shape))
    found = [metric.value(metric.counts(outputs, batch)) for metric in task.metrics]
    spread = NUMBERS[which].var(0) * len(which)
    expected = 1 - np.mean(np.array([9, 1600]) * len(which) / spread)
    assert found == pytest.approx([(9 + 1600) / 2, (3 + 40) / 2, expected], rel=1e-4)
    assert task.metric.loss_factor is None  # two outputs of different units
    single = Arrays(XS, NUMBERS[:, 0], LENGTHS)
    batch = held(single)
    outputs = jnp.ones((*batch.weights.shape, 1))
    loss, metric = SquaredError()(outputs, batch), single.metric
    assert metric.value(metric.counts(outputs, batch)) == pytest.approx(
        metric.loss_factor * float(loss), rel=1e-5
    )


def test_targets_per_step():
    classes, numbers = RNG.integers(0, 4, (N, T)), RNG.normal(size=(N, T, 2))
    task = Arrays(XS, classes, LENGTHS)
    batch = held(task)
    valid = np.arange(len(batch.inputs))[:, None] < batch.lengths
    assert np.array_equal(batch.weights, valid)
    expected = np.where(valid, classes[task.parts["valid"]].T[: len(valid)], 0)
    assert np.array_equal(batch.targets, expected)
    assert Arrays(XS, numbers, LENGTHS).batch(0, 4).targets.shape[1:] == (4, 2)
    ragged = [y[:n] for y, n in zip(numbers, LENGTHS, strict=True)]
    assert Arrays(LIST, ragged).fingerprint() == Arrays(XS, numbers, LENGTHS).fingerprint()


def test_windows_of_targets_per_step_lie_anywhere():
    steps = np.broadcast_to(np.arange(float(T))[:, None], (N, T, 1))
    task = Arrays(steps, steps, scale=False, kind="regression", length=4)
    batches = [task.batch(index, 32) for index in range(4)]
    starts = {float(x) for batch in batches for x in batch.inputs[0, :, 0]}
    assert starts == set(range(T - 4 + 1))
    assert all(np.array_equal(batch.inputs, batch.targets) for batch in batches)
    with pytest.raises(BadInput, match="length of 1 to 12 steps, got 13"):
        task.batch(0, 4, length=13)


def test_signed_and_unsigned_symbols_stay_symbols():
    parts = [np.array([1, 2], np.uint64), np.array([3, 4, 5], np.int64)] * 10
    task = Arrays(parts, np.arange(20) % 2)
    assert task.symbolic and task.inputs == 6


def test_symbols():
    task = Arrays(RNG.integers(0, 6, (N, T)), CLASSES)
    assert task.symbolic and task.inputs == 6 and task.batch(0, 4).lengths is None
    assert task.batch(0, 4).inputs.dtype == np.int32
    with pytest.raises(BadInput, match="symbols must be below 6, got 9"):
        Arrays(np.full((N, T), 9), CLASSES, artefacts=task.artefacts())


def test_parts_are_random_disjoint_and_fixed():
    task = Arrays(XS, CLASSES)
    sizes = {part: len(which) for part, which in task.parts.items()}
    assert sizes == {"train": 32, "valid": 4, "test": 4}
    assert sorted(np.concatenate(list(task.parts.values()))) == list(range(N))
    other = Arrays(XS, CLASSES, seed=1)
    assert not np.array_equal(task.parts["valid"], other.parts["valid"])
    mine = {"train": range(10), "valid": [39, 20], "test": []}
    assert Arrays(XS, CLASSES, split=mine).parts["valid"].tolist() == [39, 20]
    seen = [x for index in range(4) for x in task.batch(index, 8).inputs[0, :, 0].tolist()]
    assert len(set(seen)) == 32  # an epoch has every sequence once
    assert task.epochs(8, 8) == 2


def test_there_are_few_sizes_of_batches():
    lengths = np.arange(1, 101)
    task = Arrays([np.ones((n, 1)) * n for n in lengths], np.arange(100) % 2)
    sizes = {len(task.batch(index, 2).inputs) for index in range(200)}
    assert sizes <= {*range(13, 100, 13), 100} and len(sizes) > 4


def test_missing_values_are_masked():
    gaps = XS.copy()
    gaps[task_train(0), 1, 1] = np.nan
    labels = CLASSES.astype(float)
    labels[task_train(3)] = np.nan
    task = Arrays(gaps, labels, kind="classification", missing="mask")
    assert task.inputs == 4 and task.scaler.masked == (1,)
    whole = task._padded(np.array([task_train(0), task_train(3)]), T)
    assert whole.inputs[1, 0, 1] == 0 and whole.inputs[1, 0, 3] == 1
    assert whole.inputs[..., 3].sum() == 1
    assert whole.weights.sum(0).tolist() == [1, 0]
    with pytest.raises(BadInput, match=rf"input 1 of sequence {task_train(0)}, step 1 is missing"):
        Arrays(gaps, CLASSES)


def task_train(n):
    return int(Arrays(XS, CLASSES).parts["train"][n])


def test_artefacts_carry_scaling_and_classes_to_other_data():
    labels = np.array(["down", "flat", "up"])[CLASSES]
    task = Arrays(XS, labels, LENGTHS)
    kept = json.loads(json.dumps(task.artefacts()))
    assert kept["answers"]["classes"] == ["down", "flat", "up"]
    few = Arrays(XS[:4] * 2, ["up"] * 4, artefacts=kept, split=(1, 0, 0))
    assert few.scaler == task.scaler and few.outputs == 3 and few.chance == task.chance
    assert (few.batch(0, 4).targets[-1] == 2).all()
    for xs, ys, words in (
        (XS[..., :2], labels, "the model reads 3 columns, these data have 2"),
        (XS, np.array(["sideways"] * N), "the label 'sideways' is not one of down, flat, up"),
        (XS, NUMBERS, "trained for classification, the targets of these data mean regression"),
    ):
        with pytest.raises(BadInput, match=words):
            Arrays(xs, ys, artefacts=kept)


def huge_in_the_test_part():
    xs = XS.copy()
    xs[Arrays(XS, CLASSES).parts["test"][0], 0, 0] = 1e30
    return xs


WRONG = {
    "xs of one axis": ((np.zeros(5), np.zeros(5)), {}, "xs must be"),
    "xs of four axes": ((np.zeros((2, 2, 2, 2)), np.zeros(2)), {}, "xs must be"),
    "xs of text": ((np.array([["a"]]), [0]), {}, "xs must be"),
    "complex xs": ((np.zeros((4, 3, 1), complex), CLASSES[:4]), {}, "xs must be"),
    "xs empty": ((np.zeros((0, 3, 1)), []), {}, "xs is empty"),
    "an empty list": (([], []), {}, "empty list"),
    "an empty sequence": (([np.zeros((0, 2)), np.zeros((3, 2))], [0, 1]), {}, "sequence 0 must be"),
    "widths": (([np.zeros((2, 2)), np.zeros((2, 3))], [0, 1]), {}, "sequence 1 is float64 with"),
    "symbols and numbers": (([np.zeros(2, int), np.zeros(2)], [0, 1]), {}, "sequence 1 is float64"),
    "no inputs": ((np.zeros((4, 3, 0)), CLASSES[:4]), {}, "xs is empty"),
    "negative symbols": ((np.full((4, 3), -1), CLASSES[:4]), {}, "from 0, got -1"),
    "too few ys": ((XS, CLASSES[:-1]), {}, "ys must have 40 rows"),
    "no ys": ((XS, None), {}, "ys must have 40 rows"),
    "ys of four axes": ((XS, np.zeros((N, T, 1, 1))), {}, "1 to 3 axes"),
    "ys of objects": ((XS, np.zeros(N, complex)), {}, "numbers or labels"),
    "a matrix of classes": ((XS, CLASSES[:, None].repeat(2, 1)), {}, "a class is one label"),
    "float classes": ((XS, CLASSES.astype(float)), {}, "floats, but only whole numbers"),
    "many whole numbers": ((XS, np.arange(N)), {}, "40 different whole numbers among 40; say"),
    "broken classes": ((XS, NUMBERS[:, 0]), {"kind": "classification"}, "is a whole number"),
    "a huge label": ((XS, CLASSES * 1e20), {"kind": "classification"}, "is a whole number"),
    "huge later": ((huge_in_the_test_part(), CLASSES), {}, "1e.30 is too large to compute with"),
    "words as numbers": ((XS, ["a"] * N), {"kind": "regression"}, "regression needs numbers"),
    "another kind": ((XS, CLASSES), {"kind": "ranking"}, "kind must be one of"),
    "one class": ((XS, np.zeros(N, int)), {}, "at least 2 classes, got 1"),
    "either way": ((XS, RNG.normal(size=(N, T))), {}, "per_step=True or per_step=False"),
    "steps missing": ((XS, np.zeros((N, 5, 1)) + 0.5), {}, r"must be \(N, 12, ...\)"),
    "targets too short": ((LIST, [y[:2] for y in LIST[1:]] + [np.zeros(1)]), {}, "must have"),
    "lengths of a list": ((LIST, CLASSES, LENGTHS), {}, "has its own"),
    "too many lengths": ((XS, CLASSES, np.ones(N + 1, int)), {}, "40 whole numbers"),
    "float lengths": ((XS, CLASSES, np.ones(N)), {}, "40 whole numbers"),
    "length 0": ((XS, CLASSES, np.zeros(N, int)), {}, "from 1 to 12, got 0 for sequence 0"),
    "length 13": ((XS, CLASSES, np.full(N, 13)), {}, "from 1 to 12, got 13"),
    "infinite": (
        (np.full((4, 3, 1), np.inf), CLASSES[:4]),
        {},
        "input 0 of sequence 0, step 0 is inf",
    ),
    "huge": ((np.full((N, 3, 1), 1e300) * CLASSES[:, None, None], CLASSES), {}, "too large"),
    "a missing target": ((XS, np.where(CLASSES > 1, np.nan, 0.5)), {}, "is missing"),
    "a missing label": ((XS, ["a"] * (N - 1) + [""]), {}, "target of sequence 39 is missing"),
    "a label None": ((XS, np.array([*"ab" * 19, "a", None])), {}, "target of sequence 39 is mis"),
    "a label NaN": ((XS, np.array([*"ab" * 19, "a", NAN], object)), {}, "sequence 39 is missing"),
    "NaN as text": ((XS, np.array([*"ab" * 19, "a", NAN])), {}, "target of sequence 39 is missing"),
    "spaces": (
        (XS, [*"ab" * 19, "a", "a "]),
        {},
        "the labels 'a' and 'a ' look the same",
    ),
    "an invisible sign": ((XS, ["a", "b", "a\u200b", "b"] * 10), {}, r"'a' and 'a.u200b' look the"),
    "two spellings": ((XS, ["e\u0301", "\u00e9"] * 20), {}, r"'e.u0301' and '.xe9' look the same"),
    "rows of a sequence": (
        ([[[1.0, 2.0], [3.0]]] * 4, [0, 1, 0, 1]),
        {},
        "sequence 0 must be an arr",
    ),
    "bytes": ((XS, [b"a", b"\xff"] * 20), {}, "is not UTF-8 text"),
    "a label that floats do not tell from others": (
        (XS, np.array([2**53, 2**53 + 1] * 20)),
        {},
        "label of a class is a whole number",
    ),
    "huge symbols": ((np.full((N, T), 2**32 + 5), CLASSES), {}, "from 0, got 4294967301"),
    "huge symbols in a list": (([np.full(3, 2**63, np.uint64)] * 4, [0, 1, 0, 1]), {}, "got 92233"),
    "float parts": (
        (XS, CLASSES),
        {"split": {"train": [0.9, 1.7]}},
        "part train must be the numbers",
    ),
    "a mask for a part": ((XS, CLASSES), {"split": {"train": CLASSES > 0}}, "got bool of shape"),
    "nested parts": ((XS, CLASSES), {"split": {"train": [[0, 1]]}}, r"got int64 of shape \(1, 2\)"),
    "an empty column": (
        (XS * [1, np.nan, 1], CLASSES),
        {"missing": "mask"},
        "input 1 has no value",
    ),
    "missing how": ((XS, CLASSES), {"missing": "drop"}, "missing must be one of refuse, mask"),
    "split above 1": ((XS, CLASSES), {"split": (0.9, 0.1, 0.1)}, "add up to 1"),
    "split below 0": ((XS, CLASSES), {"split": (1.1, -0.1, 0)}, "from 0 to 1"),
    "no training": ((XS, CLASSES), {"split": (0, 0.5, 0.5)}, "for training, is 0"),
    "two shares": ((XS, CLASSES), {"split": (0.5, 0.5)}, "three shares"),
    "too few": ((XS[:2], CLASSES[:2]), {}, "2 sequences cannot be divided into 3 parts"),
    "a strange part": ((XS, CLASSES), {"split": {"learn": [1]}}, "got 'learn'"),
    "twice": ((XS, CLASSES), {"split": {"train": [1, 2], "valid": [2]}}, "in two parts"),
    "outside": ((XS, CLASSES), {"split": {"train": [40]}}, "numbers from 0 to 39"),
    "nothing to train": ((XS, CLASSES), {"split": {"valid": [1]}}, "train has no sequences"),
    "a window of a label": ((XS, CLASSES), {"length": 5}, "belongs to a whole sequence, got 5"),
    "a length of 0": ((XS, CLASSES), {"length": 0}, "at least 1, got 0"),
    "a seed below 0": ((XS, CLASSES), {"seed": -1}, "a seed is"),
}


@pytest.mark.parametrize("case", WRONG)
def test_refuses(case):
    arguments, options, words = WRONG[case]
    with pytest.raises(BadInput, match=words) as found:
        Arrays(*arguments, **options)
    assert "\n" not in str(found.value)


def test_the_loss_ignores_padding():
    task = Arrays(XS, NUMBERS, LENGTHS)
    batch = task.batch(0, 8)
    outputs = RNG.normal(size=(*batch.weights.shape, 2))
    more = jnp.pad(outputs, ((0, 3), (0, 0), (0, 0)), constant_values=9.0)
    padded = [np.pad(x, ((0, 3),) + ((0, 0),) * (x.ndim - 1)) for x in batch[:3]]
    longer = Batch(*padded, batch.lengths)
    assert float(task.loss(outputs, batch)) == pytest.approx(float(task.loss(more, longer)))
