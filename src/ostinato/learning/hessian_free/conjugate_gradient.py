"""Conjugate gradient: minimise `q(x) = ½ xᵀ B x + gᵀ x` with products `B v` alone.

    r = B x + g,  y = M⁻¹ r,  p = -y
    α = rᵀy / pᵀBp,  x ← x + α p,  r ← r + α B p,  β = r'ᵀy' / rᵀy,  p ← -y' + β p

B must be symmetric and positive semidefinite. M is an optional diagonal preconditioner. Iteration
stops when the last k steps made too little progress, (q_i - q_{i-k}) / q_i < k ε.

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
GOING = -1
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
    """A completed step: α p, the new x, and q there."""

    step: jax.Array
    x: jax.Array
    q: jax.Array


class _Now(NamedTuple):
    """What one iteration hands on to the next.

    Attributes:
        i: iterations done.
        x: the iterate.
        r: the residual `B x + g`.
        p: the direction of the next step.
        ry: `rᵀ M⁻¹ r`.
        iterates, values, reason, observed: see `Solution`; while going on, the reason is `GOING`.
    """

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
    marks: list[int] = []
    at = 1.0
    while not marks or marks[-1] < iterations:
        marks.append(min(int(np.ceil(at)), iterations))
        at = max(at * GROWTH, marks[-1] + 1)
    return np.asarray(marks)


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
        >>> B, g = np.diag([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 4.0])
        >>> solve = jax.jit(lambda g: conjugate_gradient(lambda v: B @ v, g, jnp.zeros(3)))
        >>> found = jax.device_get(solve(g))
        >>> found.iterates[found.last].round(3).tolist(), REASONS[found.reason]
        ([-1.0, -1.0, -1.0], 'solved')
    """
    at = kept_iterations(iterations)
    slot_of = jnp.asarray(np.searchsorted(at, np.arange(1, iterations + 1)))
    values = jnp.full(iterations + 1, jnp.nan, gradient.dtype)

    def solve(r: jax.Array) -> jax.Array:
        return r if diagonal is None else r / diagonal

    # Of the residual, what cannot be told from rounding.
    nothing = jnp.finfo(gradient.dtype).eps ** 2 * jnp.vdot(gradient, solve(gradient))

    r = product(start) + gradient
    q = 0.5 * jnp.vdot(start, r + gradient)
    helps = q < 0
    start, r, q = jnp.where(helps, start, 0), jnp.where(helps, r, gradient), jnp.where(helps, q, 0)
    y = solve(r)
    ry = jnp.vdot(r, y)
    first = jnp.where(ry <= nothing, SOLVED, jnp.where(jnp.isfinite(ry + q), GOING, NOT_FINITE))

    def body(now: _Now) -> _Now:
        i, p, carried = now.i, now.p, now.observed
        Bp = product(p)
        curvature = jnp.vdot(p, Bp)
        alpha = now.ry / curvature
        new_x, new_r = now.x + alpha * p, now.r + alpha * Bp
        q = 0.5 * jnp.vdot(new_x, new_r + gradient)
        y = solve(new_r)
        new_ry = jnp.vdot(new_r, y)
        finite = jnp.isfinite(curvature) & jnp.isfinite(q) & jnp.isfinite(new_ry)
        sound = finite & (curvature > 0)
        step = jnp.where(sound, alpha, 0) * jnp.where(sound, p, 0)
        q = jnp.where(sound, q, now.values[i])
        stop = jnp.asarray(False)
        if observe is not None:
            carried, stop = observe(carried, Taken(step, jnp.where(sound, new_x, now.x), q))

        before = now.values[jnp.maximum(i + 1 - window, 0)]
        slow = (i + 1 > window) & (q < 0) & ((q - before) / q < window * tolerance)
        reason = jnp.asarray(GOING)
        for holds, name in (
            (i + 1 >= iterations, LIMIT),
            (slow, PROGRESS),
            (new_ry <= nothing, SOLVED),
            (stop, OBSERVER),
            (curvature <= 0, CURVATURE),
            (~finite, NOT_FINITE),
        ):
            reason = jnp.where(holds, name, reason)
        x = jnp.where(sound, new_x, now.x)
        return _Now(
            i=i + 1,
            x=x,
            r=jnp.where(sound, new_r, now.r),
            p=jnp.where(sound, -y + (new_ry / now.ry) * p, p),
            ry=new_ry,
            iterates=now.iterates.at[slot_of[i]].set(x),
            values=now.values.at[i + 1].set(q),
            reason=reason,
            observed=carried,
        )

    begin = _Now(
        i=jnp.asarray(0),
        x=start,
        r=r,
        p=-y,
        ry=ry,
        iterates=jnp.broadcast_to(start, (len(at), start.size)),
        values=values.at[0].set(q),
        reason=first,
        observed=observed,
    )
    end = jax.lax.while_loop(lambda now: now.reason == GOING, body, begin)
    last = jnp.where(end.i > 0, slot_of[jnp.maximum(end.i - 1, 0)], 0)
    return Solution(end.iterates, last, end.values, end.i, end.reason, end.observed)
