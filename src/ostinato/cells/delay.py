"""The additive delay equation, with one delayed term or several, discretised by backward Euler."""

import dataclasses
from collections.abc import Sequence
from numbers import Integral
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ..errors import BadInput
from ..settings import as_words, setting
from .activations import activation, function_of, slope
from .building import check_vectors, draw, project, rest
from .cell import Cell, Pair
from .initialisers import Initialiser, InitialWeights, fan_in, orthogonal

Past = tuple[jax.Array, jax.Array, jax.Array]
NEWTON = 10  # iterations for an undelayed state behind a nonlinear function


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
        dt: float = setting(1.0, "duration of a step", min=1e-12)
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
        return (c, _later(past, y)), y

    def _inverse(self) -> jax.Array:
        """`M`, acting on row vectors like `A`, `B` and `C`."""
        return inverse(jnp.eye(self.A.shape[0], dtype=self.A.dtype) - self.dt * self.A)


def inverse(matrix: jax.Array) -> jax.Array:
    """The inverse of a matrix in its own dtype; 16-bit floats go through float32 for LAPACK."""
    exact = jnp.promote_types(matrix.dtype, jnp.float32)
    return jnp.linalg.inv(matrix.astype(exact)).astype(matrix.dtype)


def delays(words: str) -> tuple[int, ...]:
    """Delays in steps.

    Example:
        >>> delays("0,4")
        (0, 4)
    """
    try:
        return tuple(int(part) for part in words.split(","))
    except ValueError:
        raise BadInput(
            f"delays are whole numbers of steps like 0,4; got {as_words(words)}"
        ) from None


class AdditiveDelay(Cell):
    """`dc/dt = Σ α(A_k c(t - τ_c(k))) + Σ β(B_k y(t - τ_y(k))) + Σ γ(C_k x(t - τ_x(k)))`.

    The output is `y = f(c)`. With step size ΔT and delays that are whole numbers of steps,
    backward Euler gives

        c_n = c_{n-1} + ΔT (Σ α(A_k c_{n-τ_c(k)}) + Σ β(B_k y_{n-τ_y(k)}) + Σ γ(C_k x_{n-τ_x(k)}))

    which is solved for c_n. With linear α the undelayed term `A_k c_n` is moved to the left-hand
    side; otherwise c_n comes from 10 iterations of Newton's method, which cost a linear system of
    `units` equations each per sequence, and its derivatives from the implicit function theorem.
    Before the first step c and x are zero. `Delay` is the case of one linear term each, with
    τ_c = τ_x = 0.

    Source: Delgado del Cerro (2021), section 2.1, (2.2); K_c, K_y and K_x are the numbers of
    delays. The source leaves α, β and γ open; here each is an activation function of a linear map,
    by default the identity.

    Shapes: x `(..., inputs)`; state: the most recent c, y and x, `(..., steps, size)` each, oldest
    first; y `(..., units)`. A and B are `(terms, units, units)`, C is `(terms, inputs, units)`.

    Example:
        >>> taus = {"state_delays": (0, 4), "output_delays": (1, 2, 8), "input_delays": (0, 3)}
        >>> cell = AdditiveDelay(3, 16, key=jax.random.key(0), **taus)
        >>> ys, (c, y, x) = ostinato.unroll(cell, xs)
        >>> ys.shape
        (10, 4, 16)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(InitialWeights):
        state_delays: str = setting("0", "delays of the state, in steps, like 0,4", read=delays)
        output_delays: str = setting("1", "delays of the output, in steps, like 1,8", read=delays)
        input_delays: str = setting("0", "delays of the input, in steps, like 0,3", read=delays)
        state_function: str = function_of("the state's terms (α)", "identity")
        output_function: str = function_of("the output's terms (β)", "identity")
        input_function: str = function_of("the input's terms (γ)", "identity")
        dt: float = setting(1.0, "duration of a step", min=1e-12)
        f: str = function_of("the units")

    fan_in_input: ClassVar[bool] = True

    A: jax.Array
    B: jax.Array
    C: jax.Array
    delays: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    functions: tuple[str, ...] = eqx.field(static=True)
    dt: float = eqx.field(static=True)
    f: str = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        key: jax.Array,
        state_delays: Sequence[int] = (0,),
        output_delays: Sequence[int] = (1,),
        input_delays: Sequence[int] = (0,),
        state_function: str = "identity",
        output_function: str = "identity",
        input_function: str = "identity",
        dt: float = 1.0,
        f: str = "tanh",
        input: Initialiser = fan_in(),
        recurrent: Initialiser = orthogonal(),
    ):
        """
        Args:
            inputs, units: sizes of `x_t` and `c_t`.
            key: random key for the initial weights.
            state_delays, output_delays, input_delays: τ_c, τ_y and τ_x in steps, one per term.
                Those of y must be at least 1; with y_n on the right-hand side the equation would
                be implicit in f.
            state_function, output_function, input_function: α, β and γ.
            dt: the step size ΔT.
            f: activation.
            input, recurrent: initialisers of each `C_k` and `B_k`. An undelayed `A_k` starts as
                -I, which is a decay; a delayed one starts as zero.
        """
        self.functions = state_function, output_function, input_function
        self.delays = tuple(state_delays), tuple(output_delays), tuple(input_delays)
        names = ("state_delays", "output_delays", "input_delays")
        for name, given, least in zip(names, self.delays, (0, 1, 0), strict=True):
            if not given or any(not isinstance(d, Integral) or d < least for d in given):
                raise BadInput(
                    f"{name} must be whole numbers from {least}, one at least, got {given}"
                )
            if len(set(given)) < len(given):
                raise BadInput(f"{name} has the same delay twice, got {given}")
        b, w = jax.random.split(key)
        c, y, x = self.delays
        self.A = jnp.stack([-jnp.eye(units, dtype=jnp.result_type(float)) * (d == 0) for d in c])
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
        weight = sum(now, jnp.zeros_like(self.C[0]))
        return (self._term(2, x, weight, self._inverse()) if now else x @ weight), x

    def step(self, state: Past, u: Pair) -> tuple[Past, jax.Array]:
        (cs, ys, xs), (a, x) = state, u
        inverse = self._inverse()
        c = a + cs[..., -1, :] @ inverse
        for kind, (past, weights) in enumerate(zip(state, (self.A, self.B, self.C), strict=True)):
            for weight, delay in zip(weights, self.delays[kind], strict=True):
                if delay:
                    c = c + self._term(kind, past[..., -delay, :], weight, inverse)
        if self.functions[0] != "identity" and 0 in self.delays[0]:
            c = self._newton(c, cs[..., -1, :], self.A[self.delays[0].index(0)])
        y = activation(self.f)(c)
        return (_later(cs, c), _later(ys, y), _later(xs, x)), y

    def _term(self, kind: int, x: jax.Array, weight: jax.Array, inverse: jax.Array) -> jax.Array:
        """What a term adds to `c_n`; `kind` is 0, 1 or 2, for α, β or γ."""
        if self.functions[kind] == "identity":
            return x @ (self.dt * weight @ inverse)
        return (self.dt * activation(self.functions[kind])(x @ weight)) @ inverse

    def _inverse(self) -> jax.Array:
        """`(I - ΔT A)⁻¹` for the undelayed linear A, acting on row vectors like all weights."""
        linear = self.functions[0] == "identity"
        now = [A for A, delay in zip(self.A, self.delays[0], strict=True) if linear and delay == 0]
        one = jnp.eye(self.A.shape[-1], dtype=self.A.dtype)
        return inverse(one - self.dt * sum(now, jnp.zeros_like(one)))

    def _newton(self, right: jax.Array, c: jax.Array, A: jax.Array) -> jax.Array:
        """The root c of `c - ΔT α(A c) = right`, sought from the state before the step.

        Derivatives are those of the last two iterations; from a root these have its first and
        second derivatives.
        """
        one, function = jnp.eye(len(A), dtype=A.dtype), activation(self.functions[0])

        def improved(c: jax.Array, right: jax.Array, A: jax.Array) -> jax.Array:
            a = c @ A
            jacobian = one - self.dt * A * slope(function, a)[..., None, :]
            error = c - self.dt * function(a) - right
            exact = jnp.promote_types(A.dtype, jnp.float32)  # LAPACK has no 16-bit floats
            system = jacobian.mT.astype(exact), error[..., None].astype(exact)
            return c - jnp.linalg.solve(*system)[..., 0].astype(A.dtype)

        *held, start = jax.lax.stop_gradient((right, A, c))
        c = jax.lax.fori_loop(0, NEWTON - 2, lambda _, c: improved(c, *held), start)
        return improved(improved(c, right, A), right, A)


def _later(past: jax.Array, new: jax.Array) -> jax.Array:
    """Shift a history by one step: drop the oldest entry, append the newest."""
    return jnp.concatenate([past[..., 1:, :], new[..., None, :]], axis=-2)
