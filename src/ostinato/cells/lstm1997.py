"""The LSTM without forget gate in its three published forms, and its truncated gradient."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ..settings import setting
from .building import draw, project, rest, split, zeros
from .cell import Blocks, Cell, Gates, MemoryRules, Pair
from .initialisers import Initialiser, InitialWeights, fan_in, orthogonal
from .krause import tanh_of_gated
from .lstm import gated_tanh

# What a step of each variant squashes, in the order in which it does.
_TWO = {"input gate": "sigmoid", "output gate": "sigmoid"}
GATES: dict[str, Gates] = {
    "original": {
        "input gate": "sigmoid",
        "block input": "sigmoid",
        "output gate": "sigmoid",
        "memory": "tanh",
    },
    "lipton": {**_TWO, "block input": "tanh", "memory": "tanh"},
    "krause": {**_TWO, "output": "tanh"},
}
VARIANTS = tuple(GATES)


class LSTM1997(Cell):
    """`c_t = c_{t-1} + i ⊙ g`, with gates `i, o = σ(a)` and `a = W x_t + R h_{t-1} + b`.

    The block input g and the output depend on the variant:

        original    g = σ(a)       h_t = o ⊙ tanh(c_t)    Hochreiter and Schmidhuber (1997)
        lipton      g = tanh(a)    h_t = o ⊙ tanh(c_t)    `LSTM` with f = 1
        krause      g = a          h_t = tanh(c_t ⊙ o)    no bias; `KrauseLSTM` with f = 1

    The blocks of `W`, `R` and `b` are i, g, o, in this order.

    `truncated=True` changes the gradient and not the output: errors flow back in time through `c`
    only, not through `h_{t-1}` into the gates. Then `∂c_t/∂c_{t-1} = 1` exactly, and the error
    neither vanishes nor explodes. This is the gradient of the original learning algorithm, not the
    gradient of the loss.

    Source: Hochreiter and Schmidhuber (1997); Galvan (2015), (2.1-2.5); Lipton et al. (2015),
    section 4.1; Krause (2015), (2.11-2.15), whose readout (2.16) has no bias either
    (`--readout plain`). The truncation: Krause (2015), (2.17).

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
        variant: str = setting(
            "original",
            f"form of the LSTM without forget gate: {', '.join(VARIANTS)}",
            among=VARIANTS,
        )

    fan_in_input: ClassVar[bool] = True
    memory_cell: ClassVar[bool] = True
    gates: ClassVar[Gates] = GATES["original"]
    blocks: ClassVar[Blocks] = {"R": ("input gate", "block input", "output gate")}

    W: jax.Array
    R: jax.Array
    b: jax.Array | None
    truncated: bool = eqx.field(static=True)
    variant: str = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        key: jax.Array,
        truncated: bool = False,
        variant: str = "original",
        input: Initialiser = fan_in(),
        recurrent: Initialiser = orthogonal(),
    ):
        """
        Args:
            inputs, units: sizes of `x_t` and `h_t`.
            key: random key for the initial weights.
            truncated: use the truncated gradient of the original algorithm.
            variant: `"original"`, `"lipton"` or `"krause"`.
            input, recurrent: initialisers of each block of `W` and `R`; biases start at zero.
        """
        w, r = jax.random.split(key)
        self.W = draw(input, w, inputs, units, blocks=3)
        self.R = draw(recurrent, r, units, units, blocks=3)
        self.b = None if variant == "krause" else zeros(3 * units)
        self.truncated, self.variant = truncated, variant

    def named_gates(self) -> Gates:
        return GATES[self.variant]

    def initial(self, batch: tuple[int, ...]) -> Pair:
        return rest(batch, self.R), rest(batch, self.R)

    def inputs(self, x: jax.Array) -> jax.Array:
        return project(self, x, self.W, self.b)

    def step(self, state: Pair, u: jax.Array) -> tuple[Pair, jax.Array]:
        h, c = state
        if self.truncated:
            h = jax.lax.stop_gradient(h)
        i, g, o = self._gates(u + h @ self.R)
        c = c + i * g
        h = jnp.tanh(c * o) if self.variant == "krause" else o * jnp.tanh(c)
        return (h, c), h

    def memory_rules(self) -> MemoryRules:
        def memory(a: jax.Array, c: jax.Array) -> jax.Array:
            i, g, _ = self._gates(a)
            return c + i * g

        output = tanh_of_gated if self.variant == "krause" else gated_tanh
        bias = () if self.b is None else (self.b,)
        return MemoryRules(memory, output, (self.W, self.R, *bias))

    def _gates(self, a: jax.Array) -> list[jax.Array]:
        """i, g and o from the pre-activations; one sigmoid for all compiles to faster code."""
        i, g, o = split(jax.nn.sigmoid(a), 3)
        if self.variant != "original":
            g = split(a, 3)[1]
        return [i, jnp.tanh(g) if self.variant == "lipton" else g, o]
