"""The mean over time, as a cell on top of others."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Cell


class Mean(Cell):
    """`y_t = (x_1 + … + x_t) / t`: the mean of all inputs so far.

    It has no parameters. On top of other layers its last output is the mean of theirs over time, so
    a network that is asked at the last step of a sequence answers from all its states.

    Shapes: x `(..., size)`; state the sum `(..., size)` and the number of steps `(..., 1)`;
    y `(..., size)`.

    Example:
        >>> layers = Stack([LSTM(3, 8, key=key), Mean(8)])
        >>> ys, _ = ostinato.unroll(layers, xs)
        >>> hs, _ = ostinato.unroll(layers.layers[0], xs)
        >>> bool(jnp.allclose(ys[-1], hs.mean(axis=0), atol=1e-6))
        True
    """

    size: int = eqx.field(static=True)
    dtype: str = eqx.field(static=True)

    def __init__(self, size: int, dtype: Any = None):
        """
        Args:
            size: of the inputs.
            dtype: of the sum; by default JAX's for floats.
        """
        self.size = size
        self.dtype = jnp.dtype(jnp.result_type(float) if dtype is None else dtype).name

    def vector_size(self) -> int:
        return self.size

    def initial(self, batch: tuple[int, ...]) -> tuple[jax.Array, jax.Array]:
        return jnp.zeros((*batch, self.size), self.dtype), jnp.zeros((*batch, 1), self.dtype)

    def inputs(self, x: jax.Array) -> jax.Array:
        return x

    def step(self, state: Any, u: jax.Array) -> tuple[Any, jax.Array]:
        total, count = state[0] + u, state[1] + 1
        return (total, count), total / count
