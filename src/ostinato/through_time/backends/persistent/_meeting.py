"""How programs exchange numbers: every exchanged number carries its own ready flag.

    values    a slot per time step, filled with a marker: a NaN bit pattern that no value has
    sums      two slots used in turn; the lowest bit of a number is the parity of its turn

A reader polls until no marker, or no number of an earlier turn, is left in what it needs. Each
number is checked by itself, so the order in which writes become visible does not matter: there is
no counter, no fence and no lock. A slot for sums is reused only after all its readers have
finished, because a program writes it again only after reading values which the others could write
only after they had read the slot.

Polling uses volatile loads, which bypass the L1 cache. A polled tile has at least one number per
thread. In a smaller one several threads would each hold a copy, read at different times, of which
only one would be checked.

A reader that has polled too often, because a program of its group never started, reports failure
and continues with what is there, which is NaN. After that no program waits long for it.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.pallas import triton as plgpu

LONGEST = 1 << 21  # polls; one takes about a microsecond
THREADS = 256  # per program, at most


def bits_of(dtype: Any) -> Any:
    """The integer type that holds a value's bits; its largest number is the marker."""
    return jnp.int16 if jnp.dtype(dtype).itemsize == 2 else jnp.int32


def empty(shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """A slot for values, filled with markers.

    16-bit markers are written in pairs, which takes half the time; the width is even.
    """
    bits = bits_of(dtype)
    mark = jnp.iinfo(bits).max
    if bits == jnp.int32:
        return jnp.full(shape, mark, bits)
    *lead, width = shape
    pairs = jnp.full((*lead, width // 2), mark << 16 | mark, jnp.int32)
    return jax.lax.bitcast_convert_type(pairs, bits).reshape(shape)


def handed(tile: jax.Array) -> jax.Array:
    """The bits of values to publish; a value that equals the marker becomes another NaN."""
    bits = jax.lax.bitcast_convert_type(tile, bits_of(tile.dtype))
    return jnp.minimum(bits, jnp.iinfo(bits.dtype).max - 1)


def take_values(
    refs: list, dtype: Any, failed: Any, longest: int, likely: bool = False
) -> tuple[list[jax.Array], jax.Array]:
    """Wait for values of other programs; return them, and whether a wait has failed.

    If they are `likely` to be there at once, the polling loop carries no values, and what was not
    ready at first is read again after it: carrying 16-bit values through the loop would double the
    registers.
    """

    def late(seen):
        maxima = [jnp.max(_largest(seen, shape).reshape(-1)) for shape in {x.shape for x in seen}]
        mark = jnp.iinfo(bits_of(dtype)).max
        return (functools.reduce(jnp.maximum, maxima) == mark).astype(jnp.int32)

    found, failed = _look(refs, late, failed, longest, likely)
    return [jax.lax.bitcast_convert_type(bits, dtype) for bits in found], failed


def _largest(tiles: list, shape: tuple) -> jax.Array:
    """The elementwise maximum of the tiles of a shape; in 32 bits, the width of a register."""
    return functools.reduce(jnp.maximum, [x.astype(jnp.int32) for x in tiles if x.shape == shape])


def turn(t: Any) -> Any:
    """The lowest bit of a sum published at time t in slot `t & 1`; slots start out as 0."""
    return 1 - ((t >> 1) & 1)


def signed(sums: jax.Array, t: Any) -> jax.Array:
    """The bits of float32 sums to publish, with the turn in the lowest bit."""
    return (jax.lax.bitcast_convert_type(sums, jnp.int32) & -2) | turn(t)


def take_sums(
    refs: list, t: Any, failed: Any, longest: int, there: Any = True
) -> tuple[list[jax.Array], jax.Array]:
    """Wait for sums from several slots; `there` masks the positions that others write."""

    def late(seen):
        old = functools.reduce(jnp.bitwise_or, [(bits & 1) ^ turn(t) for bits in seen])
        return jnp.max(jnp.where(there, old, 0).reshape(-1))

    found, failed = _look(refs, late, failed, longest)
    sums = [jax.lax.bitcast_convert_type(bits & -2, jnp.float32) for bits in found]
    return [jnp.where(failed > 0, jnp.nan, x) for x in sums], failed


def _look(
    refs: list, late: Callable, failed: Any, longest: int, likely: bool = False
) -> tuple[list, jax.Array]:
    """Poll until nothing is late, that is, until `late(found)` is 0."""
    for ref in refs:
        assert math.prod(ref.shape) >= THREADS, f"a tile {ref.shape} for {THREADS} threads"

    def see():
        return [plgpu.load(ref, volatile=True) for ref in refs]

    def waiting(state):
        _, missing, looks, limit = state
        return jnp.logical_and(missing > 0, looks < limit)

    def look(state):
        _, _, looks, limit = state
        found = see()
        return [] if likely else found, late(found), looks + 1, limit

    first, limit = see(), longest * (1 - failed)
    state = [] if likely else first, late(first), jnp.int32(0), limit
    found, missing, looks, _ = jax.lax.while_loop(waiting, look, state)
    if likely:
        found = [
            plgpu.load(ref, mask=jnp.broadcast_to(looks > 0, ref.shape), other=old, volatile=True)
            for ref, old in zip(refs, first, strict=True)
        ]
    return found, jnp.maximum(failed, missing)
