"""Sizes and dtypes of a cell, for whoever builds around it."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from .building import is_size
from .cell import Layer


def input_size(cell: Layer) -> int:
    """The size of the vectors that a cell reads.

    A cell that knows says so (`Cell.vector_size`). For any other the sizes of its parameters are
    tried; if none fits and the cell raises the same exception for each, that exception is raised.
    """
    size, in_step, in_inputs = try_input_sizes(cell)
    if size is not None:
        return size
    errors = list((in_step or in_inputs).values())
    if len({(type(error), str(error)) for error in errors}) == 1:
        raise errors[0]
    raise ValueError(
        f"{type(cell).__name__} was expected to be a cell that reads vectors; it takes none of the "
        f"sizes of its parameters, {sorted(in_step | in_inputs)}"
    ) from errors[0]


def try_input_sizes(
    cell: Layer, batch: tuple[int, ...] = ()
) -> tuple[int | None, dict[int, Exception], dict[int, Exception]]:
    """The input size that fits a cell, or else what `step` and `inputs` raised for each size.

    If `inputs` accepts a size, that size is probably right and the fault is in `step`. A cell
    without parameters is tried with the whole numbers among its fields, and with 1.
    """
    known = cell.vector_size()
    shapes = [x.shape for x in jax.tree.leaves(eqx.filter(cell, eqx.is_array))]
    sizes = sorted({n for shape in shapes for n in shape}) or [*_whole_numbers(cell), 1]
    if known is not None:
        sizes = [known, *(n for n in sizes if n != known)]
    in_step: dict[int, Exception] = {}
    in_inputs: dict[int, Exception] = {}
    for size in sizes:
        x = jax.ShapeDtypeStruct((*batch, size), parameter_dtype(cell))
        failures = in_inputs
        try:
            u = eqx.filter_eval_shape(lambda cell, x: cell.inputs(x), cell, x)
            failures = in_step
            eqx.filter_eval_shape(lambda cell, u: cell.step(cell.initial(batch), u), cell, u)
        except Exception as error:  # whatever a cell raises, this size does not fit
            failures[size] = error
            continue
        return size, {}, {}
    return None, in_step, in_inputs


def _whole_numbers(cell: eqx.Module) -> list[int]:
    return sorted({n for n in vars(cell).values() if is_size(n)})


def output_size(cell: Layer, inputs: int) -> int:
    """The size of a cell's output, for inputs of that size; of the first if it has several."""
    x = jax.ShapeDtypeStruct((inputs,), parameter_dtype(cell))

    def one_step(cell: Layer, x: Any) -> Any:
        return cell.step(cell.initial(()), cell.inputs(x))[1]

    return jax.tree.leaves(eqx.filter_eval_shape(one_step, cell, x))[0].shape[-1]


def parameter_dtype(cell: eqx.Module) -> jnp.dtype:
    """The floating dtype of a cell's parameters; JAX's default for a cell without any."""
    return jnp.result_type(*jax.tree.leaves(eqx.filter(cell, eqx.is_inexact_array)) or [float])
