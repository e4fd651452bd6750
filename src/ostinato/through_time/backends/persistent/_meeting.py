"""How programs meet: what one hands out shows by itself whether it is there.

    values    a place for every time, filled with a mark, one of many NaN, that no value has
    sums      two places in turn; the lowest bit of each number says whose turn it is of

A reader looks at all that it needs until no mark, or no number of an earlier turn, is left in it.
Every number is checked by itself, so that the order in which they become visible does not matter:
there is no counter, no fence and no lock. With sums, whoever writes to a place for the second time
has read what others could only write after all readers had read the first.

What others store is read with volatile loads, past the first level of cache. A tile that is looked
at has a number for every thread at least: of a smaller one several threads would hold a copy, each
read at a time of its own, and only one of the copies would be checked.

A reader that has looked too often, as when a program of its group was never started, reports
failure and goes on with what is there, which is NaN; from then on nobody waits long for it.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.pallas import triton as plgpu

LONGEST = 1 << 21  # looks; one takes about a microsecond
THREADS = 256  # of a program, at most


def bits_of(dtype: Any) -> Any:
    """The integer that holds a value of a type; the largest of them is the mark."""
    return jnp.int16 if jnp.dtype(dtype).itemsize == 2 else jnp.int32


def empty(shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """A place for values of a type, with nothing in it yet.

    Short marks are written in pairs, which takes half the time; a width is even.
    """
    bits = bits_of(dtype)
    mark = jnp.iinfo(bits).max
    if bits == jnp.int32:
        return jnp.full(shape, mark, bits)
    *lead, width = shape
    pairs = jnp.full((*lead, width // 2), mark << 16 | mark, jnp.int32)
    return jax.lax.bitcast_convert_type(pairs, bits).reshape(shape)


def handed(tile: jax.Array) -> jax.Array:
    """Values as they are handed out; one that is the mark becomes another NaN."""
    bits = jax.lax.bitcast_convert_type(tile, bits_of(tile.dtype))
    return jnp.minimum(bits, jnp.iinfo(bits.dtype).max - 1)


def take_values(
    refs: list, dtype: Any, failed: Any, longest: int, likely: bool = False
) -> tuple[list[jax.Array], jax.Array]:
    """What others have handed out, once all of it is there, and whether a wait has failed.

    Where it is `likely` to be there at once, what was seen in vain is read once more in the end: a
    loop that hands on what it has seen takes twice the registers for numbers of 16 bits.
    """

    def late(found):
        most = [jnp.max(_largest(found, shape).reshape(-1)) for shape in {x.shape for x in found}]
        mark = jnp.iinfo(bits_of(dtype)).max
        return (functools.reduce(jnp.maximum, most) == mark).astype(jnp.int32)

    found, failed = _look(refs, late, failed, longest, likely)
    return [jax.lax.bitcast_convert_type(bits, dtype) for bits in found], failed


def _largest(tiles: list, shape: tuple) -> jax.Array:
    """Of the tiles of a shape, number by number; in 32 bits, as threads have no shorter ones."""
    return functools.reduce(jnp.maximum, [x.astype(jnp.int32) for x in tiles if x.shape == shape])


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

    def late(found):
        old = functools.reduce(jnp.bitwise_or, [(bits & 1) ^ turn(t) for bits in found])
        return jnp.max(jnp.where(there, old, 0).reshape(-1))

    found, failed = _look(refs, late, failed, longest)
    sums = [jax.lax.bitcast_convert_type(bits & -2, jnp.float32) for bits in found]
    return [jnp.where(failed > 0, jnp.nan, x) for x in sums], failed


def _look(
    refs: list, late: Callable, failed: Any, longest: int, likely: bool = False
) -> tuple[list, jax.Array]:
    """Load until nothing is late, `late(found)` being 0 and not 1."""
    for ref in refs:
        assert math.prod(ref.shape) >= THREADS, f"a tile {ref.shape} for {THREADS} threads"

    def see():
        return [plgpu.load(ref, volatile=True) for ref in refs]

    def waiting(state):
        _, missing, looks, most = state
        return jnp.logical_and(missing > 0, looks < most)

    def look(state):
        _, _, looks, most = state
        found = see()
        return [] if likely else found, late(found), looks + 1, most

    first, most = see(), longest * (1 - failed)
    state = [] if likely else first, late(first), jnp.int32(0), most
    found, missing, looks, _ = jax.lax.while_loop(waiting, look, state)
    if likely:
        found = [
            plgpu.load(ref, mask=jnp.broadcast_to(looks > 0, ref.shape), other=old, volatile=True)
            for ref, old in zip(refs, first, strict=True)
        ]
    return found, jnp.maximum(failed, missing)
