"""Elman's cell, with a context unit per hidden unit."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax

from ..settings import setting
from .activations import activation, function_of
from .building import draw, project, rest, zeros
from .cell import Cell
from .initialisers import Initialiser, fan_in, initial, orthogonal

CONTEXTS = ("one-to-one", "full")


class Elman(Cell):
    """`c_t = h_{t-1}`, `h_t = f(W x_t + r ⊙ c_t + b)`: every unit sees only its own past.

    Each hidden unit has a context unit, which copies the unit's previous activation along a
    connection of fixed weight 1. With `context="one-to-one"` it feeds back into the same hidden
    unit with weight r, as Lipton et al. draw it; with `context="full"` all context units feed back
    into all hidden units, `h_t = f(W x_t + r c_t + b)`, as in Elman's network, which is `Simple`.

    Source: Elman (1990), Finding structure in time; Lipton et al. (2015), section 3.1 and fig. 6.

    Shapes: x `(..., inputs)`, state and y `(..., units)`; r `(units,)`, if full `(units, units)`.

    Example:
        >>> cell = Elman(3, 16, key=jax.random.key(0))
        >>> ys, h = ostinato.unroll(cell, xs)
        >>> ys.shape
        (10, 4, 16)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings:
        f: str = function_of("the units")
        context: str = setting(
            "one-to-one", "which hidden units a context unit feeds back into", among=CONTEXTS
        )
        input: str | None = initial("input weights")

    fan_in_input: ClassVar[bool] = True
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
        context: str = "one-to-one",
        input: Initialiser = fan_in(),
    ):
        """
        Args:
            inputs, units: sizes of `x_t` and `h_t`.
            key: random key for the initial weights.
            f: `tanh`, `sigmoid`, `relu`, `identity` or `step`.
            context: `"one-to-one"` or `"full"`.
            input: initialiser of `W`; the bias starts at zero, `r` uniform in [-1, 1], or
                orthogonal if it is full.
        """
        w, r = jax.random.split(key)
        self.W = draw(input, w, inputs, units)
        self.b = zeros(units)
        if context == "full":
            self.r = draw(orthogonal(), r, units, units)
        else:
            self.r = jax.random.uniform(r, (units,), self.W.dtype, -1, 1)
        self.f = f

    def initial(self, batch: tuple[int, ...]) -> jax.Array:
        return rest(batch, self.r)

    def inputs(self, x: jax.Array) -> jax.Array:
        return project(self, x, self.W, self.b)

    def step(self, state: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array]:
        context = state  # a copy: weights of 1
        fed_back = self.r * context if self.r.ndim == 1 else context @ self.r
        h = activation(self.f)(u + fed_back)
        return h, h
