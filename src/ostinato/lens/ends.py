"""Where each sequence of a padded or packed batch ends, and what lies how far before its end."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..cells import Layer
from ..errors import BadInput
from ..through_time.borders import find_borders
from ..through_time.check import sizes


class Ends(NamedTuple):
    """The step of each sequence that is looked at, and where that sequence begins.

    Attributes:
        last: integers `(*batch,)`, the step t; negative where the sequence is too short to have it.
        first: integers `(*batch,)`, the step at which its sequence begins.
        steps: the number of steps T of the batch.
    """

    last: jax.Array
    first: jax.Array
    steps: int

    def of(self, values: jax.Array) -> jax.Array:
        """What is at each sequence's step t, of an array `(T, *batch, ...)`."""
        at = jnp.maximum(self.last, 0)
        return jnp.take_along_axis(values, _wide(at[None], values), axis=0)[0]

    def by_lag(self, values: jax.Array) -> jax.Array:
        """An array `(T, *batch, ...)` by lag: entry k of a sequence is that of its step t - k."""
        times = self.last - self._lags()
        return jnp.take_along_axis(values, _wide(jnp.maximum(times, 0), values), axis=0)

    def counted(self) -> jax.Array:
        """Booleans `(T, *batch)`: whether a sequence has begun, so many steps before t."""
        return self.last - self._lags() >= jnp.where(self.last < 0, self.steps, self.first)

    def lag(self) -> jax.Array:
        """Integers `(T, *batch)`: how many steps before t each step is."""
        return self.last - self._lags()

    def _lags(self) -> jax.Array:
        return jnp.arange(self.steps).reshape(-1, *(1 for _ in self.last.shape))


def find_ends(network: Layer, xs: Any, lengths: Any, resets: Any, at: int) -> Ends:
    """The ends of the sequences of a batch.

    Args:
        network, xs: what is looked at, and its inputs.
        lengths, resets: as for `unroll`.
        at: the step; negative numbers count back from each sequence's own end.
    """
    steps, batch = sizes(network, xs)
    if not -steps <= at < steps:
        raise BadInput(f"at must be a step from {-steps} to {steps - 1}, got {at}")
    _, borders = find_borders(xs, lengths, resets, steps, batch)
    ends = jnp.full(batch, steps) if lengths is None else jnp.asarray(lengths)
    last = ends + at if at < 0 else jnp.where(at < ends, at, -1)
    times = jnp.arange(steps).reshape(-1, *(1 for _ in batch))
    first = jnp.zeros_like(last)
    if borders.forward is not None:
        begun = borders.forward & (times <= last)
        first = jnp.max(jnp.where(begun, times, 0), axis=0, initial=0)
    return Ends(last, first, steps)


def mean_over(values: jax.Array, counted: jax.Array) -> jax.Array:
    """The mean over the batch of an array `(T, *batch)`, where counted; zero where none is."""
    total = jnp.sum(jnp.where(counted, values, 0).reshape(len(values), -1), axis=1)
    count = jnp.sum(counted.reshape(len(values), -1), axis=1)
    return total / jnp.maximum(count, 1)


def _wide(index: jax.Array, like: jax.Array) -> jax.Array:
    return index.reshape(*index.shape, *(1,) * (like.ndim - index.ndim))
