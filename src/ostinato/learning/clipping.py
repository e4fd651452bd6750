"""Clipping the gradient's norm: `g ← g · min(1, threshold / ‖g‖)`.

The threshold is fixed, or follows the gradients: a multiple of their running average norm. The
heuristic of half to ten times the average is that of Galvan (2015), algorithm 2.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

TIMES_AVERAGE = 2.0
MEMORY = 0.98


class Average(NamedTuple):
    """The running average of the norms, and the weight that it has gathered."""

    total: jax.Array
    weight: jax.Array


def no_average() -> Average:
    return Average(jnp.zeros(()), jnp.zeros(()))


def clip_factor(clip: str, norm: jax.Array, average: Average) -> tuple[jax.Array, Average]:
    """What to multiply the gradient with, and the new average.

    Args:
        clip: a number, `"auto"` for twice the average norm, or `"off"`.
        norm: the gradient's norm.
        average: of the norms so far, which only `"auto"` uses. A norm enters it after clipping, so
            that one explosion does not raise the threshold.

    Example:
        >>> clip_factor("1", jnp.asarray(4.0), no_average())[0]
        0.25
    """
    if clip == "off":
        return jnp.ones_like(norm), average
    if clip != "auto":
        return jnp.minimum(1.0, float(clip) / jnp.maximum(norm, 1e-30)), average
    mean = average.total / jnp.maximum(average.weight, 1e-30)
    threshold = jnp.where(average.weight > 0, TIMES_AVERAGE * mean, norm)
    factor = jnp.minimum(1.0, threshold / jnp.maximum(norm, 1e-30))
    seen = jnp.minimum(norm, threshold)
    total = MEMORY * average.total + (1 - MEMORY) * seen
    return factor, Average(total, MEMORY * average.weight + (1 - MEMORY))
