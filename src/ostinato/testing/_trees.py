"""Trees of arrays: drawn at random, cut, compared."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np


def is_float(x) -> bool:
    return hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.inexact)


def same_structure(a, b) -> bool:
    one, other = jax.tree.structure(a), jax.tree.structure(b)
    return bool(one == other)  # type: ignore[operator]


def floats(tree):
    return eqx.filter(tree, is_float)


def to_float64(x):
    """A float array in double precision, complex numbers included."""
    if not eqx.is_inexact_array(x):
        return x
    return x.astype(jnp.complex128 if jnp.iscomplexobj(x) else jnp.float64)


def like_normal(seed: int, tree):
    """Normal numbers in place of the float arrays of a tree."""
    random = np.random.default_rng(seed)

    def normal(x):
        if not is_float(x):
            return x
        # NumPy arrays: this may be called while JAX traces, and what it returns is kept.
        parts = [random.standard_normal(x.shape) for _ in range(1 + jnp.iscomplexobj(x))]
        return (parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]).astype(x.dtype)

    return jax.tree.map(normal, tree)


def zeros(tree):
    return jax.tree.map(np.zeros_like, tree)


def at(tree, index: int):
    return jax.tree.map(lambda x: x[index], tree)


def row(result, index: int):
    """Outputs and state of one sequence of a batch."""
    ys, state = result
    return jax.tree.map(lambda y: y[:, index], ys), at(state, index)


def dot(a, b) -> float:
    """The real part of `Σ a b`: how a function of gradient `a` changes along `b`."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return float(sum(np.real(np.sum(np.asarray(x) * np.asarray(y))) for x, y in pairs))


def norm(tree) -> float:
    return float(np.sqrt(sum(np.sum(np.abs(x) ** 2) for x in jax.tree.leaves(tree))))


def distance(a, b) -> float:
    """The largest difference between two trees of arrays.

    Equal infinities do not differ, and NaN does not differ from NaN: whether a cell's numbers are
    finite is a check of its own. A number differs from NaN infinitely.
    """
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return max((_difference(plain(x), plain(y)) for x, y in pairs), default=0.0)


def plain(x) -> np.ndarray:
    """An array as NumPy's doubles."""
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


def scale(tree) -> float:
    """One more than the largest finite number of a tree."""
    leaves = [np.abs(plain(x)) for x in jax.tree.leaves(tree)]
    return 1.0 + max((np.max(x, initial=0.0, where=np.isfinite(x)) for x in leaves), default=0.0)


def apart(a, b, tolerance: float = 1e-10) -> bool:
    """Whether two trees differ by more than rounding errors of float64."""
    return distance(a, b) > tolerance * scale(b)
