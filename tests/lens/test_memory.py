"""Memory length, and what happens when old inputs are others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.random import key

from everyday import some
from ostinato.cells import Simple
from ostinato.errors import BadInput
from ostinato.lens import ignored_before, influence_by_lag, memory_length
from ostinato.lens.perturbation import spread_lags
from ostinato.wiring import Bidirectional, Network, OneHot, Readout

STEPS = 40


def shift_register(length):
    """A linear net that keeps the last `length` inputs, and gives their sum."""
    cell = Simple(1, length, key=key(0), f="identity")
    R = jnp.eye(length, k=1)
    W = jnp.zeros((1, length)).at[0, 0].set(1.0)
    cell = jax.tree.unflatten(jax.tree.structure(cell), [W, R, 0 * cell.b])
    readout = Readout(length, 1, key=key(1), bias=False)
    readout = jax.tree.unflatten(jax.tree.structure(readout), [jnp.ones((length, 1))])
    return Network(cell, readout)


@pytest.fixture(scope="module")
def xs():
    return np.random.default_rng(0).standard_normal((STEPS, 8, 1))


@pytest.mark.parametrize("length", some([1, 7, 40], [7]))
def test_a_net_that_keeps_so_many_inputs(xs, length):
    network = shift_register(length)
    lags, influence = influence_by_lag(network, xs, lags=range(STEPS))
    change = xs - np.roll(xs, 1, axis=1)
    expected = np.sqrt(np.mean(change[::-1] ** 2, axis=(1, 2))) * (lags < length)
    np.testing.assert_allclose(influence, expected, atol=1e-12)
    assert memory_length(influence, lags) == length - 1
    assert ignored_before(network, xs) == (STEPS - length or None)


def test_another_step_than_the_last(xs):
    network = shift_register(5)
    lags, influence = influence_by_lag(network, xs, at=20, lags=range(21))
    assert memory_length(influence, lags) == 4
    assert ignored_before(network, xs, at=20) == 16


def test_symbols_and_layers():
    symbols = np.random.default_rng(0).integers(0, 3, (STEPS, 8))
    simple = Simple(3, 4, key=key(0), recurrent=lambda k, shape, dtype: 0.5 * jnp.eye(4))
    network = Network(simple, Readout(4, 3, key=key(1)), OneHot(3))
    lags, influence = influence_by_lag(network, symbols)
    assert influence[0] > 0 and (influence[lags > 30] < 1e-6).all()
    assert 3 <= memory_length(influence, lags) <= 10
    layer = Bidirectional(simple, simple)
    xs = np.random.default_rng(0).standard_normal((STEPS, 4, 3))
    _, influence = influence_by_lag(layer, xs)
    assert influence[0] > 0


def test_memory_length():
    assert memory_length([1.0, 0.5, 0.1, 0.002, 0.001]) == 2
    assert memory_length([1.0, 0.5, 0.1, 0.02, 0.001], share=0.1) == 2
    assert memory_length([1.0, 0.0, 0.5], lags=[0, 10, 20]) == 20
    assert memory_length([0.0, 0.0]) == 0
    for not_measured in ([], [np.nan, 1.0], [1.0, np.inf]):
        assert memory_length(not_measured) is None


def test_lags():
    np.testing.assert_array_equal(spread_lags(0), [0])
    np.testing.assert_array_equal(spread_lags(3), [0, 1, 2, 3])
    lags = spread_lags(500)
    assert lags[0] == 0 and lags[-1] == 500 and len(lags) < 20 and (np.diff(lags) > 0).all()


def test_one_sequence_has_no_other_to_take_inputs_from():
    with pytest.raises(BadInput, match="two sequences or more"):
        influence_by_lag(shift_register(2), np.zeros((5, 1, 1)))
