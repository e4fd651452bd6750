"""The norm of a gradient, without overflow, and clipping it: `g ← g · min(1, threshold / ‖g‖)`.

The threshold is a constant or a multiple of the running average of the norms, from `"0.5x"` to
`"10x"`; `"auto"` is `"2x"`. The latter is the heuristic of Galvan (2015), section 2.2.1 with
algorithm 2.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..cells.building import divided_by_compiler
from ..errors import BadInput
from ..settings import as_words

TIMES_AVERAGE = 2.0
LEAST, MAX = 0.5, 10.0
MEMORY = 0.98


class Average(NamedTuple):
    """The running average of the norms: its weighted sum and the sum of weights."""

    total: jax.Array
    weight: jax.Array


def no_average() -> Average:
    """The average before the first step."""
    return Average(jnp.zeros(()), jnp.zeros(()))


def times_average(clip: str) -> float | None:
    """The multiple of the average norm, or `None` for the other kinds of setting."""
    if clip == "auto":
        return TIMES_AVERAGE
    return float(clip[:-1]) if clip.endswith("x") else None


def check_clip(clip: str) -> None:
    """Raise for a setting that is not valid."""
    try:
        if not isinstance(clip, str):
            raise ValueError
        times = times_average(clip)
        good = clip == "off" or (
            0 < float(clip) < 3.4e38 if times is None else LEAST <= times <= MAX
        )
    except ValueError:
        good = False
    if not good:
        raise BadInput(
            f"clip must be a positive number, 'auto', '{LEAST:g}x' to '{MAX:g}x' or 'off', "
            f"got {as_words(str(clip))}"
        )


def clip_factor(
    clip: str | float | jax.Array, norm: jax.Array, average: Average
) -> tuple[jax.Array, Average]:
    """The factor for the gradient, and the new average.

    Args:
        clip: a number, `"3x"` for three times the average norm, `"auto"` for `"2x"`, or `"off"`;
            the number may also be traced.
        norm: the gradient's norm.
        average: the average of the previous norms, unused with a constant threshold. Norms enter it
            after clipping, so one exploding gradient does not raise the threshold.

    Example:
        >>> factor, average = clip_factor("1", jnp.asarray(4.0), no_average())
        >>> float(factor)
        0.25
    """
    if jnp.ndim(norm):
        raise BadInput(f"a norm is one number, got an array of shape {jnp.shape(norm)}")
    times = None
    if isinstance(clip, str):
        check_clip(clip)
        if clip == "off":
            return jnp.ones_like(norm), average
        times = times_average(clip)
        clip = float(clip) if times is None else times
    if times is None:
        return jnp.minimum(1.0, clip / jnp.maximum(norm, 1e-30)), average
    mean = average.total / jnp.maximum(average.weight, 1e-30)
    threshold = jnp.where(average.weight > 0, times * mean, norm)
    factor = jnp.minimum(1.0, threshold / jnp.maximum(norm, 1e-30))
    seen = jnp.minimum(norm, threshold)
    total = MEMORY * average.total + (1 - MEMORY) * seen
    return factor, Average(total, MEMORY * average.weight + (1 - MEMORY))


def norm_of(x: Any) -> jax.Array:
    """`‖x‖` of all entries, which is infinite only if the norm itself is too large for its dtype.

    The square of an entry overflows from 1.8e19 on in float32. So large arrays are scaled by a
    power of two first; for all others the result is exactly that of `jnp.linalg.norm`.

    Example:
        >>> round(float(jax.jit(norm_of)(np.array([3e30, 4e30], np.float32))) / 5e30, 5)
        1.0
    """
    x = jnp.asarray(x)
    # Devices that share an array would have to copy all of it to make it flat.
    x = x if divided_by_compiler() else x.reshape(-1)
    exponent = jnp.finfo(x.dtype).maxexp
    largest = jnp.max(jnp.abs(x), initial=0)
    scale = jnp.where(largest > 2.0 ** (exponent // 2 - 4), 2.0 ** -(3 * exponent // 4), 1.0)
    scale = scale.astype(largest.dtype)
    x = x * scale
    # Not `jnp.linalg.norm`, which takes a matrix for a vector only if it is flat; and no device
    # has all of an array that it shares with others.
    return jnp.sqrt(jnp.sum(jnp.real(x * jnp.conj(x)))) / scale


def norms_of(tree: Any) -> tuple[jax.Array, jax.Array]:
    """The norm of each array of a tree, in the order of its leaves, and that of all together.

    Example:
        >>> norms, norm = jax.jit(norms_of)({"W": np.array([[3.0, 0.0]]), "b": np.array([4.0])})
        >>> norms.tolist(), float(norm)
        ([3.0, 4.0], 5.0)
    """
    norms = jnp.stack([norm_of(x) for x in jax.tree.leaves(tree)])
    return norms, norm_of(norms)
