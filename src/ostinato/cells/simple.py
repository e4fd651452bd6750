"""The simple recurrent cell, also called Elman network, and the leaky integrator."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ..settings import setting
from .activations import activation, function_of
from .building import draw, project, rest, zeros
from .cell import Blocks, Cell
from .initialisers import Initialiser, InitialWeights, fan_in, orthogonal
from .operator import Operator


class Simple(Cell):
    """`h_t = f(W x_t + R h_{t-1} + b)`.

    Sources: Elman (1990); Galvan (2015), definitions 3-4; Delgado del Cerro (2021), (2.5); Lipton
    et al. (2015), section 3; Krause (2015), (2.1). With `f="step"` the units are threshold units,
    and the gradient is zero.

    Krause (2015), section 4.2, initialises with `input=normal(0.1)` and `recurrent=sparse()`.

    Shapes: x `(..., inputs)`, state and y `(..., units)`.

    Example:
        >>> cell = Simple(3, 16, key=jax.random.key(0), f="relu")
        >>> ys, h = ostinato.unroll(cell, xs)
        >>> ys.shape, h.shape
        ((10, 4, 16), (4, 16))
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(InitialWeights):
        f: str = function_of("the units")

    fan_in_input: ClassVar[bool] = True
    is_simple: ClassVar[bool] = True
    blocks: ClassVar[Blocks] = {"R": ("units (R)",)}
    readout_bias: ClassVar[bool | None] = None  # Krause (2015), (2.2), has none on a text

    W: jax.Array
    R: jax.Array
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
        recurrent: Initialiser = orthogonal(),
    ):
        """
        Args:
            inputs: size of `x_t`.
            units: size of `h_t`.
            key: random key for the initial weights.
            f: `tanh`, `sigmoid`, `relu`, `identity` or `step`.
            input, recurrent: initialisers of `W` and `R`; the bias starts at zero.
        """
        w, r = jax.random.split(key)
        self.W = draw(input, w, inputs, units)
        self.R = draw(recurrent, r, units, units)
        self.b = zeros(units)
        self.f = f

    def initial(self, batch: tuple[int, ...]) -> jax.Array:
        return rest(batch, self.R)

    def inputs(self, x: jax.Array) -> jax.Array:
        return project(self, x, self.W, self.b)

    def step(self, state: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array]:
        h = activation(self.f)(u + state @ self.R)
        return h, h

    def operators(self) -> list[list[Operator]] | None:
        W, R, b = self.W[None], self.R[None], self.b[None]
        return [[Operator("rnn", W, R, b, jnp.zeros_like(b), f=self.f)]]


class Leaky(Simple):
    """`h_t = (1 - α) f(W x_t + R h_{t-1} + b) + α h_{t-1}`.

    Source: Galvan (2015), (2.22), with `h_{t-1}` where the text prints `h_t`. With α = 0 it is
    `Simple`; with α near 1 the units change slowly.

    Shapes: x `(..., inputs)`, state and y `(..., units)`.

    Example:
        >>> cell = Leaky(3, 16, key=jax.random.key(0), alpha=0.9)
        >>> ys, h = ostinato.unroll(cell, xs)
        >>> ys.shape
        (10, 4, 16)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(Simple.Settings):
        alpha: float = setting(0.5, "how much of the past stays", min=0, max=1)

    fan_in_input: ClassVar[bool] = True
    readout_bias: ClassVar[bool | None] = True

    alpha: float = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        key: jax.Array,
        alpha: float = 0.5,
        f: str = "tanh",
        input: Initialiser = fan_in(),
        recurrent: Initialiser = orthogonal(),
    ):
        """Args: those of `Simple`, and `alpha`, the fraction of the state that is kept (0 to 1)."""
        super().__init__(inputs, units, key=key, f=f, input=input, recurrent=recurrent)
        self.alpha = alpha

    def step(self, state: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array]:
        h = activation(self.f)(u + state @ self.R)
        h = (1 - self.alpha) * h + self.alpha * state
        return h, h
