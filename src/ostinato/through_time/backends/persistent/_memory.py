"""A program's share of arrays in memory: which rows and columns it reads and writes.

Arrays are as the engine has them, `(time, batch, units)`. Where a batch or the units do not divide
into equal shares, what lies beyond the end is read as zero and not written.

Weights are equal shares of each part of the units, filled up with zeros. A weight in full float32
becomes three in bfloat16, its `thirds`, for the matrix units.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu

from ._plan import Plan
from ._tiles import in_full


def thirds(x: jax.Array) -> list[jax.Array]:
    """Three arrays in bfloat16 whose sum is `x`, in float32: 8 of its 24 bits each.

    The bits are cut off rather than rounded, as compilers may leave out a rounding that is undone.
    """
    terms = []
    for _ in range(3):
        bits = jax.lax.bitcast_convert_type(x, jnp.int32) & jnp.int32(-65536)
        first = jax.lax.bitcast_convert_type(bits, jnp.float32)
        terms.append(first.astype(jnp.bfloat16))
        x = x - first
    return terms


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


def shaped(plan: Plan, var: Any, value: jax.Array) -> jax.Array:
    """A value `(..., batch, units)`, `(..., batch)` or a scalar as `(..., rows, columns)`.

    A constant that lacks the batch has one row.
    """
    ndim = len(var.aval.shape)
    lead, own = value.shape[: value.ndim - ndim], value.shape[value.ndim - ndim :]
    if ndim == 2:
        return value
    plane = (1, *own) if var in plan.layout.cuts else (*own, 1)
    return value.reshape(*lead, *(plane if ndim else (1, 1)))


def result(plan: Plan, var: Any, *lead: int) -> jax.ShapeDtypeStruct:
    """The same for a value that the kernel makes."""
    columns = var.aval.shape[-1] if var in plan.layout.cuts else 1
    return jax.ShapeDtypeStruct((*lead, plan.layout.batch, columns), var.aval.dtype)


class Share:
    """What of every array belongs to one program.

    Attributes:
        plan: the step shared out.
        number, group: of the program.
    """

    def __init__(self, plan: Plan, number: Any, group: Any):
        self.plan, self.number, self.group = plan, number, group

    @property
    def lines(self) -> Any:
        """The rows of the batch."""
        return pl.ds(self.group * self.plan.rows, self.plan.rows)

    def load(self, ref: Any, var: Any, lead: tuple = ()) -> Any:
        """A value as tiles, at `ref[lead]`."""
        if not var.aval.shape:
            return ref[(*lead, 0, 0)]
        if var not in self.plan.layout.cuts:
            return self._tile(ref, lead, 0, 1, 1)
        return [self._tile(ref, lead, *where) for where in self._columns(var)]

    def store(self, ref: Any, var: Any, value: Any, lead: tuple = ()) -> None:
        """The tiles of a value, into `ref[lead]`."""
        if var not in self.plan.layout.cuts:
            self._put(ref, lead, 0, 1, 1, value)
            return
        for where, tile in zip(self._columns(var), value, strict=True):
            self._put(ref, lead, *where, tile)

    def _columns(self, var: Any) -> list[tuple[Any, int, int]]:
        """For each part of a value: where its columns begin, a program's share, and its width."""
        segments, shares = self.plan.layout.segments(var), self.plan.shares(var)
        return [
            (start, share, width)
            for (start, _), (width, share, _) in zip(segments, shares, strict=True)
        ]

    def _tile(self, ref, lead: tuple, start: int, share: int, width: int) -> jax.Array:
        rows = 1 if ref.shape[-2] == 1 else self.plan.rows
        place, mask = self._place(ref, lead, rows, start, share, width)
        if mask is None:
            return ref[place]
        return plgpu.load(ref.at[place], mask=mask, other=jnp.zeros((), ref.dtype))

    def _put(self, ref, lead: tuple, start: int, share: int, width: int, tile) -> None:
        place, mask = self._place(ref, lead, self.plan.rows, start, share, width)
        if mask is None:
            ref[place] = tile
        else:
            plgpu.store(ref.at[place], tile, mask=mask)

    def _place(self, ref, lead: tuple, rows: int, start: int, share: int, width: int):
        """An index of the tile, and which of it there is; `None` for all."""
        lines = pl.ds(0, 1) if rows == 1 else self.lines
        own = self.number * share if share > 1 else 0
        place = (*lead, lines, pl.ds(start + own, share))
        within = []
        if rows > 1 and self.plan.groups * rows != ref.shape[-2]:
            row = jax.lax.broadcasted_iota(jnp.int32, (rows, share), 0)
            within.append(row + self.group * rows < ref.shape[-2])
        if share > 1 and share * self.plan.programs != width:
            column = jax.lax.broadcasted_iota(jnp.int32, (rows, share), 1)
            within.append(column + own < width)
        if not within:
            return place, None
        return place, within[0] if len(within) == 1 else jnp.logical_and(*within)
