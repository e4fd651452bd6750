"""The additive delay equation with several delayed terms, discretised by backward Euler."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp

from ._activations import activation
from ._cell import Cell, Pair, check_vectors, draw, zeros
from .delay import inverse
from .initialisers import Initialiser, glorot, orthogonal

Past = tuple[jax.Array, jax.Array, jax.Array]


class AdditiveDelay(Cell):
    """`dc/dt = Σ A_k c(t - τ_c(k)) + Σ B_k y(t - τ_y(k)) + Σ C_k x(t - τ_x(k))`, `y = f(c)`.

    With step size ΔT and delays that are whole numbers of steps, backward Euler gives

        c_n = c_{n-1} + ΔT (Σ A_k c_{n-τ_c(k)} + Σ B_k y_{n-τ_y(k)} + Σ C_k x_{n-τ_x(k)})

    which is solved for c_n; the undelayed terms `A_k c_n` are moved to the left-hand side. Before
    the first step c and x are zero. `Delay` is the case of one term each, with τ_c = τ_x = 0.

    Source: Delgado del Cerro (2021), section 2.1, (2.2), with linear α, β and γ.

    Shapes: x `(..., inputs)`; state: the most recent c, y and x, `(..., steps, size)` each, oldest
    first; y `(..., units)`. A and B are `(terms, units, units)`, C is `(terms, inputs, units)`.

    Example:
        >>> cell = AdditiveDelay(3, 16, key=jax.random.key(0), c=(0, 4), y=(1, 2, 8), x=(0, 3))
        >>> ys, (c, y, x) = ostinato.unroll(cell, xs)
        >>> ys.shape
        (10, 4, 16)
    """

    A: jax.Array
    B: jax.Array
    C: jax.Array
    delays: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    dt: float = eqx.field(static=True)
    f: str = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        key: jax.Array,
        c: Sequence[int] = (0,),
        y: Sequence[int] = (1,),
        x: Sequence[int] = (0,),
        dt: float = 1.0,
        f: str = "tanh",
        input: Initialiser = glorot(),
        recurrent: Initialiser = orthogonal(),
    ):
        """
        Args:
            inputs, units: sizes of `x_t` and `c_t`.
            key: random key for the initial weights.
            c, y, x: the delays τ_c, τ_y and τ_x in steps, one per term. Those of y must be at
                least 1; with y_n on the right-hand side the equation would be implicit in f.
            dt: the step size ΔT.
            f: activation.
            input, recurrent: initialisers of each `C_k` and `B_k`. An undelayed `A_k` starts as
                -I, which is a decay; a delayed one starts as zero.
        """
        activation(f)
        self.delays = tuple(c), tuple(y), tuple(x)
        for name, given, least in zip("cyx", self.delays, (0, 1, 0), strict=True):
            if not given or any(not isinstance(d, int) or d < least for d in given):
                raise ValueError(
                    f"the delays of {name} must be whole numbers from {least}, one at least, "
                    f"got {given}"
                )
        if dt <= 0:
            raise ValueError(f"dt must be positive, got {dt}")
        b, w = jax.random.split(key)
        self.A = jnp.stack([-jnp.eye(units, dtype=zeros().dtype) * (d == 0) for d in c])
        self.B = jnp.stack([draw(recurrent, k, units, units) for k in jax.random.split(b, len(y))])
        self.C = jnp.stack([draw(input, k, inputs, units) for k in jax.random.split(w, len(x))])
        self.dt, self.f = dt, f

    def initial(self, batch: tuple[int, ...]) -> Past:
        (inputs, units), dtype = self.C.shape[1:], self.A.dtype
        reach = [max(1, *given) for given in self.delays]
        c, y, x = (
            jnp.zeros((*batch, steps, size), dtype)
            for steps, size in zip(reach, (units, units, inputs), strict=True)
        )
        return c, activation(self.f)(y), x

    def inputs(self, x: jax.Array) -> Pair:
        check_vectors(self, x, self.C[0])
        now = [C for C, delay in zip(self.C, self.delays[2], strict=True) if delay == 0]
        return x @ (self.dt * sum(now, jnp.zeros_like(self.C[0])) @ self._inverse()), x

    def step(self, state: Past, u: Pair) -> tuple[Past, jax.Array]:
        (cs, ys, xs), (a, x) = state, u
        inverse = self._inverse()
        c = a + cs[..., -1, :] @ inverse
        for past, weights, delays in zip(state, (self.A, self.B, self.C), self.delays, strict=True):
            for weight, delay in zip(weights, delays, strict=True):
                if delay:
                    c = c + past[..., -delay, :] @ (self.dt * weight @ inverse)
        y = activation(self.f)(c)
        return (_later(cs, c), _later(ys, y), _later(xs, x)), y

    def _inverse(self) -> jax.Array:
        """`(I - ΔT A)⁻¹` for the undelayed A, acting on row vectors like all weights."""
        now = [A for A, delay in zip(self.A, self.delays[0], strict=True) if delay == 0]
        one = jnp.eye(self.A.shape[-1], dtype=self.A.dtype)
        return inverse(one - self.dt * sum(now, jnp.zeros_like(one)))


def _later(past: jax.Array, new: jax.Array) -> jax.Array:
    """Shift a history by one step: drop the oldest entry, append the newest."""
    return jnp.concatenate([past[..., 1:, :], new[..., None, :]], axis=-2)
