"""The Jordan cell, which feeds back its output."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax

from ..settings import setting
from .activations import activation, function_of
from .building import draw, project, rest, zeros
from .cell import Cell, Pair
from .initialisers import Initialiser, InitialWeights, fan_in, glorot


class Jordan(Cell):
    """`s_t = α s_{t-1} + y_{t-1}`, `h_t = f(W x_t + R s_t + b)`, `y_t = g(V h_t)`.

    `V` is the network's readout: the loss reads y, and y is fed back into the context s. A network
    of this cell therefore has no readout of its own: `Network(cell, None)`.

    Source: Jordan (1986); Lipton et al. (2015), section 3.1 and figure 5. The context s decays by
    the fixed factor α.

    Shapes: x `(..., inputs)`, state `(s, y)` of `(..., outputs)` each, y `(..., outputs)`.

    Example:
        >>> cell = Jordan(3, 16, outputs=4, alpha=0.5, key=jax.random.key(0))
        >>> ys, (s, y) = ostinato.unroll(cell, xs)
        >>> ys.shape
        (10, 4, 4)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(InitialWeights):
        alpha: float = setting(0.5, "how much of the past stays")
        f: str = function_of("the units")
        g: str = function_of("the output units", "identity")

    fan_in_input: ClassVar[bool] = True
    reads_out: ClassVar[bool] = True

    W: jax.Array
    R: jax.Array
    b: jax.Array
    V: jax.Array
    alpha: float = eqx.field(static=True)
    f: str = eqx.field(static=True)
    g: str = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        key: jax.Array,
        outputs: int | None = None,
        alpha: float = 0.5,
        f: str = "tanh",
        g: str = "identity",
        input: Initialiser = fan_in(),
        recurrent: Initialiser = glorot(),
    ):
        """
        Args:
            inputs, units: sizes of `x_t` and `h_t`.
            key: random key for the initial weights.
            outputs: size of `y_t`; defaults to `units`, for a layer below others.
            alpha: the context's decay.
            f, g: activations of the hidden and the output units.
            input, recurrent: initialisers of `W`, and of `R` and `V`.
        """
        outputs = units if outputs is None else outputs
        w, r, v = jax.random.split(key, 3)
        self.W = draw(input, w, inputs, units)
        self.R = draw(recurrent, r, outputs, units)
        self.b = zeros(units)
        self.V = draw(recurrent, v, units, outputs)
        self.alpha, self.f, self.g = alpha, f, g

    def initial(self, batch: tuple[int, ...]) -> Pair:
        return rest(batch, self.R), rest(batch, self.R)

    def inputs(self, x: jax.Array) -> jax.Array:
        return project(self, x, self.W, self.b)

    def step(self, state: Pair, u: jax.Array) -> tuple[Pair, jax.Array]:
        s, y = state
        s = self.alpha * s + y
        h = activation(self.f)(u + s @ self.R)
        y = activation(self.g)(h @ self.V)
        return (s, y), y
