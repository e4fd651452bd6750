"""The multiplicative RNN, whose transition depends on the input."""

from typing import ClassVar

import jax
import jax.numpy as jnp

from ..errors import BadInput
from .building import draw, of_rows, project, rest, zeros
from .cell import Blocks, Cell, Pair
from .initialisers import Initialiser, InitialWeights, fan_in, normal


class MRNN(Cell):
    """`m_t = (W_m x_t) ⊙ (R_m h_{t-1})`, `h_t = tanh(b + W x_t + R m_t)`.

    Source: Sutskever et al. (2011); Krause (2015), (2.19-2.20), and section 4.2 for the initial
    weights. With n inputs and h units it has `2h² + 2nh + h` parameters.

    Shapes: x `(..., inputs)`, state and y `(..., units)`.

    Example:
        >>> cell = MRNN(70, 280, key=jax.random.key(0))
        >>> ostinato.count_parameters(cell)
        196280
    """

    Settings = InitialWeights
    fan_in_input: ClassVar[bool] = True
    blocks: ClassVar[Blocks] = {"R": ("units (R)",), "Rm": ("factor m (Rm)",)}
    readout_bias: ClassVar[bool | None] = None  # Krause (2015), (2.21), has none on a text
    factor_reads_input: ClassVar[bool] = True  # Krause (2015), (4.4)

    W: jax.Array
    R: jax.Array
    b: jax.Array
    Wm: jax.Array
    Rm: jax.Array

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        key: jax.Array,
        factor_inputs: int | None = None,
        input: Initialiser = fan_in(),
        recurrent: Initialiser = normal(0.05),
    ):
        """
        Args:
            inputs, units: sizes of `x_t` and `h_t`.
            key: random key for the initial weights.
            factor_inputs: how many of the inputs, from the first, `W_m` reads; default all. In
                the stack of Krause (2015), (4.4), `W_m` does not read the layer below.
            input, recurrent: initialisers of `W` and `W_m`, `R` and `R_m`; the bias starts at 0.
        """
        w, r, wm, rm = jax.random.split(key, 4)
        self.W = draw(input, w, inputs, units)
        self.R = draw(recurrent, r, units, units)
        self.b = zeros(units)
        self.Wm = draw(input, wm, factor_size(inputs, factor_inputs), units)
        self.Rm = draw(recurrent, rm, units, units)

    def initial(self, batch: tuple[int, ...]) -> jax.Array:
        return rest(batch, self.R)

    def inputs(self, x: jax.Array) -> Pair:
        return project(self, x, self.W, self.b), of_rows(x[..., : self.Wm.shape[0]], self.Wm)

    def step(self, state: jax.Array, u: Pair) -> tuple[jax.Array, jax.Array]:
        a, factor = u
        h = jnp.tanh(a + (factor * (state @ self.Rm)) @ self.R)
        return h, h


def factor_size(inputs: int, factor_inputs: int | None) -> int:
    """The number of inputs that `W_m` reads; raises if it is out of range."""
    if factor_inputs is None:
        return inputs
    if not 0 < factor_inputs <= inputs:
        raise BadInput(f"factor_inputs must be from 1 to {inputs}, got {factor_inputs}")
    return factor_inputs
