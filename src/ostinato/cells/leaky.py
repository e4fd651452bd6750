"""The leaky integrator cell."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax

from ..settings import setting
from .activations import activation
from .initialisers import Initialiser, fan_in, orthogonal
from .simple import Simple


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
        if not 0 <= alpha <= 1:
            raise ValueError(f"alpha must be from 0 to 1, got {alpha}")
        super().__init__(inputs, units, key=key, f=f, input=input, recurrent=recurrent)
        self.alpha = alpha

    def step(self, state: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array]:
        h = activation(self.f)(u + state @ self.R)
        h = (1 - self.alpha) * h + self.alpha * state
        return h, h
