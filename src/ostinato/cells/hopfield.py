"""The Hopfield network."""

from typing import ClassVar

import jax
import jax.numpy as jnp

from ..errors import BadInput
from .building import check_vectors, is_size, rest, zeros
from .cell import Cell


class Hopfield(Cell):
    """`s_t = sign(x_t + R₀ s_{t-1})`: all units at once, where R₀ is R without its diagonal.

    States are -1 or 1. Where the sum is zero, a unit keeps its state. A pattern is recalled from a
    corrupted version of it: either as the initial state, with inputs of zero; or as the input of
    the first step, because the initial state is zero. Repeated steps with symmetric R end at a
    fixed point, or alternate between two states; updates of one unit at a time always end at a
    fixed point (`ostinato.symbolic.recall`).

    There is one unit per bit of a pattern. R starts at zero, and the learners `hebb` and
    `pseudo-inverse` store patterns in it. Its gradient is zero, so no gradient learner can.

    Source: Hopfield (1982); Lipton et al. (2015), section 3.1.

    Shapes: x, state and y `(..., inputs)`; R `(inputs, inputs)`.

    Example:
        >>> cell = Hopfield(4, 4, key=jax.random.key(0))
        >>> pattern = jnp.array([1.0, -1.0, 1.0, 1.0])
        >>> cell = eqx.tree_at(lambda cell: cell.R, cell, jnp.outer(pattern, pattern))
        >>> ys, _ = ostinato.unroll(cell, jnp.zeros((2, 4)), jnp.array([1.0, 1.0, 1.0, 1.0]))
        >>> ys[-1]
        Array([ 1., -1.,  1.,  1.], dtype=float32)
    """

    reads_out: ClassVar[bool] = True
    stores_patterns: ClassVar[bool] = True
    has_units: ClassVar[bool] = False
    has_recurrent_matrix: ClassVar[bool] = False

    R: jax.Array

    def __init__(self, inputs: int, units: int, *, key: jax.Array, outputs: int | None = None):
        """
        Args:
            inputs: bits of a pattern.
            units, key: not used; there is a unit for each bit, and R starts at zero.
            outputs: must be `inputs`.
        """
        if not is_size(inputs):
            raise BadInput(f"a pattern has a positive number of bits, got {inputs!r}")
        if outputs not in (None, inputs):
            raise BadInput(
                f"its outputs are its {inputs} units, one per input, but the task has {outputs}"
            )
        self.R = zeros(inputs, inputs)

    def vector_size(self) -> int:
        return int(self.R.shape[0])

    def initial(self, batch: tuple[int, ...]) -> jax.Array:
        return rest(batch, self.R)

    def inputs(self, x: jax.Array) -> jax.Array:
        check_vectors(self, x, self.R)
        return x.astype(self.R.dtype)

    def step(self, state: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array]:
        a = u + state @ (self.R * (1 - jnp.eye(self.R.shape[0], dtype=self.R.dtype)))
        s = jnp.where(a == 0, state, jnp.sign(a))
        return s, s
