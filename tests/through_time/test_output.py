"""The output of a step, read off a state that the step did not compute."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.random import key

from ostinato.cells import LSTM, Cell, Delay
from ostinato.through_time.output import output_from
from ostinato.wiring import Dropout, Network, Readout, Stack

UNITS = 2
ONE, TWO = jax.random.split(key(1))
LSTM_ONE = LSTM(UNITS, UNITS, key=ONE)


class Jitted(Cell):
    """A cell whose step is one compiled call, and whose output also reads the state before it."""

    def initial(self, batch):
        return jnp.ones((*batch, UNITS))

    def inputs(self, x):
        return x

    def step(self, state, u):
        @jax.jit
        def step(state, u):
            new = jnp.tanh(state + u)
            return new, 3 * new + state

        return step(state, u)


NETWORK = Network(LSTM_ONE, Readout(UNITS, 3, key=TWO))
DROPOUT = Dropout(LSTM_ONE, 0.5, key=TWO)
# How each output is a function of the state after the step, and of the one before it.
CASES = {
    "lstm": (LSTM_ONE, lambda after, before: after[0]),
    "network": (NETWORK, lambda after, before: NETWORK.readout(after[0])),
    "stack": (
        Stack([LSTM_ONE, LSTM(UNITS, UNITS, key=TWO)]),
        lambda after, before: after[1][0],
    ),
    "delay": (
        Delay(UNITS, UNITS, key=ONE, delay=2, dt=0.5),
        lambda after, before: jnp.tanh(after[0]),
    ),
    "dropout": (DROPOUT, lambda after, before: DROPOUT._drop(0, after[0], 0.5)),
    "jitted": (Jitted(), lambda after, before: 3 * after + before),
}


def normal(seed, tree):
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda x: jnp.asarray(rng.normal(size=x.shape)), tree)


@pytest.mark.parametrize("case", CASES)
def test_the_output_is_that_of_the_given_state(case):
    cell, read = CASES[case]
    after, before = (normal(seed, cell.initial((3,))) for seed in (0, 1))
    u = cell.inputs(normal(2, jnp.zeros((3, UNITS))))
    expected = read(after, before)
    np.testing.assert_allclose(output_from(cell, after, before, u), expected, rtol=1e-14)
    new, y = cell.step(before, u)
    np.testing.assert_allclose(output_from(cell, new, before, u), y, rtol=1e-14)
    assert np.max(np.abs(expected - y)) > 1e-2
