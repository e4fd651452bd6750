"""`check_task` accepts sound tasks, and says what is wrong with others."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.losses import CrossEntropy, Loss
from ostinato.metrics import Accuracy, MeanSquaredError
from ostinato.tasks import Arrays, Series, Task
from ostinato.testing import TaskError, check_task
from ostinato.testing.check import TASK_CHECKS

RNG = np.random.default_rng(0)


class Parity(Task):
    """Whether the first bit was a one, asked at each of the valid steps."""

    name = "parity"
    symbolic = True
    inputs = outputs = 2
    length = 6
    loss = CrossEntropy()
    metrics = (Accuracy(),)
    chance = 0.5
    held = 9

    def draw(self, rng, size, length):
        inputs = rng.integers(0, 2, (length, size), dtype=np.int32)
        targets = np.repeat(inputs[:1], length, 0)
        lengths = rng.integers(2, length + 1, size).astype(np.int32)
        weights = (np.arange(length)[:, None] < lengths).astype(np.float32)
        return Batch(inputs, targets, weights, lengths)

    def rng(self, *place):
        return np.random.default_rng([7, *place])

    def batch(self, index, size, length=None):
        return self.draw(self.rng(0, index), size, length or self.length)

    def held_out(self, part, size):
        for begin in range(0, self.held, size):
            rng = self.rng({"valid": 1, "test": 2}[part])
            whole = self.draw(rng, self.held, self.length)
            yield self.change(whole.take(slice(begin, begin + size)))

    def change(self, batch):
        return batch


class Mean(Loss):
    """One number per sequence, compared with the mean output."""

    def total(self, outputs, batch):
        valid = jnp.asarray(batch.valid)[..., None]
        means = jnp.sum(outputs * valid, 0) / jnp.asarray(batch.lengths)[:, None]
        return jnp.sum((means - batch.targets[0]) ** 2)


class MeanMetric(Accuracy):
    name = "squared"
    higher_is_better = False

    def counts(self, outputs, batch):
        return Mean().total(outputs, batch), jnp.sum(jnp.asarray(batch.weights))


class OwnLoss(Parity):
    symbolic = False
    outputs = 1
    loss = Mean()
    metrics = (MeanMetric(),)

    def draw(self, rng, size, length):
        batch = super().draw(rng, size, length)
        inputs = batch.inputs.astype(np.float32)[..., None].repeat(2, -1)
        return Batch(inputs, inputs[:1, :, :1], np.ones((1, size), np.float32), batch.lengths)


def sequences():
    lengths = RNG.integers(3, 9, 40)
    return Arrays(RNG.normal(size=(40, 8, 2)), np.arange(40) % 3, lengths)


SOUND = {
    "a task of one's own": Parity,
    "a loss of one's own": OwnLoss,
    "classes": sequences,
    "numbers": lambda: Arrays(RNG.normal(size=(40, 8, 2)), RNG.normal(size=(40, 2)) * 9 + 3),
    "symbols": lambda: Arrays(RNG.integers(0, 5, (40, 8)), RNG.integers(0, 3, (40, 8))),
    "forecasts": lambda: Series(RNG.normal(size=(600, 2)), horizon=2, length=10),
    "several series": lambda: Series([RNG.normal(size=(300, 1))] * 2, length=10, carry=False),
    "steps": lambda: Series(RNG.normal(size=(600, 2)), RNG.integers(0, 3, 600), length=10),
}


@pytest.mark.parametrize("case", SOUND)
def test_a_sound_task_passes(case):
    assert check_task(SOUND[case]()) == [check.__name__ for check in TASK_CHECKS]


class Changed(Parity):
    """A fault is a change to each batch that is drawn."""

    def batch(self, *arguments):
        return self.change(super().batch(*arguments))


def changed(function, **attributes):
    """A task whose batches are changed, and with other attributes."""
    return lambda: type("Faulty", (Changed,), {"change": lambda _, b: function(b), **attributes})()


def having(**attributes):
    return lambda: type("Faulty", (Parity,), attributes)()


class Restless(Parity):
    counter = itertools.count()

    def rng(self, *place):
        return np.random.default_rng([next(self.counter), *place])


class RestlessHeldOut(Restless):
    def batch(self, index, size, length=None):
        return self.draw(np.random.default_rng(index), size, length or self.length)


class Constant(Parity):
    def batch(self, index, size, length=None):
        return super().batch(0, size, length)


class SameParts(Parity):
    def held_out(self, part, size):
        return super().held_out("valid", size)


class Leaking(Parity):
    def held_out(self, part, size):
        yield self.batch(0 if part == "valid" else 1, size)


class LastIsLost(Parity):
    def held_out(self, part, size):
        for batch in super().held_out(part, size):
            if batch.sequences == size:
                yield batch


class Greedy(Parity):
    def held_out(self, part, size):
        return super().held_out(part, size + 1)


class Empty(Parity):
    held = 0


class Raising(Parity):
    def batch(self, index, size, length=None):
        return {}["nothing"]


class RaisingHeldOut(Parity):
    def held_out(self, part, size):
        raise ValueError("no such part\nat all")


class OwnLength(Parity):
    def batch(self, index, size, length=None):
        return super().batch(index if length is None else index + 1, size, length)


class ReadsPadding(CrossEntropy):
    def total(self, outputs, batch):
        return jnp.sum(self.at(outputs, batch.targets))


class MeanOfSequences(CrossEntropy):
    def total(self, outputs, batch):
        return jnp.mean(self.at(outputs, batch.targets) * batch.counted)


class Nothing(CrossEntropy):
    def total(self, outputs, batch):
        return 0.0 * super().total(outputs, batch)


class Infinite(CrossEntropy):
    def total(self, outputs, batch):
        return super().total(outputs, batch) / jnp.sum(jnp.abs(outputs))


class MeanOfMeans(Accuracy):
    def counts(self, outputs, batch):
        total, weight = super().counts(outputs, batch)
        return total / weight, jnp.ones(())


class WrongWay(Accuracy):
    higher_is_better = False


class Fingerprint(Parity):
    def fingerprint(self):
        return str(RNG.random())


class Artefacts(Parity):
    def artefacts(self):
        return {"means": np.zeros(3)}


class Tuples(Parity):
    def artefacts(self):
        return {"means": (1, 2)}


class Baselines(Parity):
    def baselines(self):
        return {"chance": 0.5, "luck": float("nan")}


def padded(batch):
    return batch._replace(weights=np.ones_like(batch.weights))


FAULTS = {
    "a class": (lambda: Parity, "not its class: make one first"),
    "no task": (lambda: "adding", "it is not a Task"),
    "no inputs": (having(inputs=None), "inputs must be a whole number of at least 1, got None"),
    "outputs 0": (having(outputs=0), "outputs must be a whole number of at least 1, got 0"),
    "a loss that is none": (having(loss="cross-entropy"), "loss must be a Loss"),
    "a single metric": (having(metrics=Accuracy()), "metrics must be a tuple"),
    "a metric that is none": (having(metrics=("accuracy",)), "metrics must hold metrics"),
    "chance NaN": (having(chance=float("nan")), "chance must be a finite number, got nan"),
    "no name": (having(name=None), "name must be a string, got None"),
    "a tuple": (changed(tuple), "must be an ostinato.data.Batch, got"),
    "no weights": (changed(lambda b: b._replace(weights=None)), "has no weights"),
    "raises": (Raising, r"batch\(0, 4\) raised KeyError: 'nothing' \(tests/test_check_task.py:"),
    "held out raises": (RaisingHeldOut, r'held_out\("valid", 4\) raised ValueError: no such part'),
    "empty": (Empty, r'held_out\("valid", 4\) is empty'),
    "too many": (Greedy, "has 5 sequences; at most 4 were asked for"),
    "goes on from nothing": (changed(lambda b: b._replace(first=False)), "must have first=True"),
    "batch first": (
        changed(lambda b: b._replace(inputs=b.inputs.T)),
        r"weights must be \(T, B\) = \(4, 6\), got \(6, 4\)",
    ),
    "vectors": (
        changed(lambda b: b._replace(inputs=b.inputs[..., None])),
        r"inputs must be \(T, B\) = \(6, 4\), got \(6, 4, 1\)",
    ),
    "wide vectors": (
        changed(
            lambda b: b._replace(inputs=np.zeros((*b.inputs.shape, 3), np.float32)), symbolic=False
        ),
        r"inputs must be \(T, B, inputs\) = \(6, 4, 2\), got \(6, 4, 3\)",
    ),
    "targets": (
        changed(lambda b: b._replace(targets=b.targets[:-1])),
        r"targets must be \(T, B\) = \(6, 4\), got \(5, 4\)",
    ),
    "weights": (
        changed(lambda b: b._replace(weights=b.weights[-1:], lengths=None)),
        "a loss per step needs 6 rows of weights",
    ),
    "lengths": (
        changed(lambda b: b._replace(lengths=b.lengths[:, None])),
        r"lengths of batch 0 .* must be 4 whole numbers .* got an array of shape \(4, 1\)",
    ),
    "resets": (
        changed(lambda b: b._replace(resets=np.zeros(b.sequences, bool)[None])),
        r"resets must be \(6, 4\), got \(1, 4\)",
    ),
    "float symbols": (
        changed(lambda b: b._replace(inputs=b.inputs.astype(np.float32))),
        "inputs must be whole numbers, because symbolic is true, got float32",
    ),
    "float classes": (
        changed(lambda b: b._replace(targets=b.targets.astype(np.float32))),
        "targets must be whole numbers, the classes, got float32",
    ),
    "double weights": (
        changed(lambda b: b._replace(weights=b.weights.astype(float))),
        "weights must be float32, like the network, got float64",
    ),
    "float lengths": (
        changed(lambda b: b._replace(lengths=b.lengths.astype(np.float32))),
        "lengths must be whole numbers, got float32",
    ),
    "symbols out of range": (
        changed(lambda b: b._replace(inputs=b.inputs + 1)),
        "inputs must be from 0 to 1; got 2",
    ),
    "classes out of range": (
        changed(lambda b: b._replace(targets=b.targets - 1)),
        "targets must be from 0 to 1, also where the weight is 0; got -1",
    ),
    "NaN": (
        changed(lambda b: b._replace(weights=b.weights * np.float32("nan"))),
        "weights must be finite, also where the weight is 0; got NaN",
    ),
    "negative weights": (
        changed(lambda b: b._replace(weights=-b.weights)),
        "weights must not be negative, got -1",
    ),
    "no weight": (
        changed(lambda b: b._replace(weights=0 * b.weights)),
        "all weights are 0, so there is nothing to learn",
    ),
    "length 0": (
        changed(lambda b: b._replace(lengths=0 * b.lengths, weights=b.weights)),
        "lengths must be from 1 to 6, got 0",
    ),
    "length above": (
        changed(lambda b: b._replace(lengths=b.lengths + 6)),
        "lengths of batch 0 .* whole numbers from 0 to 6, one for each sequence; got 11",
    ),
    "length below": (
        changed(lambda b: b._replace(lengths=b.lengths - b.lengths.min())),
        "lengths must be from 1 to 6",
    ),
    "weights in the padding": (changed(padded), "weights must be 0 in the padding; sequence"),
    "no seed": (Restless, r"batch\(1, 4\) differs from one call to the next"),
    "no seed held out": (RestlessHeldOut, r'held_out\("valid", 4\) differs from one call'),
    "no number": (Constant, "batches 0 to 3 are all the same: use the number"),
    "another length": (OwnLength, r"batch\(1, 4\) differs from batch\(1, 4, length=6\)"),
    "equal parts": (SameParts, "the parts valid and test are the same"),
    "training held out": (Leaking, "the part valid is a training batch"),
    "the last is lost": (LastIsLost, "in batches of 4 and to .* in batches of 7"),
    "a loss of padding": (having(loss=ReadsPadding()), "the loss reads outputs in the padding"),
    "a mean loss": (having(loss=MeanOfSequences()), "loss.total must add up over sequences"),
    "no gradient": (having(loss=Nothing()), "is 0: nothing is learned"),
    "an infinite loss": (having(loss=Infinite()), "the loss of outputs of zero must be finite"),
    "a mean of means": (
        having(metrics=(MeanOfMeans(),)),
        "the counts of the metric accuracy must add up over batches",
    ),
    "the wrong way": (having(metrics=(WrongWay(),)), "no better than the chance of 0.5"),
    "chance too high": (having(chance=0.9), "chance is 0.9, but the best constant answer"),
    "chance too low": (having(chance=0.1), "chance is 0.1, but the best constant answer"),
    "another metric": (
        having(metrics=(MeanSquaredError(),)),
        "the metric mean squared error raised",
    ),
    "fingerprint": (Fingerprint, r"fingerprint\(\) differs from one call to the next"),
    "artefacts": (Artefacts, r"artefacts\(\) must be plain JSON: Object of type ndarray"),
    "tuples": (Tuples, r"artefacts\(\) must be plain JSON: lists, and strings"),
    "baselines": (Baselines, r"baselines\(\) must be finite numbers by name, got 'luck': nan"),
}


@pytest.mark.parametrize(
    "case",
    # A third of them is enough for every day.
    [pytest.param(c, marks=[pytest.mark.slow] if n % 3 else []) for n, c in enumerate(FAULTS)],
)
def test_a_fault_is_named(case):
    make, words = FAULTS[case]
    with pytest.raises(TaskError, match=words) as found:
        check_task(make())
    for line in str(found.value).split("\n"):
        assert ": " in line and len(line) < 250


def test_a_batch_may_be_refused_in_words():
    class Refusing(Parity):
        def batch(self, index, size, length=None):
            raise BadInput("no data")

    with pytest.raises(TaskError, match=r"Refusing: batch\(0, 4\) raised BadInput: no data"):
        check_task(Refusing())
