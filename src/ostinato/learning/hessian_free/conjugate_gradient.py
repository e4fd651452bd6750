"""Conjugate gradient: minimise `q(x) = ½ xᵀ B x + gᵀ x` with products `B v` alone.

    r = B x + g,  y = M⁻¹ r,  p = -y
    α = rᵀy / pᵀBp,  x ← x + α p,  r ← r + α B p,  β = r'ᵀy' / rᵀy,  p ← -y' + β p

B must be symmetric and positive semidefinite. M is an optional diagonal preconditioner. It stops
when the last k iterations have gained too little, (q_i - q_{i-k}) / q_i < k ε.

Sources: Krause (2015), algorithm 3 and (3.17); Martens (2010), Deep learning via Hessian-free
optimization, for stopping and for the iterates that are kept.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

REASONS = (
    "limit",  # all iterations were used
    "progress",  # too little progress
    "solved",  # nothing is left of the residual
    "curvature",  # pᵀBp is not positive: q has no minimum along p, as far as rounding can tell
    "not finite",  # a product, or q, became infinite or NaN
    "observer",  # the observer asked for it
)
LIMIT, PROGRESS, SOLVED, CURVATURE, NOT_FINITE, OBSERVER = range(len(REASONS))
GROWTH = 1.3


class Solution(NamedTuple):
    """What conjugate gradient found.

    Attributes:
        iterates: `(K, N)`, those that were kept, in order; `iterates[last]` is the last one.
        last: index of the last iterate; further ones are copies of the start.
        values: `(iterations + 1,)`, q at the start and after each iteration, NaN after the end.
        done: the number of iterations.
        reason: why it stopped, an index into `REASONS`.
        observed: what the observer carries.
    """

    iterates: jax.Array
    last: jax.Array
    values: jax.Array
    done: jax.Array
    reason: jax.Array
    observed: Any


class Taken(NamedTuple):
    """A step that was taken: α p, the x that it leads to, and q there."""

    step: jax.Array
    x: jax.Array
    q: jax.Array


class _Now(NamedTuple):
    """Between two iterations."""

    i: jax.Array
    x: jax.Array
    r: jax.Array
    p: jax.Array
    ry: jax.Array
    iterates: jax.Array
    values: jax.Array
    reason: jax.Array
    observed: Any


def kept_iterations(iterations: int) -> np.ndarray:
    """The iterations whose iterates are kept: 1, 2, 3, … and then 1.3 times as far each time."""
    found: list[int] = []
    at = 1.0
    while not found or found[-1] < iterations:
        found.append(min(int(np.ceil(at)), iterations))
        at = max(at * GROWTH, found[-1] + 1)
    return np.asarray(found)


def conjugate_gradient(
    product: Callable[[jax.Array], jax.Array],
    gradient: jax.Array,
    start: jax.Array,
    *,
    iterations: int = 100,
    tolerance: float = 5e-4,
    window: int = 10,
    diagonal: jax.Array | None = None,
    observe: Callable[[Any, Taken], tuple[Any, jax.Array]] | None = None,
    observed: Any = (),
) -> Solution:
    """Minimise `q(x) = ½ xᵀ B x + gᵀ x` from `start`.

    Args:
        product: `v -> B v`, for vectors `(N,)`.
        gradient: g, `(N,)`.
        start: the first x, `(N,)`; zero is taken instead where that is better, q(start) ≥ 0.
        iterations: at most so many.
        tolerance, window: ε and k of the rule for stopping.
        diagonal: that of the preconditioner M, `(N,)`.
        observe: `observe(carried, taken) -> (carried, stop)`, called with every step that is taken.
        observed: what it carries at first.

    Returns:
        A `Solution`.

    Example:
        >>> found = conjugate_gradient(lambda v: B @ v, g, jnp.zeros(3))
        >>> x, why = found.iterates[found.last], REASONS[found.reason]
    """
    at = kept_iterations(iterations)
    slot_of = jnp.asarray(np.searchsorted(at, np.arange(1, iterations + 1)))
    values = jnp.full(iterations + 1, jnp.nan, gradient.dtype)

    def solve(r):
        return r if diagonal is None else r / diagonal

    # Of the residual, what cannot be told from rounding.
    nothing = jnp.finfo(gradient.dtype).eps ** 2 * jnp.vdot(gradient, solve(gradient))

    r = product(start) + gradient
    q = 0.5 * jnp.vdot(start, r + gradient)
    helps = q < 0
    start, r, q = jnp.where(helps, start, 0), jnp.where(helps, r, gradient), jnp.where(helps, q, 0)
    y = solve(r)
    ry = jnp.vdot(r, y)
    going = -1
    first = jnp.where(ry <= nothing, SOLVED, jnp.where(jnp.isfinite(ry + q), going, NOT_FINITE))

    def body(now: _Now) -> _Now:
        i, x, r, p, ry, iterates, values, _, carried = now
        Bp = product(p)
        curvature = jnp.vdot(p, Bp)
        alpha = ry / curvature
        new_x, new_r = x + alpha * p, r + alpha * Bp
        q = 0.5 * jnp.vdot(new_x, new_r + gradient)
        y = solve(new_r)
        new_ry = jnp.vdot(new_r, y)
        finite = jnp.isfinite(curvature) & jnp.isfinite(q) & jnp.isfinite(new_ry)
        sound = finite & (curvature > 0)
        step = jnp.where(sound, alpha, 0) * jnp.where(sound, p, 0)
        q = jnp.where(sound, q, values[i])
        stop = jnp.asarray(False)
        if observe is not None:
            carried, stop = observe(carried, Taken(step, jnp.where(sound, new_x, x), q))

        before = values[jnp.maximum(i + 1 - window, 0)]
        slow = (i + 1 > window) & (q < 0) & ((q - before) / q < window * tolerance)
        reason = jnp.asarray(going)
        for holds, name in (
            (i + 1 >= iterations, LIMIT),
            (slow, PROGRESS),
            (new_ry <= nothing, SOLVED),
            (stop, OBSERVER),
            (curvature <= 0, CURVATURE),
            (~finite, NOT_FINITE),
        ):
            reason = jnp.where(holds, name, reason)
        new_p = jnp.where(sound, -y + (new_ry / ry) * p, p)
        x, r = jnp.where(sound, new_x, x), jnp.where(sound, new_r, r)
        iterates = iterates.at[slot_of[i]].set(x)
        values = values.at[i + 1].set(q)
        return _Now(i + 1, x, r, new_p, new_ry, iterates, values, reason, carried)

    begin = _Now(
        jnp.asarray(0),
        start,
        r,
        -y,
        ry,
        jnp.broadcast_to(start, (len(at), start.size)),
        values.at[0].set(q),
        first,
        observed,
    )
    end = jax.lax.while_loop(lambda now: now.reason == going, body, begin)
    last = jnp.where(end.i > 0, slot_of[jnp.maximum(end.i - 1, 0)], 0)
    return Solution(end.iterates, last, end.values, end.i, end.reason, end.observed)
