"""The contract of a cell, and the few helpers that the built-in cells share."""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from .initialisers import Initialiser


class Cell(eqx.Module):
    """Something that steps through time. Subclass it and write three methods.

    A cell has no batch and no time of its own: `batch` below is any tuple of axes, `()` among
    them, and every array of the state has the batch axes first. All three methods are pure.

    Write recurrent products as `h @ self.R`. The engine finds every product with a weight that
    does not change with time; nothing has to be marked.

    Example:
        >>> class Mine(Cell):
        ...     W: jax.Array
        ...     R: jax.Array
        ...
        ...     def initial(self, batch):
        ...         return jnp.zeros((*batch, self.R.shape[0]), self.R.dtype)
        ...
        ...     def inputs(self, x):
        ...         return x @ self.W
        ...
        ...     def step(self, h, u):
        ...         h = jnp.tanh(u + h @ self.R)
        ...         return h, h
    """

    @property
    def input_axes(self) -> int:
        """How many of the last axes of an input belong to it: 1 for vectors, 0 for symbols."""
        return 1

    @property
    def can_step(self) -> bool:
        """False where a part must see the whole sequence, so that only `unroll` works."""
        return True

    def check_inputs(self, xs: Any) -> None:
        """Refuse inputs that compiled code could not refuse, such as symbols out of range."""

    @abc.abstractmethod
    def initial(self, batch: tuple[int, ...]) -> Any:
        """The state before the first step: a pytree of arrays `(*batch, ...)`."""

    @abc.abstractmethod
    def inputs(self, x: Any) -> Any:
        """What a step needs from the input `(..., inputs)` alone.

        It is called once for all steps, with the time as one more leading axis, so that it costs
        one large product.
        """

    @abc.abstractmethod
    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        """One step of time: `(state, inputs(x)) -> (state, y)`."""


def check_vectors(cell: eqx.Module, x, weight: jax.Array) -> None:
    """Refuse an `x` that is not of shape `(..., inputs)` and of the dtype of `weight`."""
    name, size = type(cell).__name__, weight.shape[0]
    if not jnp.issubdtype(jnp.result_type(x), jnp.inexact):
        raise TypeError(
            f"{name} expects floating-point inputs of shape (..., {size}), got "
            f"{jnp.result_type(x)} of shape {jnp.shape(x)}"
        )
    if jnp.promote_types(x.dtype, weight.dtype) != weight.dtype:
        raise TypeError(
            f"{name} has {weight.dtype} parameters and expects inputs of that dtype, got "
            f"{x.dtype} of shape {x.shape}"
        )
    if x.ndim == 0 or x.shape[-1] != size:
        raise ValueError(f"{name} expects inputs of shape (..., {size}), got {x.shape}")


def project(cell: eqx.Module, x, weight: jax.Array, bias: jax.Array | None = None) -> jax.Array:
    """`x @ weight + bias` for `x` of shape `(..., inputs)`, after checking that it fits."""
    check_vectors(cell, x, weight)
    u = x @ weight
    return u if bias is None else u + bias


def draw(init: Initialiser, key: jax.Array, rows: int, columns: int, blocks: int = 1) -> jax.Array:
    """`blocks` matrices of shape `(rows, columns)`, drawn one by one and set side by side."""
    dtype = jnp.result_type(float)
    keys = jax.random.split(key, blocks)
    return jnp.concatenate([init(k, (rows, columns), dtype) for k in keys], axis=1)


def zeros(*shape: int) -> jax.Array:
    return jnp.zeros(shape, jnp.result_type(float))


def rest(batch: tuple[int, ...], recurrent: jax.Array) -> jax.Array:
    """A state of zeros for the units that `recurrent` `(units, ...)` reads."""
    return jnp.zeros((*batch, recurrent.shape[0]), recurrent.dtype)


def split(x: jax.Array, count: int) -> list[jax.Array]:
    """The last axis in `count` equal parts."""
    return jnp.split(x, count, axis=-1)


def input_size(cell: Cell) -> int:
    """The size of the vectors that a cell reads, found by trying the sizes of its parameters."""
    shapes = [x.shape for x in jax.tree.leaves(eqx.filter(cell, eqx.is_array))]
    for size in sorted({n for shape in shapes for n in shape}):
        try:
            output_size(cell, size)
        except Exception:  # whatever a cell raises, this size does not fit
            continue
        return size
    raise ValueError(
        f"{type(cell).__name__} was expected to be a cell that reads vectors; it takes none of the "
        f"sizes of its parameters, {sorted({n for shape in shapes for n in shape})}"
    )


def output_size(cell: Cell, inputs: int) -> int:
    """The size of a cell's output, for inputs of that size."""
    x = jax.ShapeDtypeStruct((inputs,), parameter_dtype(cell))

    def one_step(cell, x):
        return cell.step(cell.initial(()), cell.inputs(x))[1]

    return eqx.filter_eval_shape(one_step, cell, x).shape[-1]


def parameter_dtype(cell: eqx.Module):
    """The floating dtype of a cell's parameters."""
    return jnp.result_type(*jax.tree.leaves(eqx.filter(cell, eqx.is_inexact_array)))
