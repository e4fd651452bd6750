"""The contract of a cell, and the few helpers that the built-in cells share."""

import abc
from typing import Any, ClassVar

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

    #: How many of the last axes of one input belong to it: 1 for vectors, 0 for symbols.
    input_axes: ClassVar[int] = 1

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


def project(cell: eqx.Module, x, weight: jax.Array, bias: jax.Array | None = None) -> jax.Array:
    """`x @ weight + bias` for `x` of shape `(..., inputs)`, after checking that it fits."""
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
