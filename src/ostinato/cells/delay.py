"""The additive delay equation, discretised by backward Euler."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ..settings import setting
from .activations import activation, function_of
from .cell import Cell, Pair, draw, project, rest
from .initialisers import Initialiser, InitialWeights, fan_in, orthogonal


class Delay(Cell):
    """`dc/dt = A c(t) + B f(c(t - τ)) + C x(t)` with step size `ΔT` and `τ = delay · ΔT`.

    Backward Euler gives `c_n = M (c_{n-1} + ΔT B y_{n-delay} + ΔT C x_n)` with
    `M = (I - ΔT A)⁻¹` and `y_n = f(c_n)`. With `delay=1` this is a recurrent network with
    `R = ΔT M B` and `W = ΔT M C`; if A is diagonal and strongly negative, the first term vanishes
    and the cell becomes `Simple` without bias. `AdditiveDelay` has several delayed terms.

    Source: Delgado del Cerro (2021), section 2.1, (2.1-2.5).

    Shapes: x `(..., inputs)`; state `(c, past)` with c `(..., units)` and past
    `(..., delay, units)`, the most recent outputs, oldest first; y `(..., units)`.

    Example:
        >>> cell = Delay(3, 16, key=jax.random.key(0), delay=5, dt=0.1)
        >>> ys, (c, past) = ostinato.unroll(cell, xs)
        >>> ys.shape
        (10, 4, 16)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(InitialWeights):
        delay: int = setting(1, "steps after which the units hear themselves", min=1)
        dt: float = setting(1.0, "duration of a step")
        f: str = function_of("the units")

    fan_in_input: ClassVar[bool] = True

    A: jax.Array
    B: jax.Array
    C: jax.Array
    delay: int = eqx.field(static=True)
    dt: float = eqx.field(static=True)
    f: str = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        key: jax.Array,
        delay: int = 1,
        dt: float = 1.0,
        f: str = "tanh",
        input: Initialiser = fan_in(),
        recurrent: Initialiser = orthogonal(),
    ):
        """
        Args:
            inputs, units: sizes of `x_t` and `c_t`.
            key: random key for the initial weights.
            delay: τ in steps, at least 1.
            dt: the step size ΔT.
            f: activation.
            input, recurrent: initialisers of `C` and `B`; `A` starts as -I, which is a decay.
        """
        activation(f)
        if not isinstance(delay, int) or delay < 1 or dt <= 0:
            raise ValueError(
                f"delay must be a whole number from 1 and dt positive, got {delay} and {dt}"
            )
        b, c = jax.random.split(key)
        self.A = -jnp.eye(units, dtype=jnp.result_type(float))
        self.B = draw(recurrent, b, units, units)
        self.C = draw(input, c, inputs, units)
        self.delay, self.dt, self.f = delay, dt, f

    def initial(self, batch: tuple[int, ...]) -> Pair:
        c = rest(batch, self.B)
        past = activation(self.f)(c)[..., None, :]
        return c, jnp.repeat(past, self.delay, axis=-2)

    def inputs(self, x: jax.Array) -> jax.Array:
        return project(self, x, self.dt * self.C @ self._inverse())

    def step(self, state: Pair, u: jax.Array) -> tuple[Pair, jax.Array]:
        c, past = state
        inverse = self._inverse()
        c = u + c @ inverse + past[..., 0, :] @ (self.dt * self.B @ inverse)
        y = activation(self.f)(c)
        past = jnp.concatenate([past[..., 1:, :], y[..., None, :]], axis=-2)
        return (c, past), y

    def _inverse(self) -> jax.Array:
        """`M`, acting on row vectors like `A`, `B` and `C`."""
        return inverse(jnp.eye(self.A.shape[0], dtype=self.A.dtype) - self.dt * self.A)


def inverse(matrix: jax.Array) -> jax.Array:
    """The inverse of a matrix in its own dtype; 16-bit floats go through float32 for LAPACK."""
    exact = jnp.promote_types(matrix.dtype, jnp.float32)
    return jnp.linalg.inv(matrix.astype(exact)).astype(matrix.dtype)
