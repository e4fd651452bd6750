"""Clipping the gradient's norm: `g ← g · min(1, threshold / ‖g‖)`.

The threshold is fixed, or follows the gradients: a multiple of their running average norm, from
`"0.5x"` to `"10x"`, which is the heuristic of Galvan (2015), section 2.2.1 with algorithm 2;
`"auto"` is twice.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..errors import BadInput

TIMES_AVERAGE = 2.0
LEAST, MOST = 0.5, 10.0
MEMORY = 0.98


class Average(NamedTuple):
    """The running average of the norms, and the weight that it has gathered."""

    total: jax.Array
    weight: jax.Array


def no_average() -> Average:
    return Average(jnp.zeros(()), jnp.zeros(()))


def times_average(clip: str) -> float | None:
    """The multiple of the average that a setting asks for; `None` where it is another kind."""
    if clip == "auto":
        return TIMES_AVERAGE
    return float(clip[:-1]) if clip.endswith("x") else None


def check_clip(clip: str) -> None:
    """Refuse a setting that is none."""
    try:
        if not isinstance(clip, str):
            raise ValueError
        times = times_average(clip)
        good = clip == "off" or (
            0 < float(clip) < 3.4e38 if times is None else LEAST <= times <= MOST
        )
    except ValueError:
        good = False
    if not good:
        raise BadInput(
            f"clip must be a positive number, 'auto', '{LEAST:g}x' to '{MOST:g}x' or 'off', "
            f"got {clip!s:.40}"
        )


def clip_factor(clip: str, norm: jax.Array, average: Average) -> tuple[jax.Array, Average]:
    """What to multiply the gradient with, and the new average.

    Args:
        clip: a number, `"3x"` for thrice the average norm, `"auto"` for twice, or `"off"`.
        norm: the gradient's norm.
        average: of the norms so far, which a fixed number does not use. A norm enters it after
            clipping, so that one explosion does not raise the threshold.

    Example:
        >>> clip_factor("1", jnp.asarray(4.0), no_average())[0]
        0.25
    """
    check_clip(clip)
    if jnp.ndim(norm):
        raise ValueError(f"a norm is one number, got an array of shape {jnp.shape(norm)}")
    if clip == "off":
        return jnp.ones_like(norm), average
    times = times_average(clip)
    if times is None:
        return jnp.minimum(1.0, float(clip) / jnp.maximum(norm, 1e-30)), average
    mean = average.total / jnp.maximum(average.weight, 1e-30)
    threshold = jnp.where(average.weight > 0, times * mean, norm)
    factor = jnp.minimum(1.0, threshold / jnp.maximum(norm, 1e-30))
    seen = jnp.minimum(norm, threshold)
    total = MEMORY * average.total + (1 - MEMORY) * seen
    return factor, Average(total, MEMORY * average.weight + (1 - MEMORY))
