"""Helpers to write a cell with: checked products, initial weights, states of zeros."""

import operator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..errors import BadInput
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


def of_rows(x: jax.Array, weight: jax.Array) -> jax.Array:
    """`x @ weight` for `x` of shape `(..., inputs)`.

    On a CPU the rows of all times are one axis. XLA would get there by copying the errors of all
    times for the gradient of the weight, a twentieth of the time of a training step.
    """
    if x.ndim < 3 or jax.default_backend() != "cpu":
        return x @ weight
    rows = x.reshape(-1, x.shape[-1])
    return (rows @ weight).reshape(*x.shape[:-1], weight.shape[-1])


def draw(init: Initialiser, key: jax.Array, rows: int, columns: int, blocks: int = 1) -> jax.Array:
    """`blocks` matrices of shape `(rows, columns)`, each initialised by itself, side by side."""
    if not (is_size(rows) and is_size(columns)):
        raise BadInput(
            "the sizes of a cell must be whole numbers from 1 to 2³¹ - 1, got a weight matrix of "
            f"{rows!r} rows and {columns!r} columns"
        )
    dtype = jnp.result_type(float)
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


def rest(batch: tuple[int, ...], recurrent: jax.Array) -> jax.Array:
    """A state of zeros for the units that `recurrent` `(units, ...)` reads."""
    return jnp.zeros((*batch, recurrent.shape[0]), recurrent.dtype)


def split(x: jax.Array, count: int) -> list[jax.Array]:
    """The last axis cut into `count` equal parts."""
    return jnp.split(x, count, axis=-1)
