"""How far back in time the error of one step reaches."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..through_time import taps, unroll
from .ends import Ends, find_ends, mean_over
from .recurrent_matrices import recurrent_products


def gradient_by_lag(
    network: Any,
    xs: Any,
    loss: Callable[[jax.Array], jax.Array],
    state: Any = None,
    *,
    at: int = -1,
    lengths: Any = None,
    resets: Any = None,
) -> dict[str, jax.Array]:
    """`‖∂L_t / ∂a_{t-k}‖` at every recurrent pre-activation a, for each lag k = 0, 1, …, t.

    A pre-activation is recurrent where its product lies on a cycle, as in `recurrent_matrices`: a
    readout is not, nor is what a layer of a stack reads of the one below.

    `L_t` is a loss on the output of step t alone, so what is seen is how its error fades or grows
    on the way back. Norms are over the units of one sequence; the result is their root mean square
    over the batch, each sequence's error counted as if it were alone. It costs one gradient: the
    errors fall out of the engine's backward scan.

    Args:
        network: a cell, a network, or a layer of cells.
        xs: the inputs, time first.
        loss: `loss(output)`, one number for each sequence, `(*batch, outputs) -> (*batch,)`.
        state: the state before the first step.
        at: t, the step whose loss it is; by default the last.
        lengths, resets: as for `unroll`. A negative `at` then counts back from each sequence's own
            end, and at each lag the mean is over the sequences that are so long.

    Returns:
        For each recurrent weight, by its path, an array `(t + 1,)`; with `lengths` or `resets`
        `(T,)`, zero at lags that no sequence has.

    Example:
        >>> found = gradient_by_lag(network, xs, lambda output: jnp.sum(output**2, axis=-1))
        >>> found[".cell.R"].shape  # entry k: the error k steps before the loss
        (10,)
    """
    offsets, recurrent = taps(network, xs), recurrent_products(network, xs)
    followed = {name: x for name, x in offsets.items() if name in recurrent}
    if lengths is not None or resets is not None:
        ends = find_ends(network, xs, lengths, resets, at)

        def total_at_ends(followed: dict[str, jax.Array]) -> jax.Array:
            options = {"taps": offsets | followed, "lengths": lengths, "resets": resets}
            ys, _ = unroll(network, xs, state, **options)
            return jnp.sum(jnp.where(ends.last >= 0, loss(ends.of(ys)), 0))

        found = jax.grad(total_at_ends)(followed)
        return {name: _profile_of(error, ends) for name, error in found.items()}

    def total(followed: dict[str, jax.Array]) -> jax.Array:
        ys, _ = unroll(network, xs, state, taps=offsets | followed)
        return jnp.sum(loss(ys[at]))

    steps = jax.tree.leaves(xs)[0].shape[0]
    last = range(steps)[at]
    errors = jax.grad(total)(followed)
    return {name: _profile(error[: last + 1]) for name, error in errors.items()}


def _profile_of(errors: jax.Array, ends: Ends) -> jax.Array:
    """Errors `(T, *batch, units)` as norms by lag `(T,)`, of the sequences that are so long."""
    squares = ends.by_lag(jnp.sum(errors**2, axis=-1))
    return jnp.sqrt(mean_over(squares, ends.counted()))


def _profile(errors: jax.Array) -> jax.Array:
    """Errors `(t + 1, *batch, units)` as norms by lag `(t + 1,)`, the latest first."""
    squares = jnp.sum(errors**2, axis=-1)
    mean = jnp.mean(squares.reshape(len(squares), -1), axis=1)
    return jnp.sqrt(mean)[::-1]
