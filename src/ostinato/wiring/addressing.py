"""How the heads of a neural Turing machine choose rows of its memory, and what they do there.

A head has a weighting w over the N rows of the memory M, with numbers from 0 to 1 that add up to 1.
The new weighting comes from the old one in four stages:

    content       w_c = softmax(β K(k, M_i)),  K the cosine similarity     eqs 5 and 6
    interpolate   w_g = g w_c + (1 - g) w                                  eq 7
    shift         w_s(i) = Σ_j w_g(i - j) s(j),  rows in a circle          eq 8
    sharpen       w = w_s^γ / Σ w_s^γ                                      eq 9

    read          r = Σ_i w(i) M_i                                         eq 2
    write         M_i ← M_i ⊙ Π_heads (1 - w(i) e) + Σ_heads w(i) a        eqs 3 and 4

Source: Graves, Wayne and Danihelka (2014), Neural Turing machines.

In float32 all results and first derivatives are finite for memories of up to 1e15, keys and β of up
to 1e30, and any γ: the cosine of a vector of zeros is 0, w^γ is computed from logarithms, and
γ has no more effect above 10,000.

Shapes: with H heads, N rows and M columns, memory `(..., N, M)`, weightings `(..., H, N)`, keys,
erased and added vectors `(..., H, M)`, and β, g, γ `(..., H)`.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

EMPTY = 1e-6  # vectors much shorter than this count as zero
LEAST = 1e-30  # weights below this count as this where their logarithm is taken
MAX = 1e4  # of γ


class Focus(NamedTuple):
    """What a controller tells its heads.

    Attributes:
        key: k, `(..., H, M)`.
        strength: β ≥ 0, `(..., H)`.
        gate: g from 0 to 1, `(..., H)`.
        shift: s, `(..., H, 2 S + 1)`, for shifts from -S to S; adds up to 1.
        sharpness: γ ≥ 1, `(..., H)`.
    """

    key: jax.Array
    strength: jax.Array
    gate: jax.Array
    shift: jax.Array
    sharpness: jax.Array


def address(memory: jax.Array, before: jax.Array, focus: Focus) -> jax.Array:
    """The new weightings of all heads, given those before.

    Example:
        >>> memory, before = jnp.eye(4), jnp.array([[1.0, 0.0, 0.0, 0.0]])
        >>> right = Focus(
        ...     key=jnp.zeros((1, 4)),
        ...     strength=jnp.ones(1),
        ...     gate=jnp.zeros(1),
        ...     shift=jnp.array([[0.0, 0.0, 1.0]]),
        ...     sharpness=jnp.ones(1),
        ... )
        >>> address(memory, before, right).round(3).tolist()
        [[0.0, 1.0, 0.0, 0.0]]
    """
    found = content(memory, focus.key, focus.strength)
    mixed = interpolate(found, before, focus.gate)
    return sharpen(shift(mixed, focus.shift), focus.sharpness)


def content(memory: jax.Array, key: jax.Array, strength: jax.Array) -> jax.Array:
    """`softmax(β K(k, M_i))` over the rows."""
    return jax.nn.softmax(strength[..., None] * similarity(memory, key), axis=-1)


def similarity(memory: jax.Array, key: jax.Array) -> jax.Array:
    """The cosine of the angle between each key and each row; 0 if one of them is zero.

    Example:
        >>> similarity(jnp.array([[3.0, 0.0], [0.0, 0.0]]), jnp.array([[1e30, 1e30]])).round(3)
        Array([[0.707, 0.   ]], dtype=float...)
    """
    # The square of a long key would overflow. Its length does not matter: it counts as a constant.
    longest = jnp.max(jnp.abs(key), axis=-1, keepdims=True)
    key = _unit(key / jax.lax.stop_gradient(jnp.maximum(longest, 1)))
    return jnp.sum(key[..., :, None, :] * _unit(memory)[..., None, :, :], axis=-1)


def _unit(x: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.sum(x * x, axis=-1, keepdims=True) + EMPTY**2)


def interpolate(found: jax.Array, before: jax.Array, gate: jax.Array) -> jax.Array:
    """`g w_c + (1 - g) w`."""
    return gate[..., None] * found + (1 - gate[..., None]) * before


def shift(weighting: jax.Array, by: jax.Array) -> jax.Array:
    """`Σ_j w(i - j) s(j)`, with the rows in a circle.

    Example:
        >>> shift(jnp.array([1.0, 0.0, 0.0, 0.0]), jnp.array([0.25, 0.5, 0.25])).tolist()
        [0.5, 0.25, 0.0, 0.25]
    """
    rows, reach = weighting.shape[-1], by.shape[-1] // 2
    circle = jnp.concatenate(
        [weighting[..., rows - reach :], weighting, weighting[..., :reach]], -1
    )
    starts = range(2 * reach, -1, -1)
    return sum(by[..., j, None] * circle[..., i : i + rows] for j, i in enumerate(starts))  # type: ignore


def sharpen(weighting: jax.Array, sharpness: jax.Array) -> jax.Array:
    """`w^γ / Σ w^γ`.

    Example:
        >>> sharpen(jnp.array([0.0, 0.5, 0.5]), jnp.asarray(1e30)).tolist()
        [0.0, 0.5, 0.5]
    """
    logs = jnp.log(jnp.maximum(weighting, LEAST))
    return jax.nn.softmax(jnp.minimum(sharpness, MAX)[..., None] * logs, axis=-1)


def read(memory: jax.Array, weighting: jax.Array) -> jax.Array:
    """`Σ_i w(i) M_i` of each head, `(..., H, M)`."""
    return jnp.sum(weighting[..., None] * memory[..., None, :, :], axis=-2)


def write(
    memory: jax.Array, weighting: jax.Array, erased: jax.Array, added: jax.Array
) -> jax.Array:
    """The memory after all heads have erased and then added; their order does not matter.

    Example:
        >>> memory, there = jnp.ones((2, 3)), jnp.array([[1.0, 0.0]])
        >>> write(memory, there, jnp.ones((1, 3)), jnp.array([[5.0, 6.0, 7.0]])).tolist()
        [[5.0, 6.0, 7.0], [1.0, 1.0, 1.0]]
    """
    where = weighting[..., None]
    kept, new = 1 - where * erased[..., None, :], where * added[..., None, :]
    heads = range(weighting.shape[-2])
    memory = math.prod((kept[..., head, :, :] for head in heads), start=memory)
    return memory + sum(new[..., head, :, :] for head in heads)
