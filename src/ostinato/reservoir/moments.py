"""Linear regression from accumulated statistics.

With features X `(n, F)`, targets Y `(n, O)` and weights w, the sums

    Σ w x xᵀ,   Σ w x yᵀ,   Σ w y²,   Σ w

determine the ridge solution `(XᵀX + λ I)⁻¹ XᵀY` and its error on the same steps. So a stream of any
length is fitted in constant memory, and with separate sums per fold the strength λ is chosen by
cross-validation without a second look at the data.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg

STRENGTHS = tuple(10.0**power for power in range(-12, 4))  # that cross-validation tries


class Moments(NamedTuple):
    """Sums over weighted steps, separate for each fold.

    Attributes:
        xx: `(folds, F, F)`.
        xy: `(folds, F, O)`.
        yy: `(folds, O)`.
        weight: `(folds,)`.

    Example:
        >>> moments = no_moments(5, 3, 1)
        >>> x = jax.random.normal(jax.random.key(0), (100, 3))
        >>> y = x @ jnp.array([[1.0], [2.0], [3.0]])
        >>> moments = with_steps(moments, x, y, jnp.ones(100), jnp.arange(100) % 5)
        >>> strength, solution = fitted(moments, jnp.array([1e-6, 1.0]), bias=False)
        >>> [round(v, 3) for v in solution[:, 0].tolist()]
        [1.0, 2.0, 3.0]
    """

    xx: jax.Array
    xy: jax.Array
    yy: jax.Array
    weight: jax.Array

    @property
    def total(self) -> "Moments":
        """The sums over all folds, as a single fold."""
        return Moments(*(jnp.sum(x, axis=0, keepdims=True) for x in self))


def no_moments(folds: int, features: int, outputs: int) -> Moments:
    """Sums of nothing."""
    shapes = (features, features), (features, outputs), (outputs,), ()
    return Moments(*(jnp.zeros((folds, *shape), jnp.result_type(float)) for shape in shapes))


def with_steps(
    moments: Moments, x: jax.Array, y: jax.Array, weights: jax.Array, folds: jax.Array
) -> Moments:
    """The sums with further steps: x `(n, F)`, y `(n, O)`, weights and folds `(n,)`."""
    count, dtype = len(moments.weight), moments.xx.dtype
    x, y = x.astype(dtype), y.astype(dtype)

    def of(fold: jax.Array) -> Moments:
        w = jnp.where(folds == fold, weights, 0).astype(dtype)
        wx, wy = w[:, None] * x, w[:, None] * y
        return Moments(wx.T @ x, wx.T @ y, jnp.sum(wy * y, axis=0), jnp.sum(w))

    added = jax.lax.map(of, jnp.arange(count))
    return Moments(*(old + new for old, new in zip(moments, added, strict=True)))


def with_block(
    moments: Moments, x: jax.Array, y: jax.Array, weights: jax.Array, fold: jax.Array
) -> Moments:
    """The sums with further steps that all belong to one fold."""
    dtype = moments.xx.dtype
    x, y, w = x.astype(dtype), y.astype(dtype), weights.astype(dtype)[:, None]
    new = (w * x).T @ x, (w * x).T @ y, jnp.sum(w * y * y, axis=0), jnp.sum(w)
    return Moments(*(old.at[fold].add(part) for old, part in zip(moments, new, strict=True)))


def solutions(xx: jax.Array, xy: jax.Array, strengths: jax.Array, bias: bool) -> jax.Array:
    """The ridge solutions `(strengths, F, O)` of one matrix of sums, by its eigenvectors.

    With a bias the last feature is 1, and its weight is not penalised: the other features and the
    targets are centred first. A solution that does not solve its equations is not a number, so that
    a fault of the linear algebra cannot pass for a fit.
    """
    if bias:
        inner, mean, centre = _centred(xx, xy)
        found = solutions(*inner, strengths, False)
        return jnp.concatenate([found, (centre - mean @ found)[:, None]], axis=1)
    values, vectors = jnp.linalg.eigh(xx)
    rotated = vectors.T @ xy
    # Rounding leaves errors of this size in the smallest eigenvalues, which may be negative.
    smallest = jnp.finfo(xx.dtype).eps * jnp.max(jnp.abs(values))
    values = jnp.maximum(values, 0) + smallest
    scaled = rotated / (values[:, None] + strengths[:, None, None])
    found = vectors @ scaled
    return jnp.where(_solve(xx, xy, strengths, found)[:, None, None], found, jnp.nan)


def _solve(xx: jax.Array, xy: jax.Array, strengths: jax.Array, found: jax.Array) -> jax.Array:
    """Whether solutions are those of equations that differ from the given ones by rounding.

    That is what a stable method achieves for any matrix: the residual is small beside the terms
    from which it is computed, even where the solution itself is uncertain.
    """
    norm = jnp.linalg.norm
    residual = xx @ found + strengths[:, None, None] * found - xy
    terms = (norm(xx) + strengths) * norm(found, axis=(1, 2)) + norm(xy)
    return norm(residual, axis=(1, 2)) <= jnp.sqrt(jnp.finfo(xx.dtype).eps) * terms


def solution(xx: jax.Array, xy: jax.Array, strength: jax.Array, bias: bool) -> jax.Array:
    """The ridge solution `(F, O)` for one strength, by a Cholesky decomposition.

    It is cheaper than `solutions`, and not a number where the strength is too small for the
    precision.
    """
    if bias:
        inner, mean, centre = _centred(xx, xy)
        found = solution(*inner, strength, False)
        return jnp.concatenate([found, (centre - mean @ found)[None]])
    factor = jax.scipy.linalg.cho_factor(xx + strength * jnp.eye(len(xx), dtype=xx.dtype))
    return jax.scipy.linalg.cho_solve(factor, xy)


def _centred(xx: jax.Array, xy: jax.Array) -> tuple[tuple[jax.Array, jax.Array], Any, Any]:
    """The sums of centred features and targets, and the means; the last feature is 1."""
    count = jnp.maximum(xx[-1, -1], jnp.finfo(xx.dtype).tiny)
    mean, centre = xx[-1, :-1] / count, xy[-1] / count
    inner = (
        xx[:-1, :-1] - count * jnp.outer(mean, mean),
        xy[:-1] - count * jnp.outer(mean, centre),
    )
    return inner, mean, centre


def errors(solution: jax.Array, moments: Moments) -> jax.Array:
    """The summed squared errors `(..., O)` of solutions `(..., F, O)` on one fold's steps."""
    product = moments.xx @ solution
    crossed = jnp.sum(solution * (product - 2 * moments.xy), axis=-2)
    return jnp.maximum(moments.yy + crossed, 0)


def fitted(moments: Moments, strengths: jax.Array, bias: bool) -> tuple[jax.Array, jax.Array]:
    """The strength with the least cross-validation error, and the solution for all steps.

    The error of each output counts relative to its power. With a single strength or a single fold
    nothing is chosen: the first strength is used.
    """
    total = moments.total
    whole = Moments(*(x[0] for x in total))
    if len(strengths) == 1 or len(moments.weight) == 1:
        return strengths[0], solutions(whole.xx, whole.xy, strengths[:1], bias)[0]

    def left_out(fold: Moments) -> jax.Array:
        xx, xy = whole.xx - fold.xx, whole.xy - fold.xy
        found = errors(solutions(xx, xy, strengths, bias), fold)
        return jnp.where(fold.weight < whole.weight, found, 0)

    wrong = jnp.sum(jax.lax.map(left_out, moments), axis=0)
    scale = jnp.maximum(whole.yy, jnp.finfo(whole.yy.dtype).tiny)
    best = strengths[jnp.argmin(jnp.sum(wrong / scale, axis=-1))]
    return best, solutions(whole.xx, whole.xy, best[None], bias)[0]
