"""The norm of a gradient, without overflow."""

from typing import Any

import jax
import jax.numpy as jnp


def norm_of(x: Any) -> jax.Array:
    """`‖x‖` of all entries, which is infinite only if the norm itself is too large for its dtype.

    The square of an entry overflows from 1.8e19 on in float32. So large arrays are scaled by a
    power of two first; for all others the result is exactly that of `jnp.linalg.norm`.

    Example:
        >>> float(norm_of(jnp.array([3e30, 4e30], jnp.float32)) / 5e30).__round__(5)
        1.0
    """
    x = jnp.asarray(x).reshape(-1)
    exponent = jnp.finfo(x.dtype).maxexp
    largest = jnp.max(jnp.abs(x), initial=0)
    scale = jnp.where(largest > 2.0 ** (exponent // 2 - 4), 2.0 ** -(3 * exponent // 4), 1.0)
    scale = scale.astype(largest.dtype)
    return jnp.linalg.norm(x * scale) / scale


def norms_of(tree: Any) -> tuple[jax.Array, jax.Array]:
    """The norm of each array of a tree, in the order of its leaves, and that of all together.

    Example:
        >>> norms, norm = norms_of({"W": jnp.array([[3.0, 0.0]]), "b": jnp.array([4.0])})
        >>> norms.tolist(), float(norm)
        ([3.0, 4.0], 5.0)
    """
    norms = jnp.stack([norm_of(x) for x in jax.tree.leaves(tree)])
    return norms, norm_of(norms)
