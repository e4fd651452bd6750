"""Clipping the gradient's norm: `g ← g · min(1, threshold / ‖g‖)`.

The threshold is a constant or a multiple of the running average of the norms, from `"0.5x"` to
`"10x"`; `"auto"` is `"2x"`. The latter is the heuristic of Galvan (2015), section 2.2.1 with
algorithm 2.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..errors import BadInput

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
            f"got {clip!s:.40}"
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
