"""Searches on the true objective: for the iterate, the step length, and along each direction.

All are cheap and inexact, and treat NaN as infinity. Each returns the number of evaluations of the
objective.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .conjugate_gradient import Taken

Value = Callable[[jax.Array], jax.Array]

SHRINK = 0.8
SUFFICIENT = 1e-2
TRIES = 60


def finite(value: jax.Array) -> jax.Array:
    """The value, with infinity in place of NaN."""
    return jnp.where(jnp.isnan(value), jnp.inf, value)


class Choice(NamedTuple):
    """A vector, the objective there, the number of evaluations, and whether all were finite."""

    vector: jax.Array
    value: jax.Array
    evaluations: jax.Array
    sound: jax.Array | bool = True


def best_iterate(value: Value, iterates: jax.Array, last: jax.Array) -> Choice:
    """Search backwards from the last iterate as long as the previous one is better.

    Args:
        value: `δ -> f(θ + δ)`.
        iterates: `(K, N)`, in the order of the iterations.
        last: index of the last iterate.

    Source: Martens (2010), section 4.6.
    """

    def body(now: Any) -> Any:
        j, f, count, _ = now
        before = finite(value(iterates[j - 1]))
        better = (before < f) | ~jnp.isfinite(f)
        return jnp.where(better, j - 1, j), jnp.where(better, before, f), count + 1, better

    farthest = finite(value(iterates[last]))
    begin = (last, farthest, jnp.asarray(1), jnp.asarray(True))
    j, f, count, _ = jax.lax.while_loop(lambda now: (now[0] > 0) & now[3], body, begin)
    return Choice(iterates[j], f, count, jnp.isfinite(farthest))


def backtrack(
    value: Value, step: Choice, here: jax.Array, slope: jax.Array
) -> tuple[Choice, jax.Array]:
    """Shorten a step until `f(θ + αδ) ≤ f(θ) + 0.01 α gᵀδ` (Armijo's rule).

    Args:
        value: `δ -> f(θ + δ)`.
        step: δ, and the objective there.
        here: `f(θ)`.
        slope: `gᵀδ`.

    Returns:
        The step αδ, and α, which is 0 if no length satisfies the rule.
    """

    def falls(alpha: jax.Array, f: jax.Array) -> jax.Array:
        return f <= here + SUFFICIENT * alpha * jnp.minimum(slope, 0)

    def body(now: Any) -> Any:
        tries, alpha, _ = now
        alpha = alpha * SHRINK
        return tries + 1, alpha, finite(value(alpha * step.vector))

    begin = (jnp.asarray(0), jnp.ones_like(here), step.value)
    tries, alpha, f = jax.lax.while_loop(
        lambda now: (now[0] < TRIES) & ~falls(*now[1:]), body, begin
    )
    good = falls(alpha, f)
    alpha = jnp.where(good, alpha, 0)
    choice = Choice(jnp.where(good, alpha * step.vector, 0), jnp.where(good, f, here), tries)
    return choice, alpha


def shorten(value: Value, step: Choice) -> Choice:
    """Halve a step as long as that lowers the objective, ten times at most.

    Source: Krause (2015), algorithm 5.
    """

    def body(now: Any) -> Any:
        i, scale, f, _ = now
        shorter = finite(value(0.5 * scale * step.vector))
        better = (shorter < f) | ~jnp.isfinite(f)
        scale, f = jnp.where(better, 0.5 * scale, scale), jnp.where(better, shorter, f)
        return i + 1, scale, f, better

    begin = (jnp.asarray(0), jnp.ones_like(step.value), step.value, jnp.asarray(True))
    i, scale, f, _ = jax.lax.while_loop(lambda now: (now[0] < 10) & now[3], body, begin)
    return Choice(scale * step.vector, f, step.evaluations + i)


class Greedy(NamedTuple):
    """The network's own path along the conjugate directions; see `follow`."""

    x: jax.Array
    value: jax.Array
    failures: jax.Array
    evaluations: jax.Array


FAILURES = 5


def follow(value: Value) -> Callable[[Greedy, Taken], tuple[Greedy, jax.Array]]:
    """Line-search damping: an observer of conjugate gradient.

    Conjugate gradient takes the full step `α_i S_i` along each direction, the network only the
    fraction that lowers its own loss: `x_f = Σ ε_i α_i S_i`. The observer stops conjugate gradient
    after more than five directions that did not lower the loss.

    Source: Krause (2015), section 3.3.3.2, (3.31) and (3.32), and section 4.1 for the five
    directions and for at most ten halvings of a step.
    """

    def observe(now: Greedy, taken: Taken) -> tuple[Greedy, jax.Array]:
        step = taken.step
        whole = Choice(step, finite(value(now.x + step)), jnp.asarray(1))
        shorter = shorten(lambda part: value(now.x + part), whole)
        helps = shorter.value < now.value
        failures = now.failures + ~helps
        new = Greedy(
            jnp.where(helps, now.x + shorter.vector, now.x),
            jnp.where(helps, shorter.value, now.value),
            failures,
            now.evaluations + shorter.evaluations,
        )
        return new, failures > FAILURES

    return observe
