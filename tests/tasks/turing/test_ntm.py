"""The tasks of the neural Turing machine: their sequences, answers and longer versions."""

import itertools

import jax
import numpy as np
import pytest

from ostinato.errors import BadInput
from ostinato.metrics import BitsPerSequence, WrongBits
from ostinato.runs import Config
from ostinato.runs.build import build_network
from ostinato.tasks import NTMCopy, NTMNgrams, NTMRecall, NTMRepeatCopy, NTMSort
from ostinato.tasks.turing.ngrams import bayes_optimal


def rows(batch):
    """The inputs, targets and weights of each sequence, without padding."""
    for n in range(batch.sequences):
        steps = batch.steps if batch.lengths is None else batch.lengths[n]
        yield batch.inputs[:steps, n], batch.targets[:steps, n], batch.weights[:steps, n]


def test_copy():
    task = NTMCopy(bits=5, min_items=2, max_items=6)
    assert (task.inputs, task.outputs, task.length) == (6, 5, 13)
    seen = set()
    for xs, targets, weights in rows(task.batch(0, 200)):
        (mark,) = np.flatnonzero(xs[:, -1])
        seen.add(int(mark))
        assert len(xs) == 2 * mark + 1
        assert (weights == (np.arange(len(xs)) > mark)).all()
        assert (targets[mark + 1 :] == xs[:mark, :-1]).all()
        assert not xs[mark:, :-1].any()
    assert seen == {2, 3, 4, 5, 6}


def test_repeat_copy():
    task = NTMRepeatCopy(bits=3, max_items=4, repeats=5)
    seen = set()
    for xs, targets, weights in rows(task.batch(0, 400)):
        (mark,) = np.flatnonzero(xs[:, -2])
        times = round(float(xs[mark, -1]) * np.sqrt(2) + 3)  # mean 3 and variance 2
        seen.add((int(mark), times))
        (end,) = np.flatnonzero(targets[:, -1])
        assert end == len(xs) - 1 == mark * (times + 1) + 1
        assert (targets[mark + 1 : end, :-1] == np.tile(xs[:mark, :-2], (times, 1))).all()
        assert (weights == (np.arange(len(xs)) > mark)).all()
    assert seen == set(itertools.product(range(1, 5), range(1, 6)))


def test_recall():
    task = NTMRecall(bits=4, max_items=5, vectors=2)
    for xs, targets, weights in rows(task.batch(0, 200)):
        starts, (query, answer) = np.flatnonzero(xs[:, -2]), np.flatnonzero(xs[:, -1])
        items = [xs[start + 1 : start + 3, :-2] for start in starts]
        assert answer == query + 3
        asked = xs[query + 1 : answer, :-2]
        after = [items[n + 1] for n in range(len(items) - 1) if (items[n] == asked).all()]
        assert any((targets[answer + 1 :] == item).all() for item in after)
        assert (weights == (np.arange(len(xs)) > answer)).all()
        assert len(xs) == answer + 3


def test_sort():
    task = NTMSort(bits=4, max_items=6, kept=4)
    for xs, targets, weights in rows(task.batch(0, 100)):
        order = np.argsort(-xs[:6, 4])
        assert (targets[7:] == xs[order[:4], :4]).all()
        assert (np.abs(xs[:6, 4]) <= 1).all() and xs[6, 5] == 1
        assert weights.sum() == 4 and weights[7:].all()


def test_ngrams_follow_their_model():
    """What comes after a context has the same probability throughout a sequence."""
    task = NTMNgrams(length=4000, order=3)
    batch = task.batch(0, 50)
    bits = batch.targets[..., 0].astype(int)
    assert (batch.inputs[1:, :, 0] == bits[:-1]).all() and not batch.inputs[0].any()
    assert (batch.weights == (np.arange(4000) >= 2)[:, None]).all()
    context = 2 * bits[:-2] + bits[1:-1]
    halves = []
    for half in (slice(0, 1999), slice(1999, None)):
        counts = [np.sum(context[half] == c, 0) for c in range(4)]
        ones = [np.sum((context[half] == c) * bits[2:][half], 0) for c in range(4)]
        halves.append((np.array(counts), np.array(ones)))
    often = (halves[0][0] > 50) & (halves[1][0] > 50)
    assert often.sum() > 50
    (n, a), (m, b) = [(counts[often], ones[often]) for counts, ones in halves]
    p = (a + b) / (n + m)
    expected = np.sum(p * (1 - p) * (1 / n + 1 / m))
    assert np.sum((a / n - b / m) ** 2) == pytest.approx(expected, rel=0.5)


def test_bayes_optimal_is_brute_force():
    """Against the posterior on a grid of probabilities, for every context by itself."""
    order, rng = 3, np.random.default_rng(0)
    bits = rng.integers(0, 2, (40, 3))
    found = bayes_optimal(bits, order)
    # With p = sin² a and a uniform, p is Beta(½, ½): the midpoint rule is exact for polynomials.
    p = np.sin((np.arange(200) + 0.5) / 200 * np.pi / 2) ** 2
    for row in range(3):
        for t in range(40):
            expected = 0.5
            if t >= order - 1:
                here = tuple(bits[t - order + 1 : t, row])
                after = [
                    bits[i, row]
                    for i in range(order - 1, t)
                    if tuple(bits[i - order + 1 : i, row]) == here
                ]
                likely = np.prod([p if bit else 1 - p for bit in after], axis=0) * np.ones(200)
                expected = np.sum(likely * p) / np.sum(likely)
            assert found[t, row] == pytest.approx(expected, abs=1e-10)


def test_nobody_predicts_ngrams_better_than_bayes():
    task = NTMNgrams(length=100)
    best = task.yardsticks("test")["Bayes-optimal"]
    assert task.baselines()["Bayes-optimal"] < task.chance == 95
    bits = next(task.held_out("test", 1000)).targets[..., 0]
    right = bits[5:].astype(int)
    for order in (1, 3, 7):  # the counts of other contexts
        other = bayes_optimal(bits, order)[5:]
        assert best < -np.log2(np.where(right, other, 1 - other)).sum(0).mean()


def test_metrics_on_known_answers():
    batch = NTMCopy(bits=4, max_items=3).batch(0, 50).arrays
    right = 50.0 * (2 * batch.targets - 1)
    bits, wrong = BitsPerSequence(), WrongBits()
    assert bits.value(bits.counts(right, batch)) == pytest.approx(0, abs=1e-6)
    assert wrong.value(wrong.counts(right, batch)) == 0
    zeros = np.zeros_like(right)
    assert bits.value(bits.counts(zeros, batch)) == pytest.approx(4 * batch.weights.sum() / 50)
    flipped = right.copy()
    flipped[..., 0] *= -1
    assert wrong.value(wrong.counts(flipped, batch)) == pytest.approx(1 / 4)


TASKS = {
    "ntm-copy": ({"bits": 2, "max_items": 2}, ["6 vectors", "12 vectors"]),
    "ntm-repeat-copy": (
        {"bits": 2, "max_items": 2, "repeats": 2},
        ["4 vectors, 2 times", "2 vectors, 4 times"],
    ),
    "ntm-recall": ({"bits": 2, "max_items": 3, "vectors": 1}, ["10 items", "20 items"]),
    "ntm-ngrams": ({"length": 9, "order": 2}, ["18 bits"]),
    "ntm-sort": (
        {"bits": 2, "max_items": 4, "kept": 2},
        ["6 vectors, 3 of them sorted", "8 vectors, 4 of them sorted"],
    ),
}


@pytest.mark.parametrize("name", TASKS)
def test_scores_are_those_of_longer_sequences(name):
    dials, longer = TASKS[name]
    config = Config(task=name, cell="feedforward", units=3, **dials)
    task = config.task.kind.from_settings(config.task.settings, 0)
    with jax.enable_x64(False):
        found = task.scores(build_network(config, task), "test")
    assert list(found) == [
        f"{metric}, {what}"
        for what in longer
        for metric in ("bits per sequence", "share of wrong bits")
    ]
    assert all(np.isfinite(x) for x in found.values())


def test_a_length_in_steps_is_a_curriculum():
    task = NTMCopy(bits=2, max_items=6)
    assert task.batch(0, 100, length=8).steps == 7
    assert task.batch(0, 100, length=8).lengths.max() == 7
    with pytest.raises(BadInput, match="takes a length of at least 3 steps, got 2"):
        task.batch(0, 4, length=2)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: NTMCopy(bits=0), "bits must be at least 1, got 0"),
        (
            lambda: NTMCopy(min_items=5, max_items=4),
            "min_items from 1 up to max_items, got min_items 5 and max_items 4",
        ),
        (lambda: NTMRecall(min_items=1), "min_items must be at least 2, got 1"),
        (lambda: NTMSort(max_items=4, kept=5), "takes kept up to max_items, 4, got 5"),
        (lambda: NTMNgrams(order=21), "order must be at most 20, got 21"),
        (lambda: NTMNgrams(length=5), "a length of at least 6 steps, got 5"),
        (lambda: NTMRepeatCopy(repeats=0), "repeats must be at least 1, got 0"),
    ],
)
def test_bad_dials_are_refused(make, words):
    with pytest.raises(BadInput, match=words) as found:
        make()
    assert "\n" not in str(found.value)
