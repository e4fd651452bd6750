"""How an output really changes when old inputs are replaced: no derivative, no approximation."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Layer
from ..errors import BadInput
from ..through_time import unroll
from ..through_time.lengths_and_resets import find_ends, mean_over, where


def influence_by_lag(
    network: Layer,
    xs: Any,
    state: Any = None,
    *,
    lags: Sequence[int] | None = None,
    at: int = -1,
    lengths: Any = None,
    resets: Any = None,
) -> tuple[np.ndarray, jax.Array]:
    """`‖o_t(x with x_{t-k} replaced) - o_t(x)‖` for some lags k.

    The input of one step is replaced by that of another sequence of the batch, so it stays a
    typical input of the network, a symbol or a vector. The result is the root mean square over the
    batch, one run of the network for each lag.

    Args:
        network: anything that unrolls.
        xs: `(T, B, ...)`, two sequences at least.
        state: the state before the first step.
        lags: which; by default 0, 1, 2, 3, 4, 6, 8, 11, 16, … up to the first input.
        at: t, the step whose output is watched; by default the last.
        lengths, resets: as for `unroll`. A negative `at` then counts back from each sequence's own
            end, and at each lag the mean is over the sequences that are so long.

    Returns:
        The lags, and the influence of each.

    Example:
        >>> lags, influence = influence_by_lag(network, xs)
    """
    probe = _Probe(network, xs, state, at, lengths, resets)
    which = spread_lags(probe.max_lag) if lags is None else np.asarray(lags)
    return which, jax.lax.map(probe.moved_by_one, jnp.asarray(which))


def ignored_before(
    network: Layer,
    xs: Any,
    state: Any = None,
    *,
    share: float = 0.01,
    at: int = -1,
    lengths: Any = None,
    resets: Any = None,
) -> int | None:
    """The largest τ for which the output does not depend on any input before step τ.

    All inputs before τ are replaced at once by those of other sequences. The output ignores them
    if it moves by less than `share` of what it moves when all inputs are replaced. If the task
    needs those inputs, Galvan (2015), section 1.6, calls the network a poor solution. With
    `lengths`, τ counts as if all sequences ended at the same step.

    Returns:
        τ, or `None` where the output does not ignore even the first input alone.

    Example:
        >>> ignored_before(network, xs)  # 93 of 100: it answers from the last seven inputs
    """
    probe = _Probe(network, xs, state, at, lengths, resets)
    moved = jax.jit(probe.moved_before)
    whole = float(moved(probe.max_lag + 1))
    low, high = 0, probe.max_lag + 1  # replacing before `low` is ignored, before `high` is not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if float(moved(middle)) < share * whole else (low, middle)
    return low or None


def spread_lags(max_lag: int) -> np.ndarray:
    """Lags from 0 to `max_lag`, at first each and then farther and farther apart."""
    lags = {0, max_lag, *(int(x) for x in np.geomspace(1, max(max_lag, 1), 16))}
    return np.array(sorted(lag for lag in lags if lag <= max_lag))


class _Probe:
    """How far the output at each sequence's step t moves when some of its inputs are replaced."""

    def __init__(self, network: Layer, xs: Any, state: Any, at: int, lengths: Any, resets: Any):
        first = jax.tree.leaves(xs)[0]
        if first.ndim < 2 or first.shape[1] < 2:
            raise BadInput(f"perturbing needs a batch of two sequences or more, got {first.shape}")
        steps = first.shape[0]
        if not -steps <= at < steps:
            raise BadInput(f"there is no step {at} in sequences of {steps} steps")
        self.max_lag = range(steps)[at]
        options = {"lengths": lengths, "resets": resets}
        if lengths is None and resets is None:
            # Nothing after t is needed.
            xs, at, options = jax.tree.map(lambda x: x[: self.max_lag + 1], xs), -1, {}
        self.xs = jax.tree.map(jnp.asarray, xs)
        self.others = jax.tree.map(lambda x: _of_another(x, lengths), self.xs)
        self.ends = find_ends(network, xs, lengths, resets, at)
        self.outputs = lambda xs: self.ends.of(unroll(network, xs, state, **options)[0])
        self.before = self.outputs(self.xs)

    def moved_by_one(self, lag: jax.Array) -> jax.Array:
        """By replacing the input that many steps before t, in the sequences that are so long."""
        return self._moved(self.ends.lag() == lag, self.ends.last - lag >= self.ends.first)

    def moved_before(self, tau: jax.Array) -> jax.Array:
        """By replacing all inputs before step τ."""
        return self._moved(self.ends.lag() > self.max_lag - tau, self.ends.last >= 0)

    def _moved(self, replaced: jax.Array, counted: jax.Array) -> jax.Array:
        mixed = jax.tree.map(lambda x, other: where(replaced, other, x), self.xs, self.others)
        squares = jnp.sum((self.outputs(mixed) - self.before) ** 2, axis=-1)
        return jnp.sqrt(mean_over(squares[None], counted[None])[0])


def _of_another(x: jax.Array, lengths: Any) -> jax.Array:
    """At each step an input of the sequence before it in the batch, never one of its padding."""
    if lengths is not None:
        ends = jnp.maximum(jnp.asarray(lengths), 1)
        times = jnp.arange(len(x)).reshape(-1, *(1 for _ in ends.shape)) % ends
        x = jnp.take_along_axis(x, times.reshape(*times.shape, *(1,) * (x.ndim - times.ndim)), 0)
    return jnp.roll(x, 1, axis=1)
