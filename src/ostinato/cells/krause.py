"""The LSTM and the multiplicative LSTM of Krause (2015): no biases, and a linear block input."""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp

from ..settings import setting
from .building import draw, of_rows, project, rest, split
from .cell import Blocks, Cell, Gates, MemoryRules, Pair
from .initialisers import Initialiser, InitialWeights, fan_in, normal
from .multiplicative import factor_size

FOUR = ("input gate", "forget gate", "block input", "output gate")
GATES = {
    "input gate": "sigmoid",
    "forget gate": "sigmoid",
    "output gate": "sigmoid",
    "output": "tanh",
}


@dataclasses.dataclass(frozen=True)
class KrauseWeights(InitialWeights):
    """How the weights of an LSTM of Krause (2015) start."""

    forget: float = setting(
        0.0, "added to the initial input weights of the forget gate: for symbols, its bias"
    )


class KrauseLSTM(Cell):
    """`c_t = f ⊙ c_{t-1} + i ⊙ g`, `h_t = tanh(c_t ⊙ o)`.

    `i, f, o = σ(W x_t + R h_{t-1})` and `g = W x_t + R h_{t-1}`, without biases. The blocks of `W`
    and `R` are i, f, g, o, in this order.

    Source: Krause (2015), algorithm 2. Section 4.3 draws all initial weights from N(0, 0.1²), as
    `input=normal(0.1)` does here. With n inputs and h units it has `4h² + 4nh` parameters.

    Shapes: x `(..., inputs)`, state `(h, c)` of `(..., units)` each, y = h.

    Example:
        >>> cell = KrauseLSTM(70, 195, key=jax.random.key(0))
        >>> ostinato.count_parameters(cell)
        206700
    """

    Settings = KrauseWeights
    fan_in_input: ClassVar[bool] = True
    readout_bias: ClassVar[bool | None] = False  # no bias anywhere: Krause (2015), (2.16)
    memory_cell: ClassVar[bool] = True
    gates: ClassVar[Gates] = GATES
    blocks: ClassVar[Blocks] = {"R": FOUR}

    W: jax.Array
    R: jax.Array

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        key: jax.Array,
        forget: float = 0.0,
        input: Initialiser = fan_in(),
        recurrent: Initialiser = normal(0.1),
    ):
        """
        Args:
            inputs, units: sizes of `x_t` and `h_t`.
            key: random key for the initial weights.
            forget: is added to all initial input weights of the forget gate. One of the entries of
                a one-hot vector is 1, so for symbols it is the bias that the cell lacks.
            input, recurrent: initialisers of each block of `W` and `R`.
        """
        w, r = jax.random.split(key)
        self.W = _remembering(draw(input, w, inputs, units, blocks=4), forget)
        self.R = draw(recurrent, r, units, units, blocks=4)

    def initial(self, batch: tuple[int, ...]) -> Pair:
        return rest(batch, self.R), rest(batch, self.R)

    def inputs(self, x: jax.Array) -> jax.Array:
        return project(self, x, self.W)

    def step(self, state: Pair, u: jax.Array) -> tuple[Pair, jax.Array]:
        h, c = state
        return _remember(u + h @ self.R, c)

    def memory_rules(self) -> MemoryRules:
        def memory(a: jax.Array, c: jax.Array) -> jax.Array:
            i, f, g, _ = split(a, 4)
            return jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * g

        return MemoryRules(memory, tanh_of_gated, (self.W, self.R))


def tanh_of_gated(o: jax.Array, c: jax.Array) -> jax.Array:
    """`tanh(c σ(o))`, the output of a memory cell of Krause (2015)."""
    return jnp.tanh(c * jax.nn.sigmoid(o))


class MLSTM(Cell):
    """The LSTM of Krause (2015) with `m_t` in place of `h_{t-1}`.

    `m_t = (W_m x_t) ⊙ (R_m h_{t-1})`; all gates and the block input read `R m_t`.

    Source: Krause (2015), (4.7-4.10) and algorithm 7. Section 4.5 draws all initial weights from
    N(0, 0.1²), as `input=normal(0.1)` does here. With n inputs and h units it has `5h² + 5nh`
    parameters.

    Shapes: x `(..., inputs)`, state `(h, c)` of `(..., units)` each, y = h.

    Example:
        >>> cell = MLSTM(70, 170, key=jax.random.key(0))
        >>> ostinato.count_parameters(cell)
        204000
    """

    Settings = KrauseWeights
    fan_in_input: ClassVar[bool] = True
    readout_bias: ClassVar[bool | None] = False  # no bias anywhere: Krause (2015), (2.16)
    gates: ClassVar[Gates] = GATES
    blocks: ClassVar[Blocks] = {"R": FOUR, "Rm": ("factor m (Rm)",)}

    W: jax.Array
    R: jax.Array
    Wm: jax.Array
    Rm: jax.Array

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        key: jax.Array,
        factor_inputs: int | None = None,
        forget: float = 0.0,
        input: Initialiser = fan_in(),
        recurrent: Initialiser = normal(0.1),
    ):
        """
        Args:
            inputs, units: sizes of `x_t` and `h_t`.
            key: random key for the initial weights.
            factor_inputs: how many of the inputs, from the first, `W_m` reads; default all.
            forget: is added to all initial input weights of the forget gate, as in `KrauseLSTM`.
            input, recurrent: initialisers of each block of `W` and `W_m`, `R` and `R_m`.
        """
        w, r, wm, rm = jax.random.split(key, 4)
        self.W = _remembering(draw(input, w, inputs, units, blocks=4), forget)
        self.R = draw(recurrent, r, units, units, blocks=4)
        self.Wm = draw(input, wm, factor_size(inputs, factor_inputs), units)
        self.Rm = draw(recurrent, rm, units, units)

    def initial(self, batch: tuple[int, ...]) -> Pair:
        return rest(batch, self.R), rest(batch, self.R)

    def inputs(self, x: jax.Array) -> Pair:
        return project(self, x, self.W), of_rows(x[..., : self.Wm.shape[0]], self.Wm)

    def step(self, state: Pair, u: Pair) -> tuple[Pair, jax.Array]:
        (h, c), (a, factor) = state, u
        m = factor * (h @ self.Rm)
        return _remember(a + m @ self.R, c)


def _remembering(W: jax.Array, forget: float) -> jax.Array:
    """Input weights whose second block, that of the forget gate, is larger by `forget`."""
    units = W.shape[1] // 4
    return W.at[:, units : 2 * units].add(forget) if forget else W


def _remember(a: jax.Array, c: jax.Array) -> tuple[Pair, jax.Array]:
    # One sigmoid over all blocks, g included, compiles to faster code than three.
    i, f, _, o = split(jax.nn.sigmoid(a), 4)
    c = f * c + i * split(a, 4)[2]
    h = jnp.tanh(c * o)
    return (h, c), h
