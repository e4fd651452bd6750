"""Elman's cell with context units, one for each hidden unit."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax

from ._activations import activation, function_of
from ._cell import Cell, draw, project, zeros
from .initialisers import Initialiser, glorot, initial


class Elman(Cell):
    """`h_t = f(W x_t + r ⊙ h_{t-1} + b)`: every unit hears its own past and no other's.

    The context unit of a hidden unit holds its last state, which comes along an edge of fixed
    weight 1, and feeds it back to the same hidden unit along an edge with the weight r. With a full
    matrix of edges from context to hidden units instead of these, the cell is `Simple`.

    Source: Lipton et al. (2015), section 3.1, on Elman (1990), who has the full matrix.

    Shapes: x `(..., inputs)`, state and y `(..., units)`; r `(units,)`.

    Example:
        >>> cell = Elman(3, 16, key=jax.random.key(0))
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
            input: initialiser of `W`; `r` is uniform in ±1, and the bias starts at zero.
        """
        activation(f)
        w, r = jax.random.split(key)
        self.W = draw(input, w, inputs, units)
        self.b = zeros(units)
        self.r = jax.random.uniform(r, (units,), self.W.dtype, -1, 1)
        self.f = f

    def initial(self, batch):
        return zeros(*batch, len(self.r)).astype(self.r.dtype)

    def inputs(self, x):
        return project(self, x, self.W, self.b)

    def step(self, state, u):
        h = activation(self.f)(u + self.r * state)
        return h, h
