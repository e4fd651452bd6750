"""The LSTM as first published: no forget gate, and a truncated gradient."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp

from ..settings import setting
from ._cell import Cell, draw, project, rest, split, zeros
from .initialisers import Initialiser, InitialWeights, glorot, orthogonal


class LSTM1997(Cell):
    """`c_t = c_{t-1} + i ⊙ g`, `h_t = o ⊙ tanh(c_t)`.

    `i, g, o = σ(W x_t + R h_{t-1} + b)`: the block input is squashed by σ too. The three stand
    side by side in `W`, `R` and `b`, in the order i, g, o.

    With `truncated=True` the cell computes the same, but errors flow back in time through `c`
    alone, and not through `h_{t-1}` into the gates: `∂c_t/∂c_{t-1} = 1` exactly, so that the
    error neither vanishes nor explodes. This is the gradient of the original learning algorithm;
    it is not the gradient of the loss.

    Source: Hochreiter and Schmidhuber (1997); Galvan (2015), (2.1-2.5). The truncation: Krause
    (2015), (2.17).

    Shapes: x `(..., inputs)`, state `(h, c)` of `(..., units)` each, y = h.

    Example:
        >>> cell = LSTM1997(3, 16, key=jax.random.key(0), truncated=True)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(InitialWeights):
        truncated: bool = setting(False, "errors flow back through the memory cells alone")

    W: jax.Array
    R: jax.Array
    b: jax.Array
    truncated: bool = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        key: jax.Array,
        truncated: bool = False,
        input: Initialiser = glorot(),
        recurrent: Initialiser = orthogonal(),
    ):
        """
        Args:
            inputs, units: sizes of `x_t` and `h_t`.
            key: random key for the initial weights.
            truncated: differentiate as the original algorithm does.
            input, recurrent: initialisers of each block of `W` and `R`; biases start at zero.
        """
        w, r = jax.random.split(key)
        self.W = draw(input, w, inputs, units, blocks=3)
        self.R = draw(recurrent, r, units, units, blocks=3)
        self.b = zeros(3 * units)
        self.truncated = truncated

    def initial(self, batch):
        return rest(batch, self.R), rest(batch, self.R)

    def inputs(self, x):
        return project(self, x, self.W, self.b)

    def step(self, state, u):
        h, c = state
        if self.truncated:
            h = jax.lax.stop_gradient(h)
        i, g, o = split(jax.nn.sigmoid(u + h @ self.R), 3)
        c = c + i * g
        h = o * jnp.tanh(c)
        return (h, c), h
