"""Weights as a kernel wants them: equal shares of each part of the units, filled up with zeros.

A weight in full float32 becomes three in bfloat16, its `thirds`, for the matrix units.
"""

from typing import Any

import jax
import jax.numpy as jnp

from ._plan import Plan
from ._tiles import in_full


def thirds(x: jax.Array) -> list[jax.Array]:
    """Three arrays in bfloat16 whose sum is `x`, in float32: 8 of its 24 bits each.

    The bits are cut off rather than rounded, as compilers may leave out a rounding that is undone.
    """
    found = []
    for _ in range(3):
        bits = jax.lax.bitcast_convert_type(x, jnp.int32) & jnp.int32(-65536)
        first = jax.lax.bitcast_convert_type(bits, jnp.float32)
        found.append(first.astype(jnp.bfloat16))
        x = x - first
    return found


def stored_weight(plan: Plan, equation: Any, weight: jax.Array) -> jax.Array:
    """The weight of a product `(rows, columns)`, or its thirds `(3, rows, columns)`.

    Rows are as the gathered value is stored, columns as the result is.
    """
    stored = _stored(plan, equation, weight)
    return jnp.stack(thirds(stored)) if in_full(equation) else stored


def _stored(plan: Plan, equation: Any, weight: jax.Array) -> jax.Array:
    (_, (inner,)), _ = equation.params["dimension_numbers"]
    weight = weight if inner == 0 else weight.T
    for axis, var in ((0, equation.invars[0]), (1, equation.outvars[0])):
        parts = []
        for (start, stop), (width, share, _) in zip(
            plan.layout.segments(var), plan.shares(var), strict=True
        ):
            part = jax.lax.slice_in_dim(weight, start, stop, axis=axis)
            parts.append(_padded(part, axis, share * plan.programs - width))
        weight = parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=axis)
    if plan.summands(equation) > 1:
        return weight
    # Of each bundle the columns of one program side by side.
    found = []
    for bundle in plan.bundles(equation):
        columns = weight[:, bundle.at : bundle.at + plan.programs * bundle.width]
        columns = columns.reshape(-1, bundle.parts, plan.programs, bundle.share)
        found.append(jnp.swapaxes(columns, 1, 2).reshape(len(weight), -1))
    return found[0] if len(found) == 1 else jnp.concatenate(found, axis=1)


def _padded(value: jax.Array, axis: int, more: int) -> jax.Array:
    if more == 0:
        return value
    widths = [(0, 0)] * value.ndim
    widths[axis] = (0, more)
    return jnp.pad(value, widths)
