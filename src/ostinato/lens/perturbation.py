"""What really happens to an output when old inputs are others: no derivative, no approximation."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import BadInput
from ..through_time import unroll


def influence_by_lag(
    network: Any, xs: Any, state: Any = None, *, lags: Sequence[int] | None = None, at: int = -1
) -> tuple[np.ndarray, jax.Array]:
    """`‖o_t(x with x_{t-k} replaced) - o_t(x)‖` for some lags k.

    The input of one step is replaced by that of another sequence of the batch, so it stays an input
    as the network knows them, a symbol or a vector. The result is the root mean square over the
    batch, one run of the network for each lag.

    Args:
        network: anything that unrolls.
        xs: `(T, B, ...)`, two sequences at least.
        state: the state before the first step.
        lags: which; by default 0, 1, 2, 3, 4, 6, 8, 11, 16, … up to the first input.
        at: t, the step whose output is watched; by default the last.

    Returns:
        The lags, and the influence of each.

    Example:
        >>> lags, influence = influence_by_lag(network, xs)
    """
    last = _step(xs, at)
    which = spread_lags(last) if lags is None else np.asarray(lags)
    others = _others(xs)
    before = unroll(network, xs, state)[0][last]

    def changed(lag):
        here = jnp.arange(last + 1) == last - lag
        return _distance(network, _mixed(xs, others, here, last), state, before)

    return which, jax.lax.map(changed, jnp.asarray(which))


def ignored_before(
    network: Any, xs: Any, state: Any = None, *, share: float = 0.01, at: int = -1
) -> int | None:
    """The largest τ for which the output does not care about any input before step τ.

    All inputs before τ are replaced at once by those of other sequences. The output ignores them
    where it moves by less than `share` of what it moves when all inputs are replaced. Document 000
    calls a trained network of which this is true a poor solution, if its task needs those inputs.

    Returns:
        τ, or `None` where the output does not ignore even the first input alone.

    Example:
        >>> ignored_before(network, xs)  # 93 of 100: it answers from the last seven inputs
    """
    last = _step(xs, at)
    others = _others(xs)
    before = unroll(network, xs, state)[0][last]

    @jax.jit
    def moved(tau):
        return _distance(
            network, _mixed(xs, others, jnp.arange(last + 1) < tau, last), state, before
        )

    whole = float(moved(last + 1))
    low, high = 0, last + 1  # replacing before `low` is ignored, before `high` is not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if float(moved(middle)) < share * whole else (low, middle)
    return low or None


def spread_lags(most: int) -> np.ndarray:
    """Lags from 0 to `most`, at first each and then farther and farther apart."""
    found = {0, most, *(int(x) for x in np.geomspace(1, max(most, 1), 16))}
    return np.array(sorted(lag for lag in found if lag <= most))


def _step(xs: Any, at: int) -> int:
    first = jax.tree.leaves(xs)[0]
    if first.ndim < 2 or first.shape[1] < 2:
        raise BadInput(f"perturbing needs a batch of two sequences or more, got {first.shape}")
    if not -first.shape[0] <= at < first.shape[0]:
        raise BadInput(f"there is no step {at} in sequences of {first.shape[0]} steps")
    return range(first.shape[0])[at]


def _others(xs: Any) -> Any:
    return jax.tree.map(lambda x: jnp.roll(jnp.asarray(x), 1, axis=1), xs)


def _mixed(xs: Any, others: Any, replaced: jax.Array, last: int) -> Any:
    def mix(x, other):
        x, other = jnp.asarray(x)[: last + 1], other[: last + 1]
        return jnp.where(replaced.reshape(-1, *(1,) * (x.ndim - 1)), other, x)

    return jax.tree.map(mix, xs, others)


def _distance(network: Any, xs: Any, state: Any, before: jax.Array) -> jax.Array:
    difference = unroll(network, xs, state)[0][-1] - before
    return jnp.sqrt(jnp.mean(jnp.sum(difference**2, axis=-1)))
