"""Pytrees of arrays: random ones, slices, comparisons."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np


def is_float(x: Any) -> bool:
    return hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.inexact)


def floats(tree: Any) -> Any:
    return eqx.filter(tree, is_float)


def to_float64(x: Any) -> Any:
    """A float or complex array in double precision; anything else unchanged."""
    if not eqx.is_inexact_array(x):
        return x
    return x.astype(jnp.complex128 if jnp.iscomplexobj(x) else jnp.float64)


def like_normal(seed: int, tree: Any) -> Any:
    """A tree with its float arrays replaced by standard normal numbers."""
    random = np.random.default_rng(seed)

    def normal(x: Any) -> Any:
        if not is_float(x):
            return x
        # NumPy arrays, because the result is cached and this may run while JAX traces.
        parts = [random.standard_normal(x.shape) for _ in range(1 + jnp.iscomplexobj(x))]
        return (parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]).astype(x.dtype)

    return jax.tree.map(normal, tree)


def zeros(tree: Any) -> Any:
    return jax.tree.map(np.zeros_like, tree)


def at(tree: Any, index: int | tuple[int, ...]) -> Any:
    return jax.tree.map(lambda x: x[index], tree)


def row(result: tuple[Any, Any], index: int) -> tuple[Any, Any]:
    """Outputs and final state of one sequence in a batch."""
    ys, state = result
    return jax.tree.map(lambda y: y[:, index], ys), at(state, index)


def dot(a: Any, b: Any) -> float:
    """The real part of `Σ a b`: the derivative along `b` of a function with gradient `a`."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return float(sum(np.real(np.sum(np.asarray(x) * np.asarray(y))) for x, y in pairs))


def norm(tree: Any) -> float:
    return float(np.sqrt(sum(np.sum(np.abs(x) ** 2) for x in jax.tree.leaves(tree))))


def distance(a: Any, b: Any) -> float:
    """The largest difference between two trees of arrays.

    Equal infinities count as equal, and so do two NaNs, because another check makes sure that a
    cell's numbers are finite. The difference between a number and NaN is infinite.
    """
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return max((_difference(plain(x), plain(y)) for x, y in pairs), default=0.0)


def plain(x: Any) -> np.ndarray:
    """A NumPy array in double precision."""
    x = np.asarray(x)
    return x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)


def _difference(x: np.ndarray, y: np.ndarray) -> float:
    if x.shape != y.shape:
        return np.inf
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    with np.errstate(invalid="ignore"):
        apart = np.abs(x - y)
    apart = np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))
    return float(np.max(apart, initial=0.0))


def scale(tree: Any) -> float:
    """One plus the largest finite absolute value in a tree."""
    leaves = [np.abs(plain(x)) for x in jax.tree.leaves(tree)]
    return 1.0 + max((np.max(x, initial=0.0, where=np.isfinite(x)) for x in leaves), default=0.0)


def apart(a: Any, b: Any, tolerance: float = 1e-10) -> bool:
    """Whether two trees differ by more than float64 rounding error."""
    return distance(a, b) > tolerance * scale(b)
