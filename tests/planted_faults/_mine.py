"""The correct cell from which every planted fault differs in one thing, and the list of faults."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ostinato.cells import Cell

FAULTS: dict[type, tuple[str, ...]] = {}


def fault(*words: str):
    """List a class as a fault; the line that `check_cell` gives must hold all these words."""

    def listed(cell: type) -> type:
        assert cell not in FAULTS and words
        FAULTS[cell] = words
        return cell

    return listed


def weights(seed, *shape):
    return jnp.asarray(0.7 * np.random.default_rng(seed).normal(size=shape), jnp.float32)


def parameter(seed, *shape):
    return eqx.field(default_factory=lambda: weights(seed, *shape))


class Mine(Cell):
    """`h ← tanh(x W + gain ⊙ (h R))`."""

    W: jax.Array = parameter(0, 3, 4)
    R: jax.Array = parameter(1, 4, 4)
    gain: jax.Array = parameter(2, 4)

    def initial(self, batch):
        return jnp.zeros((*batch, self.R.shape[0]), self.R.dtype)

    def inputs(self, x):
        return x @ self.W

    def step(self, state, u):
        h = jnp.tanh(u + self.gain * (state @ self.R))
        return h, h
