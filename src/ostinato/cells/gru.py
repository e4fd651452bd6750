"""The gated recurrent unit, with the reset gate before or after the matrix product."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ..settings import setting
from .building import draw, project, rest, split, zeros
from .cell import Blocks, Cell, Gates
from .initialisers import Initialiser, InitialWeights, fan_in, orthogonal
from .operator import Operator, blocks_of

RESETS = ("before", "after")


class GRU(Cell):
    """`h_t = (1 - z) ⊙ h_{t-1} + z ⊙ h̃`, `z, r = σ(W x_t + R h_{t-1} + b)`.

    `reset` selects the candidate:

    - `"before"` the product: `h̃ = tanh(W x_t + U (r ⊙ h_{t-1}) + b)` (Cho et al., 2014; Galvan,
      2015, 2.6-2.9);
    - `"after"` it: `h̃ = tanh(W x_t + r ⊙ (U h_{t-1} + d) + b)`, as in cuDNN and
      `torch.nn.GRU`; one product per step instead of two. (Their z is `1 - z` here.)

    The blocks of `W` and `b` are z, r, h̃, in this order; those of `R` are z, r.

    Shapes: x `(..., inputs)`, state and y `(..., units)`.

    Example:
        >>> cell = GRU(3, 16, key=jax.random.key(0))
        >>> ys, h = ostinato.unroll(cell, xs)
        >>> ys.shape
        (10, 4, 16)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(InitialWeights):
        reset: str = setting("before", "reset before or after the product", among=RESETS)

    fan_in_input: ClassVar[bool] = True
    gates: ClassVar[Gates] = {
        "update gate": "sigmoid",
        "reset gate": "sigmoid",
        "candidate": "tanh",
    }
    # With a reset after the product the candidate's block of U stands beside R.
    blocks: ClassVar[Blocks] = {
        "R": ("update gate", "reset gate", "candidate"),
        "U": ("candidate (U)",),
    }

    W: jax.Array
    R: jax.Array
    U: jax.Array
    b: jax.Array
    d: jax.Array | None
    reset: str = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        key: jax.Array,
        reset: str = "before",
        input: Initialiser = fan_in(),
        recurrent: Initialiser = orthogonal(),
    ):
        """
        Args:
            inputs, units: sizes of `x_t` and `h_t`.
            key: random key for the initial weights.
            reset: `"before"` or `"after"`.
            input, recurrent: initialisers of each block of `W`, and of `R` and `U`; biases start
                at zero.
        """
        w, r, u = jax.random.split(key, 3)
        self.W = draw(input, w, inputs, units, blocks=3)
        self.R = draw(recurrent, r, units, units, blocks=2)
        self.U = draw(recurrent, u, units, units)
        self.b = zeros(3 * units)
        self.d = zeros(units) if reset == "after" else None
        self.reset = reset

    def initial(self, batch: tuple[int, ...]) -> jax.Array:
        return rest(batch, self.R)

    def inputs(self, x: jax.Array) -> jax.Array:
        return project(self, x, self.W, self.b)

    def step(self, state: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array]:
        units = self.U.shape[0]
        gates, candidate = u[..., : 2 * units], u[..., 2 * units :]
        if self.reset == "before":
            z, r = split(jax.nn.sigmoid(gates + state @ self.R), 2)
            candidate = candidate + (r * state) @ self.U
        else:
            assert self.d is not None
            a = state @ jnp.concatenate([self.R, self.U], axis=1)
            z, r = split(jax.nn.sigmoid(gates + a[..., : 2 * units]), 2)
            candidate = candidate + r * (a[..., 2 * units :] + self.d)
        h = (1 - z) * state + z * jnp.tanh(candidate)
        return h, h

    def operators(self) -> list[list[Operator]]:
        W, b = blocks_of(self.W, 3), blocks_of(self.b, 3)
        R = jnp.concatenate([blocks_of(self.R, 2), self.U[None]])
        W, R, b = (x.at[0].multiply(-1) for x in (W, R, b))  # σ(-v) = 1 - σ(v)
        d = jnp.zeros_like(b) if self.d is None else jnp.zeros_like(b).at[2].set(self.d)
        return [[Operator("gru", W, R, b, d, reset=self.reset)]]
