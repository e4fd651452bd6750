"""What the sequences of the synthetic tasks look like."""

import itertools
from collections import Counter

import numpy as np
import pytest

from ostinato.errors import BadInput
from ostinato.tasks import (
    Adding,
    Copy,
    Memorisation,
    Permutation,
    TemporalOrder,
    TemporalOrder3,
    Xor,
)

from ..members import sure


def streams_of_bits(length: int) -> set[tuple[int, ...]]:
    """All that temporal XOR can be, with the bit after the last step; each is as likely."""
    triples = length // 3 + 1
    free = itertools.product((0, 1), repeat=2 * triples)
    whole = (
        [bit for a, b in zip(x[::2], x[1::2], strict=True) for bit in (a, b, a ^ b)] for x in free
    )
    return {tuple(x[: length + 1]) for x in whole}


@pytest.mark.parametrize("length", [2, 3, 4, 5, 6, 9])
def test_no_predictor_of_xor_is_better_than_its_ceiling(length):
    """The best guess after every history, by counting all streams."""
    streams = streams_of_bits(length)
    right = 0
    for t in range(length):
        following = Counter((x[: t + 1], x[t + 1]) for x in streams)
        right += sum(
            max(following[history, 0], following[history, 1])
            for history in {x[: t + 1] for x in streams}
        )
    assert Xor(length=length).ceiling == pytest.approx(right / len(streams) / length)
    xs, targets, *_ = Xor(length=length).batch(0, 4000)
    assert {(*x, y[-1]) for x, y in zip(xs.T, targets.T, strict=True)} == streams


def test_third_bit_of_xor_can_always_be_known():
    task = Xor(length=99)
    batch = task.batch(0, 500)
    assert task.ceiling == pytest.approx(2 / 3)
    guess = np.zeros_like(batch.inputs)
    guess[1:] = batch.inputs[:-1] ^ batch.inputs[1:]
    score = np.asarray(task.metric.score(sure(guess, 2), batch.targets))
    assert score[1::3].all()
    for others in (score[0::3], score[2::3]):
        assert others.mean() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(others.size))


@pytest.mark.parametrize("length", [2, 7, 50])
def test_adding_marks_one_step_in_each_half(length):
    values, marks = np.moveaxis(Adding(length=length).batch(0, 2000).inputs, -1, 0)
    half = length // 2
    assert (marks[:half].sum(0) == 1).all() and (marks[half:].sum(0) == 1).all()
    assert marks.any(1).all(), "every step is marked in some sequence"
    assert 0 <= values.min() and values.max() < 1
    assert values.mean() == pytest.approx(0.5, abs=4 / np.sqrt(12 * values.size))


@pytest.mark.parametrize(
    ("task", "windows"),
    [
        (TemporalOrder(length=50), [(5, 10), (25, 30)]),
        (TemporalOrder3(length=50), [(5, 10), (16, 21), (33, 38)]),
    ],
    ids=["two", "three"],
)
def test_temporal_order_uses_all_of_its_windows(task, windows):
    xs = task.batch(0, 2000).inputs
    places = {t for begin, end in windows for t in range(begin, end)}
    assert set(np.flatnonzero((xs >= 4).any(1))) == places
    for begin, end in windows:
        assert ((xs[begin:end] >= 4).sum(0) == 1).all()
    assert set(np.unique(xs)) == set(range(6))
    assert set(np.unique(task.batch(0, 2000).targets[-1])) == set(range(task.outputs))


def test_permutation_has_relevant_symbols_at_the_ends_only():
    xs, targets, weights, *_ = Permutation(length=20).batch(0, 2000)
    assert set(np.unique(xs[0])) == {0, 1}
    assert set(np.unique(xs[1:])) == set(range(2, 100))
    assert np.array_equal(targets[-1], xs[0])
    assert weights[-1].all() and not weights[:-1].any()


@pytest.mark.parametrize(("length", "bits"), [(11, 5), (30, 5), (5, 2)])
def test_memorisation_cues_the_recall(length, bits):
    task = Memorisation(length=length, bits=bits)
    xs, targets, weights, *_ = task.batch(0, 500)
    assert (xs[:bits] < 2).all()
    rest = np.full(length - bits, 2)
    rest[length - 2 * bits - 1] = 3
    assert (xs[bits:] == rest[:, None]).all()
    assert np.array_equal(targets[-bits:], xs[:bits])
    assert weights[-bits:].all() and not weights[:-bits].any()


def test_memorisation_is_solved_when_at_most_one_sequence_in_a_thousand_is_wrong():
    """One wrong bit in the 1,000 sequences held out is such a sequence; two may be two."""
    task = Memorisation(length=12)
    (batch,) = task.held_out("valid", 1000)
    for wrong, solved in ((0, True), (1, True), (2, False)):
        answer = batch.targets.copy()
        answer[-1, :wrong] ^= 1
        metric = task.metric.value(task.metric.counts(sure(answer, 2), batch))
        assert (metric >= task.solved - 1e-6) == solved


def test_memorisation_refuses_no_bits():
    with pytest.raises(BadInput, match="bits must be at least 1, got 0"):
        Memorisation(bits=0)


def test_copy_has_the_layout_of_the_paper():
    xs, targets, weights, *_ = Copy(length=25).batch(0, 500)
    assert set(np.unique(xs[:10])) == set(range(8))
    assert (xs[10:14] == 8).all() and (xs[14] == 9).all() and (xs[15:] == 8).all()
    assert (targets[:15] == 8).all() and np.array_equal(targets[15:], xs[:10])
    assert weights.all()


def needed(task) -> np.ndarray:
    """For each of many sequences how far the first input that matters lies before its answer."""
    xs, _, weights, *_ = task.batch(0, 2000)
    first = np.argmax(weights > 0, axis=0)
    if isinstance(task, Adding):
        return first - np.argmax(xs[..., 1] == 1, axis=0)
    if isinstance(task, TemporalOrder):
        return first - np.argmax(xs >= 4, axis=0)
    return first


@pytest.mark.parametrize("make", [Adding, TemporalOrder, TemporalOrder3, Permutation, Memorisation])
@pytest.mark.parametrize("length", [20, 33])
def test_the_lag_is_the_shortest_way_back_to_what_is_needed(make, length):
    task = make(length=length)
    assert task.lag == needed(task).min()


def test_the_lag_of_copy_and_of_xor():
    task = Copy(length=30)
    xs, targets, *_ = task.batch(0, 50)
    assert (targets[task.lag :] == xs[: 30 - task.lag]).all()
    assert Xor(length=9).lag == 1


@pytest.mark.parametrize("seed", [-1, 2**32, 2**63, 1.0, True, "1"])
def test_a_seed_is_what_a_random_key_holds(seed):
    with pytest.raises(BadInput, match="a seed is a whole number from 0 to 4294967295, got"):
        Adding(seed=seed)


def test_the_largest_seed_is_one_of_its_own():
    one, other = (Adding(length=4, seed=seed).batch(0, 2).inputs for seed in (0, 2**32 - 1))
    assert not np.array_equal(one, other)
