"""How the state of one step depends on the state of an earlier one, exactly or by probes.

`s_t` is the state after step t, all its float arrays (an LSTM's h and c, every layer of a stack)
as one vector of n real numbers for each sequence; a complex number is two of them. By the chain
rule the dependence over a lag is a product of one Jacobian per step:

    ∂s_t/∂s_k = ∂s_t/∂s_{t-1} · ∂s_{t-1}/∂s_{t-2} · … · ∂s_{k+1}/∂s_k

Its norm against the lag t - k says how far back in time an error reaches: where it falls, gradients
vanish, and where it rises, they explode. For a simple net there are two published bounds.
"""

import itertools
import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Layer, Simple
from ..cells.activations import activation, slope
from ..errors import BadInput
from ..through_time import unroll
from ..through_time.check import check_can_step, sizes
from ..through_time.lengths_and_resets import (
    Borders,
    find_borders,
    find_ends,
    held,
    restarted,
    where,
    without_padding,
)
from ..through_time.running import starting_state
from ..weights import as_reals, from_reals


def step_jacobians(
    cell: Layer, xs: Any, state: Any = None, *, lengths: Any = None, resets: Any = None
) -> jax.Array:
    """`∂s_t/∂s_{t-1}` for all steps, exactly.

    Entry `[t, ..., i, j]` is how much number i of the state after step t moves with number j of the
    state before it. For `Simple` that is `diag(f'(a_t)) Rᵀ`, as the cell's R acts on row vectors.

    Args:
        cell: a cell or a network that has a step.
        xs: the inputs, time first: `(T, *batch, inputs)`, or symbols `(T, *batch)`.
        state: the state before the first step; by default the cell's own.
        lengths, resets: as for `unroll`. Where a sequence begins, the state before the step is the
            initial one; in the padding the Jacobians are zero.

    Returns:
        The Jacobians, `(T, *batch, n, n)`.

    Example:
        >>> cell = ostinato.cells.LSTM(3, 16, key=jax.random.key(0))
        >>> step_jacobians(cell, jnp.ones((100, 8, 3))).shape
        (100, 8, 32, 32)
    """
    check_can_step(cell, "step_jacobians")
    cell.check_inputs(xs)
    xs, borders = find_borders(xs, lengths, resets, *sizes(cell, xs))
    return _step_jacobians(cell, xs, state, borders)


def jacobian_by_lag(
    cell: Layer,
    xs: Any,
    state: Any = None,
    *,
    at: int = -1,
    probes: int | None = None,
    key: jax.Array | None = None,
    lengths: Any = None,
    resets: Any = None,
) -> jax.Array:
    """The size of `∂s_t/∂s_k` for t = `at` and every lag t - k.

    By default the spectral norm `‖∂s_t/∂s_k‖₂`, exactly: n errors are carried back through time and
    a singular value is found at every lag.

    With `probes=m` only m errors are carried back, random and orthonormal, others for each
    sequence, in one backward scan; with one or two it costs one or two gradients. With J for
    `∂s_t/∂s_k`, the root mean square of `‖vᵀJ‖` over them estimates `‖J‖_F / √n`, by how much a
    random error grows on its way back. Its square has no bias, with m = n it is exact, and

        estimate ≤ ‖J‖₂    and    ‖J‖_F / √n ≤ ‖J‖₂ ≤ √n · ‖J‖_F / √n

    so over long lags both fall or rise at the same rate.

    Args:
        cell: a cell or a network that has a step.
        xs: the inputs, time first: `(T, *batch, inputs)`, or symbols `(T, *batch)`.
        state: the state before the first step; by default the cell's own.
        at: the step t; negative numbers count from the end.
        probes: how many random errors to carry back, from 1 to n; by default all is exact.
        key: random key of the probes.
        lengths, resets: as for `unroll`. A negative `at` then counts back from each sequence's own
            end, and at each lag the mean is over the sequences that are so long.

    Returns:
        One number for each lag, the root mean square over the batch: `(t + 2,)`, from lag 0, where
        it is 1, to lag t + 1, which reaches the state before the first step. What is too large or
        too small for its dtype is infinite or 0. With `lengths` or `resets` `(T + 1,)`, zero at
        lags that no sequence has.

    Example:
        >>> cell = ostinato.cells.LSTM(3, 16, key=jax.random.key(0))
        >>> xs = jnp.ones((100, 8, 3))
        >>> jacobian_by_lag(cell, xs).shape
        (101,)
        >>> jacobian_by_lag(cell, xs, probes=1, key=jax.random.key(1)).shape
        (101,)
    """
    check_can_step(cell, "jacobian_by_lag")
    cell.check_inputs(xs)
    steps = steps_until(at, sizes(cell, xs)[0])
    if probes is not None and key is None:
        raise BadInput("jacobian_by_lag needs a key for its probes, got none")
    if lengths is None and resets is None:
        xs = jax.tree.map(lambda x: x[:steps], xs)
        return _by_lag(cell, xs, state, probes, key, Borders(), None)
    ends = find_ends(cell, xs, lengths, resets, at)
    # Whatever comes after t counts as padding, through which errors pass unchanged.
    xs, borders = find_borders(xs, ends.last + 1, resets, *sizes(cell, xs))
    return _by_lag(cell, xs, state, probes, key, borders, ends)


class OnVectors:
    """A cell's step on states that are one vector for each sequence.

    Attributes:
        start: the floats of the state before the first step, `(*batch, n)`.
        fixed: the rest of that state, such as a count of steps.
        us: what the steps need from the inputs, time first.
    """

    def __init__(self, cell: Layer, xs: Any, state: Any = None):
        self.cell = cell
        self.us = cell.inputs(xs)
        start = starting_state(cell, xs, state)
        floats, self.fixed = eqx.partition(start, eqx.is_inexact_array)
        self._leading = len(sizes(cell, xs)[1])
        self._floats = floats
        self._leaves, self._tree = jax.tree.flatten(as_reals(floats))
        if not self._leaves:
            raise BadInput(f"{type(cell).__name__} has no numbers in its state to differentiate")
        self.start = self._flat(floats)

    def step(self, s: jax.Array, fixed: Any, u: Any) -> tuple[jax.Array, Any]:
        new, _ = self.cell.step(self.state(s, fixed), u)
        floats, fixed = eqx.partition(new, eqx.is_inexact_array)
        return self._flat(floats), fixed

    def begin(self, carry: tuple, reset: jax.Array | None) -> tuple[jax.Array, Any]:
        """The state that a step starts from: the initial one where a sequence begins."""
        if reset is None:
            return carry
        first = self.cell.initial((1,) * self._leading)
        floats, fixed = eqx.partition(first, eqx.is_inexact_array)
        return restarted(carry, (self._flat(floats), fixed), reset)

    def state(self, s: jax.Array, fixed: Any) -> Any:
        """The state as the cell has it."""
        counts = [math.prod(x.shape[self._leading :]) for x in self._leaves]
        parts = jnp.split(s, list(itertools.accumulate(counts))[:-1], axis=-1)
        arrays = [
            part.reshape(like.shape).astype(like.dtype)
            for part, like in zip(parts, self._leaves, strict=True)
        ]
        floats = from_reals(jax.tree.unflatten(self._tree, arrays), self._floats)
        return eqx.combine(floats, fixed)

    def _flat(self, floats: Any) -> jax.Array:
        k = self._leading
        return jnp.concatenate(
            [
                x.reshape(*x.shape[:k], math.prod(x.shape[k:]))
                for x in jax.tree.leaves(as_reals(floats))
            ],
            axis=-1,
        )


@eqx.filter_jit
def _step_jacobians(cell: Layer, xs: Any, state: Any, borders: Borders) -> jax.Array:
    on = OnVectors(cell, xs, state)
    directions = _every_direction(on.start)

    def body(carry: Any, at: Any) -> tuple[Any, jax.Array]:
        u, valid, reset = at
        s, fixed = on.begin(carry, reset)
        new, push, after = jax.linearize(lambda s: on.step(s, fixed, u), s, has_aux=True)
        jacobian = without_padding(jnp.moveaxis(jax.vmap(push)(directions), 0, -1), valid)
        return held((new, after), carry, valid), jacobian

    received = (on.us, borders.valid, borders.forward)
    return jax.lax.scan(body, (on.start, on.fixed), received)[1]


@eqx.filter_jit
def _by_lag(
    cell: Layer,
    xs: Any,
    state: Any,
    probes: int | None,
    key: Any,
    borders: Borders,
    ends: Any,
) -> jax.Array:
    on = OnVectors(cell, xs, state)
    if probes is None:
        errors, norm = _every_direction(on.start), largest_singular_value
    else:
        errors, norm = _random_directions(key, on.start, probes), _mean_length

    def forward(carry: Any, at: Any) -> tuple[Any, Any]:
        u, valid, reset = at
        s, fixed = on.begin(carry, reset)
        return held(on.step(s, fixed, u), carry, valid), (s, fixed)

    def backward(carry: Any, at: Any) -> tuple[Any, Any]:
        errors, log = carry
        (s, fixed), (u, valid, _) = at
        _, pull, _ = jax.vjp(lambda s: on.step(s, fixed, u), s, has_aux=True)
        (pulled,) = jax.vmap(pull)(errors)
        errors = pulled if valid is None else where(valid[None], pulled, errors)
        # In units of their largest number, so that neither they nor their squares are lost.
        largest = jnp.max(jnp.abs(errors), axis=(0, -1))
        unit = jnp.where(largest > 0, largest, 1)
        errors, log = errors / unit[..., None], log + jnp.log(unit)
        return (errors, log), log + jnp.log(norm(jnp.moveaxis(errors, 0, -2)))

    received = (on.us, borders.valid, borders.forward)
    _, before = jax.lax.scan(forward, (on.start, on.fixed), received)
    log = jnp.zeros(on.start.shape[:-1], on.start.dtype)
    _, logs = jax.lax.scan(backward, (errors, log), (before, received), reverse=True)
    if ends is None:
        logs = logs.reshape(len(logs), -1)[::-1]
        squares = jax.nn.logsumexp(2 * logs, axis=1) - math.log(logs.shape[1])
    else:
        counted = ends.counted().reshape(len(logs), -1)
        logs = jnp.where(counted, ends.by_lag(logs).reshape(len(logs), -1), -jnp.inf)
        count = jnp.maximum(jnp.sum(counted, axis=1), 1)
        squares = jax.nn.logsumexp(2 * logs, axis=1) - jnp.log(count)
    return jnp.concatenate([jnp.ones(1, logs.dtype), jnp.exp(squares / 2)])


def _every_direction(s: jax.Array) -> jax.Array:
    """All n unit vectors, each for every sequence: `(n, *batch, n)`."""
    n = s.shape[-1]
    each = jnp.eye(n, dtype=s.dtype).reshape(n, *(1 for _ in s.shape[:-1]), n)
    return jnp.broadcast_to(each, (n, *s.shape))


def _random_directions(key: jax.Array, s: jax.Array, count: int) -> jax.Array:
    """`count` orthonormal vectors, each uniform on the sphere: `(count, *batch, n)`."""
    if not 1 <= count <= s.shape[-1]:
        raise BadInput(f"probes must be from 1 to the state's size {s.shape[-1]}, got {count}")
    columns, _ = jnp.linalg.qr(jax.random.normal(key, (*s.shape, count), s.dtype))
    return jnp.moveaxis(columns, -1, 0)


def largest_singular_value(matrix: Any) -> jax.Array:
    """`σmax` of each matrix `(..., m, n)`: the most that it stretches a vector."""
    return jnp.linalg.norm(jnp.asarray(matrix), ord=2, axis=(-2, -1))


def _mean_length(matrix: Any) -> jax.Array:
    """The root mean square of the lengths of the rows of each matrix `(..., m, n)`."""
    return jnp.sqrt(jnp.mean(jnp.sum(matrix**2, axis=-1), axis=-1))


def steps_until(at: int, steps: int) -> int:
    """How many steps there are up to step `at` and with it."""
    if not -steps <= at < steps:
        raise BadInput(f"at must be a step from {-steps} to {steps - 1}, got {at}")
    return at % steps + 1


class PreactivationNorms(NamedTuple):
    """Norms of `∂a_t/∂a_k` from lag 0 on, `(lags, *batch)` each.

    Attributes:
        max: the largest absolute entry.
        spectral: the largest singular value.
    """

    max: jax.Array
    spectral: jax.Array


def preactivation_jacobian_norms(
    cell: Simple, xs: jax.Array, state: Any = None, at: int = -1
) -> PreactivationNorms:
    """The norms of `∂a_t/∂a_k` for t = `at` and every lag t - k, for each sequence.

    `a_t = W x_t + R h_{t-1} + b` is the pre-activation of a simple cell, and

        ∂a_t/∂a_k = R diag(f'(a_{t-1})) · … · R diag(f'(a_k))

    with t - k factors (R as in the equation, the transpose of the cell's array).

    Source: Galvan (2015) section 1.6, (1.62).

    Returns:
        `PreactivationNorms` for the lags 0 to t: the first step has a pre-activation, the state
        before it has none.

    Example:
        >>> cell = Simple(3, 16, key=jax.random.key(0))
        >>> xs = jax.random.normal(jax.random.key(1), (10, 4, 3))
        >>> norms = preactivation_jacobian_norms(cell, xs)
        >>> bound = singular_value_bound(cell, jnp.arange(len(xs)))
        >>> bool(jnp.all(norms.spectral.max(axis=1) <= bound))
        True
    """
    _check_simple(cell, "preactivation_jacobian_norms")
    steps = steps_until(at, sizes(cell, xs)[0])
    return _preactivation_norms(cell, xs[:steps], state)


# The largest slope of each activation.
STEEPEST = {"tanh": 1.0, "sigmoid": 0.25, "relu": 1.0, "identity": 1.0, "step": 0.0}


def hochreiter_bound(cell: Simple, lags: Any) -> jax.Array:
    """`(r · f'max · ‖R‖max)^lag`: above both norms of `∂a_t/∂a_k`, whatever the inputs are.

    r is the number of units, `‖R‖max` the largest absolute weight and `f'max` the largest slope of
    the activation: 1 for tanh, relu and identity, 1/4 for sigmoid. Below 1 all long-range
    dependence fades exponentially.

    Source: Hochreiter (1991); Galvan (2015) (1.63-1.67), for the max norm. It prints the power
    t - k - 1, one less than there are factors, which the norm can exceed: a linear net of one unit
    with R = 2 has `∂a_t/∂a_{t-1} = 2`.

    Args:
        cell: a simple cell.
        lags: whole numbers t - k, of any shape.

    Returns:
        The bound for each lag.
    """
    # Proof. With J for the product of factors R diag(f'):
    #   ‖AB‖max ≤ r ‖A‖max ‖B‖max, as an entry of AB is a sum of r products, and
    #   ‖R diag(d)‖max ≤ max|d| ‖R‖max, so ‖J‖max ≤ r^(lag-1) (f'max ‖R‖max)^lag ≤ the bound.
    # For the spectral norm ‖A‖₂ ≤ ‖A‖_F ≤ r ‖A‖max for each factor, and ‖AB‖₂ ≤ ‖A‖₂ ‖B‖₂. Where
    # all weights are equal and all slopes f'max, the spectral norm is the bound.
    _check_simple(cell, "hochreiter_bound")
    largest = jnp.max(jnp.abs(cell.R))
    return (cell.R.shape[0] * STEEPEST[cell.f] * largest) ** jnp.asarray(lags)


def singular_value_bound(cell: Simple, lags: Any) -> jax.Array:
    """`(f'max · σmax(R))^lag`: above both norms of `∂a_t/∂a_k`, whatever the inputs are.

    `σmax(R)` is the largest singular value. It is never above `hochreiter_bound`. Arguments and
    result are the same.

    Source: Galvan (2015) (1.68-1.71), which has the power t - k - 1 here too.
    """
    # Proof. ‖R diag(d)‖₂ ≤ σmax(R) max|d|, and ‖AB‖₂ ≤ ‖A‖₂ ‖B‖₂. The max norm is no larger than
    # the spectral norm: |A_ij| = |e_iᵀ A e_j| ≤ ‖A‖₂. And σmax(R) ≤ r ‖R‖max, as above.
    _check_simple(cell, "singular_value_bound")
    return (STEEPEST[cell.f] * largest_singular_value(cell.R)) ** jnp.asarray(lags)


@eqx.filter_jit
def _preactivation_norms(cell: Simple, xs: jax.Array, state: Any) -> PreactivationNorms:
    (_, (a,)), _ = unroll(cell, xs, state, watch="products")
    slopes = slope(activation(cell.f), a)
    start = jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), (*a.shape[1:], a.shape[-1]))

    def backward(product: jax.Array, slope: jax.Array) -> tuple[jax.Array, Any]:
        product = (product @ cell.R.T) * slope[..., None, :]
        return product, norms(product)

    def norms(product: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.max(jnp.abs(product), axis=(-2, -1)), largest_singular_value(product)

    _, earlier = jax.lax.scan(backward, start, slopes[:-1], reverse=True)
    first = norms(start)
    return PreactivationNorms(
        *(jnp.concatenate([x[None], y[::-1]]) for x, y in zip(first, earlier, strict=True))
    )


def _check_simple(cell: Layer, name: str) -> None:
    if not cell.is_simple:
        raise BadInput(f"{name} is for Simple cells, got {type(cell).__name__}")
