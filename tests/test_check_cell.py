"""`check_cell` on a user's own cell: it accepts a right one, and says what is wrong with others."""

import random

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.cells import Cell
from ostinato.testing import CHECKS, CellError, check_cell


def weights(seed, *shape):
    return jnp.asarray(0.7 * np.random.default_rng(seed).normal(size=shape), jnp.float32)


class Mine(Cell):
    """A correct cell. All others differ from it in one thing."""

    W: jax.Array = eqx.field(default_factory=lambda: weights(0, 3, 4))
    R: jax.Array = eqx.field(default_factory=lambda: weights(1, 4, 4))
    gain: jax.Array = eqx.field(default_factory=lambda: weights(2, 4))

    def initial(self, batch):
        return jnp.zeros((*batch, self.R.shape[0]), self.R.dtype)

    def inputs(self, x):
        return x @ self.W

    def step(self, state, u):
        h = jnp.tanh(u + self.gain * (state @ self.R))
        return h, h


class LargerState(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        return jnp.concatenate([h, h], axis=-1), y


class OtherStructure(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        return (h, h), y


class Impure(Mine):
    def step(self, state, u):
        h, _ = super().step(state, u)
        return h, h + random.random()


class MixedBatch(Mine):
    def step(self, state, u):
        return super().step(state - state.mean(0), u)


class MixedTimes(Mine):
    def inputs(self, x):
        return jnp.cumsum(x, axis=0) @ self.W


@jax.custom_jvp
def scaled(gain, x):
    return gain * x


@scaled.defjvp
def wrong_in_the_gain(primals, tangents):
    (gain, x), (d_gain, d_x) = primals, tangents
    return gain * x, 1.5 * d_gain * x + gain * d_x


class WrongDerivative(Mine):
    def step(self, state, u):
        h = jnp.tanh(u + scaled(self.gain, state @ self.R))
        return h, h


class Unreachable(Mine):
    def step(self, state, u):
        h = jnp.tanh(u + state @ self.R)
        return h, h


class NoBatch(Mine):
    def initial(self, batch):
        return jnp.zeros(self.R.shape[0], self.R.dtype)


class HardCoded(Mine):
    def initial(self, batch):
        return jnp.zeros((*batch, self.R.shape[0]), jnp.float32)


class TwoFaults(Mine):
    """A wrong derivative, and a parameter that nothing reads."""

    unused: jax.Array = eqx.field(default_factory=lambda: weights(3, 4))

    def step(self, state, u):
        h = jnp.tanh(u + scaled(self.gain, state @ self.R))
        return h, h


FAULTS = {
    LargerState: ["step must keep the state's shape", "float64(2, 4)", "float64(2, 8)"],
    OtherStructure: ["step must return a state built like the one it got", "float64(2, 4)"],
    Impure: ["step is not pure", "same state and input"],
    MixedBatch: ["batch axes are mishandled", "than alone"],
    MixedTimes: ["inputs mixes times"],
    WrongDerivative: ["the derivative with respect to parameter .gain is wrong", "differences"],
    Unreachable: ["never reaches the parameter .gain"],
    NoBatch: ["initial((2,)) must return arrays whose first axes are (2,)", "(4,)"],
    HardCoded: ["initial returns float32 where step returns float64", "dtype of a parameter"],
}


def test_a_correct_cell_passes():
    assert jax.tree.leaves(Mine())[0].dtype == jnp.float32
    assert check_cell(Mine()) == [check.__name__ for check in CHECKS]


@pytest.mark.parametrize("cell", FAULTS)
def test_a_fault_is_named(cell):
    with pytest.raises(CellError) as raised:
        check_cell(cell())
    message = str(raised.value)
    assert "\n" not in message  # the one fault, and nothing that follows from it
    assert message.startswith(f"{cell.__name__}")
    for words in FAULTS[cell]:
        assert words in message


def test_all_faults_are_reported():
    with pytest.raises(CellError) as raised:
        check_cell(TwoFaults())
    wrong, unused = str(raised.value).split("\n")
    assert "TwoFaults: the derivative with respect to parameter .gain is wrong" in wrong
    assert "TwoFaults: the loss never reaches the parameter .unused" in unused
