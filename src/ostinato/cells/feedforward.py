"""A layer without recurrence, as a cell."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax

from .activations import activation, function_of
from .building import draw, project, zeros
from .cell import Cell
from .initialisers import Initialiser, fan_in, initial


class Feedforward(Cell):
    """`h_t = f(W x_t + b)`: a cell without a state.

    It is the simplest cell, a layer of perceptrons, and the feedforward controller of a neural
    Turing machine, in which all memory is outside the controller.

    Source: Rosenblatt (1958); as a controller Graves, Wayne and Danihelka (2014), section 3.4.

    Shapes: x `(..., inputs)`, y `(..., units)`; the state is `()`.

    Example:
        >>> cell = Feedforward(3, 16, key=jax.random.key(0))
        >>> ys, state = ostinato.unroll(cell, xs)
        >>> ys.shape, state
        ((10, 4, 16), ())
    """

    @dataclasses.dataclass(frozen=True)
    class Settings:
        f: str = function_of("the units")
        input: str | None = initial("input weights")

    fan_in_input: ClassVar[bool] = True
    has_recurrent_matrix: ClassVar[bool] = False

    W: jax.Array
    b: jax.Array
    f: str = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        key: jax.Array,
        f: str = "tanh",
        input: Initialiser = fan_in(),
    ):
        """
        Args:
            inputs, units: sizes of `x_t` and `h_t`.
            key: random key for the initial weights.
            f: `tanh`, `sigmoid`, `relu`, `identity` or `step`.
            input: initialiser of `W`; the bias starts at zero.
        """
        self.W = draw(input, key, inputs, units)
        self.b = zeros(units)
        self.f = f

    def initial(self, batch: tuple[int, ...]) -> tuple[()]:
        return ()

    def inputs(self, x: jax.Array) -> jax.Array:
        return project(self, x, self.W, self.b)

    def step(self, state: tuple[()], u: jax.Array) -> tuple[tuple[()], jax.Array]:
        return (), activation(self.f)(u)
