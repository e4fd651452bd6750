"""Arrays as a kernel wants them: whole groups of rows, equal shares of each part of the units.

What is missing is filled up. Where everything divides, this is the array itself.
"""

from typing import Any

import jax
import jax.numpy as jnp

from ._plan import Plan


def stored(plan: Plan, var: Any, value: jax.Array, constant: bool = False) -> jax.Array:
    """A value `(..., batch, units)`, `(..., batch)` or a scalar, of the variable `var`.

    Returns:
        `(..., rows, columns)`; a constant that lacks the batch has one row.
    """
    ndim = len(var.aval.shape)
    lead = value.shape[: value.ndim - ndim]
    if ndim == 0:
        return value.reshape(*lead, 1, 1)
    if var not in plan.layout.cuts:
        return _more_rows(plan, value.reshape(*lead, -1, 1))
    value = value.reshape(*lead, -1, value.shape[-1])
    parts = []
    for (start, stop), (width, share, _) in zip(
        plan.layout.segments(var), plan.shares(var), strict=True
    ):
        parts.append(_padded(value[..., start:stop], -1, share * plan.programs - width))
    value = parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=-1)
    return value if constant and value.shape[-2] == 1 else _more_rows(plan, value)


def stored_weight(plan: Plan, equation: Any, weight: jax.Array) -> jax.Array:
    """The weight of a product: rows as the gathered value is stored, columns as the result is."""
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
    if plan.scatters(equation):
        return weight
    # Of each bundle the columns of one program side by side.
    found = []
    for bundle in plan.bundles(equation.outvars[0]):
        columns = weight[:, bundle.at : bundle.at + plan.programs * bundle.width]
        columns = columns.reshape(-1, bundle.parts, plan.programs, bundle.share)
        found.append(jnp.swapaxes(columns, 1, 2).reshape(len(weight), -1))
    return found[0] if len(found) == 1 else jnp.concatenate(found, axis=1)


def unstored(plan: Plan, var: Any, value: jax.Array) -> jax.Array:
    """The inverse of `stored`."""
    shape = plan.layout.batch, *var.aval.shape[1:]
    lead = value.shape[:-2]
    value = value[..., : plan.layout.batch, :]
    if var not in plan.layout.cuts:
        return value.reshape(*lead, *shape)
    parts = [value[..., at : at + width] for width, _, at in plan.shares(var)]
    value = parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=-1)
    return value.reshape(*lead, *shape)


def _more_rows(plan: Plan, value: jax.Array) -> jax.Array:
    return _padded(value, -2, plan.groups * plan.rows - plan.layout.batch)


def _padded(value: jax.Array, axis: int, more: int) -> jax.Array:
    if more == 0:
        return value
    widths = [(0, 0)] * value.ndim
    widths[axis] = (0, more)
    return jnp.pad(value, widths)
