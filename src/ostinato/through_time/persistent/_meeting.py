"""How programs meet: what one hands out shows by itself whether it is there.

    values    a place for every time, filled with a mark, all bits set, that no value has
    sums      two places in turn; the lowest bit of each number says whose turn it is of

A reader looks at all that it needs until no mark, or no number of an earlier turn, is left in it.
Every number is checked by itself, so that the order in which they become visible does not matter:
there is no counter, no fence and no lock. With sums, whoever writes to a place for the second time
has read what all others have written after they had read the first.

What others store is read with volatile loads, past the first level of cache. A reader that has
looked too often, as when a program of its group was never started, goes on with what is there and
reports failure, and from then on nobody waits long for it.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.pallas import triton as plgpu

MARK = -1  # as an integer
LONGEST = 1 << 21  # looks; one takes about a microsecond


def bits_of(dtype: Any) -> Any:
    """The integer that holds a value of a type."""
    return jnp.int16 if jnp.dtype(dtype).itemsize == 2 else jnp.int32


def marked(tile: jax.Array) -> jax.Array:
    """Values as they are handed out: never the mark, which is one of the values that are NaN."""
    usual = jnp.where(tile != tile, jnp.asarray(jnp.nan, tile.dtype), tile)
    return jax.lax.bitcast_convert_type(usual, bits_of(tile.dtype))


def take_values(ref: Any, dtype: Any, failed: Any, longest: int) -> tuple[jax.Array, jax.Array]:
    """What others have handed out, once all of it is there, and whether a wait has failed."""
    (bits,), failed = _look([ref], lambda bits: bits == MARK, failed, longest)
    return jax.lax.bitcast_convert_type(bits, dtype), failed


def turn(t: Any) -> Any:
    """The lowest bit of a sum that is handed out at a time, to place `t & 1`; places begin at 0."""
    return 1 - ((t >> 1) & 1)


def signed(sums: jax.Array, t: Any) -> jax.Array:
    """Sums in float32 as they are handed out."""
    return (jax.lax.bitcast_convert_type(sums, jnp.int32) & -2) | turn(t)


def take_sums(
    refs: list, t: Any, failed: Any, longest: int, there: Any = True
) -> tuple[list[jax.Array], jax.Array]:
    """The same for sums from several places; `there` says where in them others hand out any."""

    def late(bits):
        return jnp.logical_and((bits & 1) != turn(t), there)

    found, failed = _look(refs, late, failed, longest)
    return [jax.lax.bitcast_convert_type(bits & -2, jnp.float32) for bits in found], failed


def _look(refs: list, late: Callable, failed: Any, longest: int) -> tuple[list, jax.Array]:
    def see():
        found = [plgpu.load(ref, volatile=True) for ref in refs]
        missing = functools.reduce(jnp.logical_or, map(late, found))
        return found, jnp.max(missing.astype(jnp.int32).reshape(-1))

    def waiting(state):
        _, missing, looks, most = state
        return jnp.logical_and(missing > 0, looks < most)

    def look(state):
        *_, looks, most = state
        return *see(), looks + 1, most

    most = longest * (1 - failed)
    found, missing, *_ = jax.lax.while_loop(waiting, look, (*see(), jnp.int32(0), most))
    return found, jnp.maximum(failed, missing)
