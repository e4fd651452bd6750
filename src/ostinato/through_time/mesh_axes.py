"""The axes of a device mesh along which arrays differ, within `jax.shard_map`.

With `check_vma=True`, its default, the type of an array names these axes, and an operation takes
only operands of equal axes. `jax.numpy` converts operands where they meet. What is bound directly,
the carry of a loop and hand-written derivatives, are not converted, so the engine converts all its
operands at its entrance (`varying_alike`), and a shape that it derives from an array keeps the axes
of that array.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend.core import mapped_aval


def varying_axes(tree: Any) -> frozenset:
    """The mesh axes along which any array of a tree differs; none outside of `jax.shard_map`."""
    axes: frozenset = frozenset()
    for x in jax.tree.leaves(tree):
        if eqx.is_array(x):
            axes |= _axes_of(jax.typeof(x))
    return axes


def varying_alike(tree: Any) -> Any:
    """The arrays of a tree, all varying along the axes along which any of them does.

    The derivative of this conversion sums over the devices.
    """
    axes = varying_axes(tree)
    return jax.tree.map(lambda x: varying_along(axes, x), tree) if axes else tree


def varying_along(axes: frozenset, x: Any) -> Any:
    """An array that varies along these axes too; anything else as it is."""
    if not axes or not eqx.is_array(x):
        return x
    missing = axes - _axes_of(jax.typeof(x))
    return jax.lax.pcast(x, tuple(sorted(missing)), to="varying") if missing else x


def at_one_time(tree: Any) -> Any:
    """The types of one time, of arrays with time first."""
    return jax.tree.map(lambda x: mapped_aval(x.shape[0], 0, jax.typeof(x)), tree)


def zeros_of(aval: Any) -> jax.Array:
    """Zeros of a type."""
    return varying_along(_axes_of(aval), jnp.zeros(aval.shape, aval.dtype))


def explicit_sharding(aval: Any) -> Any:
    """How arrays of a type are divided among devices, where the type itself says so."""
    return aval.sharding if aval.sharding.mesh.explicit_axes else None


def placed_as_stepped(cell: Any, state: Any, us: Any) -> Any:
    """A state divided among devices as the state that a step returns.

    A loop keeps the sharding of its first state: if that is whole on each device, as new zeros are,
    every step gathers what it computes.

    Args:
        cell, state: the cell, and the state before its first step.
        us: what its steps receive, time first.
    """
    if not any(map(explicit_sharding, map(jax.typeof, jax.tree.leaves((state, us))))):
        return state
    new, _ = jax.eval_shape(cell.step, state, at_one_time(us))
    return jax.tree.map(lambda x, like: jax.sharding.reshard(x, like.sharding), state, new)


def _axes_of(aval: Any) -> frozenset:
    try:
        return aval.mat.varying
    except AttributeError:  # before JAX 0.10.2
        return aval.vma
