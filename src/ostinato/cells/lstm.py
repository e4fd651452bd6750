"""The LSTM with forget gate and biases, without and with peepholes."""

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from ..settings import setting
from .building import biases, draw, project, rest, split
from .cell import Blocks, Cell, Gates, MemoryRules, Pair
from .initialisers import Initialiser, InitialWeights, fan_in, orthogonal
from .operator import Operator, blocks_of


class LSTM(Cell):
    """`c_t = f ⊙ c_{t-1} + i ⊙ g`, `h_t = o ⊙ tanh(c_t)`.

    `i, f, o = σ(W x_t + R h_{t-1} + b)` and `g = tanh(W x_t + R h_{t-1} + b)`, each with its own
    weights. The blocks of `W`, `R` and `b` are i, f, g, o, in this order.

    Source: Hochreiter and Schmidhuber (1997), Gers et al. (2000); Lipton et al. (2015),
    section 4.1.

    Shapes: x `(..., inputs)`, state `(h, c)` of `(..., units)` each, y = h.

    Example:
        >>> cell = LSTM(3, 16, key=jax.random.key(0))
        >>> ys, (h, c) = ostinato.unroll(cell, xs)
        >>> ys.shape
        (10, 4, 16)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(InitialWeights):
        forget: float = setting(1.0, "initial bias of the forget gate")

    fan_in_input: ClassVar[bool] = True
    memory_cell: ClassVar[bool] = True
    gates: ClassVar[Gates] = {
        "input gate": "sigmoid",
        "forget gate": "sigmoid",
        "output gate": "sigmoid",
        "block input": "tanh",
        "memory": "tanh",
    }
    blocks: ClassVar[Blocks] = {
        "R": ("input gate", "forget gate", "block input", "output gate"),
        "W": ("gates (W)",),
    }

    W: jax.Array
    R: jax.Array
    b: jax.Array

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        key: jax.Array,
        forget: float = 1.0,
        input: Initialiser = fan_in(),
        recurrent: Initialiser = orthogonal(),
    ):
        """
        Args:
            inputs, units: sizes of `x_t` and `h_t`.
            key: random key for the initial weights.
            forget: initial bias of the forget gate; the other biases start at zero.
            input, recurrent: initialisers of each block of `W` and `R`.
        """
        w, r = jax.random.split(key)
        self.W = draw(input, w, inputs, units, blocks=4)
        self.R = draw(recurrent, r, units, units, blocks=4)
        self.b = biases(units, 0.0, forget, 0.0, 0.0)

    def initial(self, batch: tuple[int, ...]) -> Pair:
        return rest(batch, self.R), rest(batch, self.R)

    def inputs(self, x: jax.Array) -> jax.Array:
        return project(self, x, self.W, self.b)

    def step(self, state: Pair, u: jax.Array) -> tuple[Pair, jax.Array]:
        h, c = state
        a = u + h @ self.R
        # One sigmoid over all blocks, g included, compiles to faster code than three.
        i, f, _, o = split(jax.nn.sigmoid(a), 4)
        c = f * c + i * jnp.tanh(split(a, 4)[2])
        h = o * jnp.tanh(c)
        return (h, c), h

    def operators(self) -> list[list[Operator]]:
        W, R, b = (blocks_of(x, 4) for x in (self.W, self.R, self.b))
        return [[Operator("lstm", W, R, b, jnp.zeros_like(b))]]

    def peepholes(self) -> jax.Array:
        """The weights `(3, units)` by which i, f and o read the memory cell: zero here."""
        return jnp.zeros((3, len(self.R)), self.R.dtype)

    def memory_rules(self) -> MemoryRules:
        def memory(a: jax.Array, c: jax.Array) -> jax.Array:
            i, f, g, _ = split(a, 4)
            return jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)

        return MemoryRules(memory, gated_tanh, (self.W, self.R, self.b))


def gated_tanh(o: jax.Array, c: jax.Array) -> jax.Array:
    """`σ(o) tanh(c)`, the output of a memory cell."""
    return jax.nn.sigmoid(o) * jnp.tanh(c)


class PeepholeLSTM(LSTM):
    """The LSTM whose gates also read the memory cell c.

    `p ⊙ c_{t-1}` is added to the pre-activations of i and f, and `p ⊙ c_t` to that of o.

    Source: Gers and Schmidhuber (2000); Delgado del Cerro (2021), (4.1-4.5), which has no biases:
    set `b` to zero for its equations.

    Shapes: as `LSTM`; the peepholes `p` are `(3, units)`, for i, f and o.

    Example:
        >>> cell = PeepholeLSTM(3, 16, key=jax.random.key(0), forget=2.0)
        >>> cell.p.shape
        (3, 16)
    """

    gates: ClassVar[Gates] = {
        "input gate": "sigmoid",
        "forget gate": "sigmoid",
        "block input": "tanh",
        "output gate": "sigmoid",
        "memory": "tanh",
    }
    blocks: ClassVar[Blocks] = LSTM.blocks

    p: jax.Array

    def __init__(self, inputs: int, units: int, *, key: jax.Array, **options: Any):
        """Args: those of `LSTM`; the peepholes start from N(0, 0.1²)."""
        main, peep = jax.random.split(key)
        super().__init__(inputs, units, key=main, **options)
        self.p = 0.1 * jax.random.normal(peep, (3, units), self.R.dtype)

    def step(self, state: Pair, u: jax.Array) -> tuple[Pair, jax.Array]:
        h, c = state
        i, f, g, o = split(u + h @ self.R, 4)
        i = jax.nn.sigmoid(i + self.p[0] * c)
        f = jax.nn.sigmoid(f + self.p[1] * c)
        c = f * c + i * jnp.tanh(g)
        h = jax.nn.sigmoid(o + self.p[2] * c) * jnp.tanh(c)
        return (h, c), h

    def operators(self) -> list[list[Operator]]:
        ((plain,),) = super().operators()
        return [[plain._replace(p=self.p)]]

    def peepholes(self) -> jax.Array:
        return self.p
