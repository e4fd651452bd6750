"""Helpers to write a cell with, and to build around one.

The first are checked products, initial weights and states of zeros; the second find out sizes and
dtypes of a cell.
"""

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..errors import BadInput
from ..settings import shown
from .cell import Layer
from .initialisers import Initialiser


def check_vectors(cell: eqx.Module, x: Any, weight: jax.Array) -> None:
    """Refuse an `x` that is not of shape `(..., inputs)` and of the dtype of `weight`."""
    name, size = type(cell).__name__, weight.shape[0]
    if not hasattr(x, "dtype") or not hasattr(x, "shape"):
        raise BadInput(f"{name} expects an array of shape (..., {size}), got {type(x).__name__}")
    if not jnp.issubdtype(jnp.result_type(x), jnp.inexact):
        raise BadInput(
            f"{name} expects floating-point inputs of shape (..., {size}), got "
            f"{jnp.result_type(x)} of shape {jnp.shape(x)}"
        )
    if jnp.promote_types(x.dtype, weight.dtype) != weight.dtype:
        raise BadInput(
            f"{name} has {weight.dtype} parameters and expects inputs of that dtype, got "
            f"{x.dtype} of shape {x.shape}"
        )
    if x.ndim == 0 or x.shape[-1] != size:
        raise BadInput(f"{name} expects inputs of shape (..., {size}), got {x.shape}")


def project(
    cell: eqx.Module, x: Any, weight: jax.Array, bias: jax.Array | None = None
) -> jax.Array:
    """`x @ weight + bias` for `x` of shape `(..., inputs)`, after checking that it fits."""
    check_vectors(cell, x, weight)
    u = of_rows(x, weight)
    return u if bias is None else u + bias


def divided_by_compiler(*arrays: jax.Array) -> bool:
    """Whether the compiler divides arrays among devices.

    It does so within a context of a mesh, and for arrays that lie on the devices of one. Within
    `jax.shard_map` each device has arrays of its own, which nobody divides.
    """
    meshes = [jax.sharding.get_abstract_mesh()]
    meshes += [jax.typeof(x).sharding.mesh for x in arrays]
    return any(
        mesh.shape[axis] > 1 for mesh in meshes for axis in (*mesh.auto_axes, *mesh.explicit_axes)
    )


def rows_are_one_axis(*arrays: jax.Array) -> bool:
    """Whether a product of these arrays is given the rows of all times as one axis.

    On a CPU, XLA would get there by copying its operands, which takes a twentieth of the time of a
    training step. But an axis of times and of sequences cannot be divided by sequences, so devices
    that share a batch would first have to gather it.
    """
    return jax.default_backend() == "cpu" and not divided_by_compiler(*arrays)


def of_rows(x: jax.Array, weight: jax.Array) -> jax.Array:
    """`x @ weight` for `x` of shape `(..., inputs)`; see `rows_are_one_axis`."""
    if x.ndim < 3 or not rows_are_one_axis(x):
        return x @ weight
    rows = x.reshape(-1, x.shape[-1])
    return (rows @ weight).reshape(*x.shape[:-1], weight.shape[-1])


_nothing_drawn = ContextVar("_nothing_drawn", default=False)


@contextmanager
def nothing_drawn() -> Iterator[None]:
    """Let `draw` return zeros: who wants shapes alone need not trace what initialisers do."""
    before = _nothing_drawn.set(True)
    try:
        yield
    finally:
        _nothing_drawn.reset(before)


def draw(init: Initialiser, key: jax.Array, rows: int, columns: int, blocks: int = 1) -> jax.Array:
    """`blocks` matrices of shape `(rows, columns)`, each initialised by itself, side by side."""
    if not (is_size(rows) and is_size(columns)):
        raise BadInput(
            "the sizes of a cell must be whole numbers from 1 to 2³¹ - 1, got a weight matrix of "
            f"{rows!r} rows and {columns!r} columns"
        )
    if not callable(init):
        raise BadInput(
            "an initialiser is a function of a key, a shape and a dtype, like those in "
            f"ostinato.cells.initialisers; got {shown(init)}"
        )
    dtype = jnp.result_type(float)
    if _nothing_drawn.get():
        return jnp.zeros((rows, blocks * columns), dtype)
    keys = jax.random.split(key, blocks)
    return jnp.concatenate([init(k, (rows, columns), dtype) for k in keys], axis=1)


def is_size(n: Any) -> bool:
    """Whether it is a whole number from 1 to 2³¹ - 1, which arrays can have as a size."""
    try:
        return 0 < operator.index(n) < 2**31 and not isinstance(n, bool)
    except TypeError:
        return False


def zeros(*shape: int) -> jax.Array:
    """Zeros in JAX's default floating dtype."""
    return jnp.zeros(shape, jnp.result_type(float))


def biases(units: int, *values: float) -> jax.Array:
    """A vector of blocks of `units` equal numbers each."""
    return jnp.asarray(np.repeat(values, units), jnp.result_type(float))


def rest(batch: tuple[int, ...], recurrent: jax.Array) -> jax.Array:
    """A state of zeros for the units that `recurrent` `(units, ...)` reads."""
    return jnp.zeros((*batch, recurrent.shape[0]), recurrent.dtype)


def split(x: jax.Array, count: int) -> list[jax.Array]:
    """The last axis cut into `count` equal parts."""
    return jnp.split(x, count, axis=-1)


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
    raise BadInput(
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
