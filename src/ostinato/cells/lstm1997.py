"""The original LSTM: no forget gate, and optionally its truncated gradient."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ..settings import setting
from .building import draw, project, rest, split, zeros
from .cell import Blocks, Cell, Gates, MemoryRules, Pair
from .initialisers import Initialiser, InitialWeights, fan_in, orthogonal
from .lstm import gated_tanh


class LSTM1997(Cell):
    """`c_t = c_{t-1} + i ⊙ g`, `h_t = o ⊙ tanh(c_t)`.

    `i, g, o = σ(W x_t + R h_{t-1} + b)`; the block input g also goes through σ. The blocks of `W`,
    `R` and `b` are i, g, o, in this order.

    `truncated=True` changes the gradient and not the output: errors flow back in time through `c`
    only, not through `h_{t-1}` into the gates. Then `∂c_t/∂c_{t-1} = 1` exactly, and the error
    neither vanishes nor explodes. This is the gradient of the original learning algorithm, not the
    gradient of the loss.

    Source: Hochreiter and Schmidhuber (1997); Galvan (2015), (2.1-2.5). The truncation: Krause
    (2015), (2.17).

    Shapes: x `(..., inputs)`, state `(h, c)` of `(..., units)` each, y = h.

    Example:
        >>> cell = LSTM1997(3, 16, key=jax.random.key(0), truncated=True)
        >>> ys, (h, c) = ostinato.unroll(cell, xs)
        >>> ys.shape
        (10, 4, 16)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(InitialWeights):
        truncated: bool = setting(False, "errors flow back through the memory cells alone")

    fan_in_input: ClassVar[bool] = True
    memory_cell: ClassVar[bool] = True
    gates: ClassVar[Gates] = {
        "input gate": "sigmoid",
        "block input": "sigmoid",
        "output gate": "sigmoid",
        "memory": "tanh",
    }
    blocks: ClassVar[Blocks] = {"R": ("input gate", "block input", "output gate")}

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
        input: Initialiser = fan_in(),
        recurrent: Initialiser = orthogonal(),
    ):
        """
        Args:
            inputs, units: sizes of `x_t` and `h_t`.
            key: random key for the initial weights.
            truncated: use the truncated gradient of the original algorithm.
            input, recurrent: initialisers of each block of `W` and `R`; biases start at zero.
        """
        w, r = jax.random.split(key)
        self.W = draw(input, w, inputs, units, blocks=3)
        self.R = draw(recurrent, r, units, units, blocks=3)
        self.b = zeros(3 * units)
        self.truncated = truncated

    def initial(self, batch: tuple[int, ...]) -> Pair:
        return rest(batch, self.R), rest(batch, self.R)

    def inputs(self, x: jax.Array) -> jax.Array:
        return project(self, x, self.W, self.b)

    def step(self, state: Pair, u: jax.Array) -> tuple[Pair, jax.Array]:
        h, c = state
        if self.truncated:
            h = jax.lax.stop_gradient(h)
        i, g, o = split(jax.nn.sigmoid(u + h @ self.R), 3)
        c = c + i * g
        h = o * jnp.tanh(c)
        return (h, c), h

    def memory_rules(self) -> MemoryRules:
        def memory(a: jax.Array, c: jax.Array) -> jax.Array:
            i, g, _ = split(jax.nn.sigmoid(a), 3)
            return c + i * g

        return MemoryRules(memory, gated_tanh, (self.W, self.R, self.b))
