"""Wrappers that add noise to a cell: `Zoneout`, `Dropout` and `WeightNoise`.

All noise comes from a seed that is part of the module, so a cell with noise is still pure: the same
module gives the same numbers, and within one training step the noise is fixed. `reseed` generates
new noise, `eqx.nn.inference_mode` turns it off.

Example:
    >>> key = jax.random.key(0)
    >>> cell = Zoneout(ostinato.cells.LSTM(3, 16, key=key), 0.1, key=key)
    >>> cell = reseed(cell, jax.random.key(1))
    >>> eqx.nn.inference_mode(cell).inference
    True
"""

import math
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Cell, Layer
from ..cells.cell import Wrapper
from ..cells.operator import Operator
from ..errors import BadInput
from ..through_time import with_products
from ..through_time.check import check_layer
from ..through_time.tap import Tap

Module = TypeVar("Module")


class Seed(eqx.Module):
    """A random key that is part of a module and no parameter: raw key data, `uint32`."""

    data: jax.Array
    impl: str = eqx.field(static=True)

    def __init__(self, key: jax.Array):
        self.data = jax.random.key_data(key)
        self.impl = str(jax.random.key_impl(key))

    def key(self, index: int = 0) -> jax.Array:
        return jax.random.fold_in(jax.random.wrap_key_data(self.data, impl=self.impl), index)


def reseed(module: Module, key: jax.Array) -> Module:
    """The same module with new noise, wherever in it there is noise."""

    def is_seed(x: Any) -> bool:
        return isinstance(x, Seed)

    seeds = [x for x in jax.tree.leaves(module, is_leaf=is_seed) if is_seed(x)]
    fresh = iter([Seed(k) for k in jax.random.split(key, max(len(seeds), 1))])
    return jax.tree.map(lambda x: next(fresh) if is_seed(x) else x, module, is_leaf=is_seed)


class _Noisy(Wrapper):
    """A cell with noise around a cell."""

    seed: Seed
    inference: bool


class Zoneout(_Noisy):
    """At each step each unit keeps its previous value with probability `rate`.

    `s_t = m_t ⊙ s_{t-1} + (1 - m_t) ⊙ step(s_{t-1}, x_t)` for every array of the state, with a
    fresh mask `m_t` per step and sequence; without noise `m_t = rate`, its mean. An output that
    is part of the state follows it.

    Source: Krueger et al. (2016).

    Shapes: those of the cell; the state is `(state, steps taken (*batch,))`.
    """

    rate: float = eqx.field(static=True)

    def __init__(self, cell: Cell, rate: float, *, key: jax.Array, inference: bool = False):
        """
        Args:
            cell: the cell to wrap.
            rate: probability to keep the previous value, from 0 to below 1.
            key: random key of the noise.
            inference: without noise.
        """
        self.cell, self.seed, self.inference = _checked(cell, "Zoneout"), Seed(key), inference
        self.rate = checked_rate(rate, "Zoneout")

    def initial(self, batch: tuple[int, ...]) -> Any:
        return self.cell.initial(batch), jnp.zeros(batch, jnp.int32)

    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        old, count = state
        new, y = self.cell.step(old, u)
        leaves, tree = jax.tree.flatten(new)
        mixed = []
        for index, (after, before) in enumerate(zip(leaves, jax.tree.leaves(old), strict=True)):
            if jnp.issubdtype(after.dtype, jnp.inexact):
                kept = self.rate if self.inference else self._mask(index, after, count)
                after = kept * before + (1 - kept) * after
            mixed.append(after)
        # Where the cell returns a part of its state as output, return what became of it.
        became = {id(before): after for before, after in zip(leaves, mixed, strict=True)}
        y = jax.tree.map(lambda out: became.get(id(out), out), y)
        return (jax.tree.unflatten(tree, mixed), count + 1), y

    def _mask(self, index: int, like: jax.Array, count: jax.Array) -> jax.Array:
        """Each sequence has its own noise, by its place in the batch and its own step."""
        shape = like.shape[count.ndim :]
        key = self.seed.key(index)

        def one(row: jax.Array, count: jax.Array) -> jax.Array:
            return jax.random.bernoulli(
                jax.random.fold_in(jax.random.fold_in(key, row), count), self.rate, shape
            )

        rows = jnp.arange(math.prod(count.shape))
        masks = jax.vmap(one)(rows, count.reshape(-1))
        return masks.reshape(like.shape).astype(like.dtype)


class Dropout(_Noisy):
    """The same units dropped at every step of a sequence.

    With probability `rate` a unit of the output is zero for the whole sequence, and with
    probability `recurrent` a unit of what the recurrent products read; the rest is scaled so that
    the mean stays. The cell's memory itself is not touched.

    Source: Gal and Ghahramani (2016).

    Shapes: those of the cell.
    """

    rate: float = eqx.field(static=True)
    recurrent: float = eqx.field(static=True)

    def __init__(
        self,
        cell: Cell,
        rate: float = 0.0,
        *,
        recurrent: float = 0.0,
        key: jax.Array,
        inference: bool = False,
    ):
        """
        Args:
            cell: the cell to wrap.
            rate: probability to drop a unit of the output.
            recurrent: probability to drop a unit of the state where a product reads it.
            key: random key of the noise.
            inference: without noise.
        """
        self.cell, self.seed, self.inference = _checked(cell, "Dropout"), Seed(key), inference
        self.rate = checked_rate(rate, "Dropout")
        self.recurrent = checked_rate(recurrent, "Dropout")

    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        if self.inference:
            return self.cell.step(state, u)

        def change(j: int, tap: Tap, v: jax.Array, weight: jax.Array) -> jax.Array:
            # Dropped is what comes from the step before, not what is computed within this one.
            v = self._drop(j + 1, v, self.recurrent) if tap.from_state else v
            return tap.value(v, weight)

        def step(cell: Layer, state: Any, u: Any) -> tuple[Any, Any]:
            return cell.step(state, u)

        state, y = with_products(change, step, self.cell, state, u)
        return state, jax.tree.map(lambda out: self._drop(0, out, self.rate), y)

    def operators(self) -> list[list[Operator]] | None:
        return self.cell.operators() if self.inference else None

    def _drop(self, index: int, x: jax.Array, rate: float) -> jax.Array:
        return x if rate == 0.0 else dropped(x, rate, self.seed.key(index))


class Drop(eqx.Module):
    """Each number of an array is zero with probability `rate`; the rest is scaled up.

    Example:
        >>> drop = Drop(0.5, key=jax.random.key(0))
        >>> sorted(set(drop(jnp.ones(100)).tolist()))
        [0.0, 2.0]
    """

    seed: Seed
    inference: bool
    rate: float = eqx.field(static=True)

    def __init__(self, rate: float, *, key: jax.Array, inference: bool = False):
        """
        Args:
            rate: probability to drop a number, from 0 to below 1.
            key: random key of the noise.
            inference: without noise.
        """
        self.seed, self.inference, self.rate = Seed(key), inference, checked_rate(rate, "Drop")

    def __call__(self, x: jax.Array) -> jax.Array:
        return x if self.inference else dropped(x, self.rate, self.seed.key())


class WeightNoise(_Noisy):
    """Normal noise on every parameter of a cell, the same for a whole sequence.

    Source: Graves (2011), Practical variational inference for neural networks.

    Shapes: those of the cell.
    """

    std: float = eqx.field(static=True)

    def __init__(self, cell: Cell, std: float, *, key: jax.Array, inference: bool = False):
        """
        Args:
            cell: the cell to wrap.
            std: standard deviation of the noise.
            key: random key of the noise.
            inference: without noise.
        """
        if std < 0:
            raise BadInput(f"WeightNoise needs a standard deviation of at least 0, got {std}")
        self.cell, self.seed, self.inference = _checked(cell, "WeightNoise"), Seed(key), inference
        self.std = std

    def inputs(self, x: Any) -> Any:
        return self._noisy().inputs(x)

    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        return self._noisy().step(state, u)

    def operators(self) -> list[list[Operator]] | None:
        return self._noisy().operators()

    def _noisy(self) -> Layer:
        if self.inference:
            return self.cell
        weights, rest = eqx.partition(self.cell, eqx.is_inexact_array)
        leaves, tree = jax.tree.flatten(weights)
        noisy = [
            x + self.std * jax.random.normal(self.seed.key(i), x.shape, x.dtype)
            for i, x in enumerate(leaves)
        ]
        return eqx.combine(jax.tree.unflatten(tree, noisy), rest)


def dropped(x: jax.Array, rate: float, key: jax.Array) -> jax.Array:
    """`x` with zeros in place of numbers, with probability `rate`; the rest is scaled up."""
    kept = jax.random.bernoulli(key, 1 - rate, x.shape)
    return jnp.where(kept, x / (1 - rate), 0)


def _checked(cell: Cell, name: str) -> Cell:
    check_layer(cell)
    if not cell.can_step:
        raise BadInput(f"{name} wraps a cell with a step, got {type(cell).__name__}")
    return cell


def checked_rate(rate: float, name: str) -> float:
    if not 0 <= rate < 1:
        raise BadInput(f"{name} needs a rate from 0 to below 1, got {rate}")
    return rate
