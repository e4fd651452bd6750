"""Inputs with their changes, against differences in NumPy."""

import numpy as np
import pytest

import ostinato
from ostinato.errors import BadInput
from ostinato.wiring import Changes
from ostinato.wiring.changes import spreads_of


def test_changes_are_differences_within_a_sequence_in_units_of_their_spread():
    xs = np.random.default_rng(0).normal(size=(7, 2, 3))
    spreads = [0.5, 1.0, 4.0]
    resets = np.zeros((7, 2), bool)
    resets[3, 1] = True
    ys, _ = ostinato.unroll(Changes(spreads), xs, resets=resets)
    changes = np.diff(xs, axis=0, prepend=xs[:1])
    changes[3, 1] = 0
    np.testing.assert_allclose(ys, np.concatenate([xs, changes / spreads], axis=-1), rtol=1e-12)


def test_spreads_do_not_reach_from_one_sequence_into_the_next():
    rows = np.array([[0.0, 5], [1, 5], [2, 5], [100, 5], [103, 5]])
    size = np.sqrt((1 + 1 + 9) / 3)
    assert spreads_of(rows, np.array([0, 3])) == [pytest.approx(size), 1.0]
    assert spreads_of(rows[:1], np.array([0])) == [1.0, 1.0]


@pytest.mark.parametrize("spreads", [[], [1.0, 0.0], [-1.0], [float("nan")]])
def test_spreads_are_numbers_above_0(spreads):
    with pytest.raises(BadInput, match="spreads must be numbers above 0"):
        Changes(spreads)
