"""Elman's cell with one context unit per hidden unit."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax

from ._activations import activation, function_of
from ._cell import Cell, draw, project, zeros
from .initialisers import Initialiser, glorot, initial


class Elman(Cell):
    """`h_t = f(W x_t + r ⊙ h_{t-1} + b)`: every unit sees only its own past.

    Each hidden unit has a context unit, which copies the unit's previous activation (a connection
    of fixed weight 1) and feeds it back with weight r. With a full matrix of connections from
    context to hidden units, the cell is `Simple`.

    Source: Lipton et al. (2015), section 3.1, on Elman (1990), whose network has the full matrix.

    Shapes: x `(..., inputs)`, state and y `(..., units)`; r `(units,)`.

    Example:
        >>> cell = Elman(3, 16, key=jax.random.key(0))
        >>> ys, h = ostinato.unroll(cell, xs)
        >>> ys.shape
        (10, 4, 16)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings:
        f: str = function_of("the units")
        input: str | None = initial("input weights")

    has_recurrent_matrix: ClassVar[bool] = False

    W: jax.Array
    r: jax.Array
    b: jax.Array
    f: str = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        key: jax.Array,
        f: str = "tanh",
        input: Initialiser = glorot(),
    ):
        """
        Args:
            inputs, units: sizes of `x_t` and `h_t`.
            key: random key for the initial weights.
            f: `tanh`, `sigmoid`, `relu`, `identity` or `step`.
            input: initialiser of `W`; `r` starts uniform in [-1, 1], the bias at zero.
        """
        activation(f)
        w, r = jax.random.split(key)
        self.W = draw(input, w, inputs, units)
        self.b = zeros(units)
        self.r = jax.random.uniform(r, (units,), self.W.dtype, -1, 1)
        self.f = f

    def initial(self, batch: tuple[int, ...]) -> jax.Array:
        return zeros(*batch, len(self.r)).astype(self.r.dtype)

    def inputs(self, x: jax.Array) -> jax.Array:
        return project(self, x, self.W, self.b)

    def step(self, state: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array]:
        h = activation(self.f)(u + self.r * state)
        return h, h
