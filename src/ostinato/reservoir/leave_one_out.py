"""Ridge regression of few examples, with the strength that predicts each from all others best.

For features X `(n, F)` and targets Y `(n, O)`, both centred, and the left singular vectors U and
singular values s of X, the fitted targets and the influence h of each example on its own fit are

    U diag(s² / (s² + λ)) Uᵀ Y        h_i = 1/n + Σ_k U_ik² s_k² / (s_k² + λ)

and the error of example i, predicted by a fit to the others, is `(y_i - fitted_i) / (1 - h_i)`. So
all n fits for each strength cost one decomposition of the smaller of `X Xᵀ` and `Xᵀ X`.

Source: Allen (1974), PRESS; Golub, Heath and Wahba (1979).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

# Of the mean of the eigenvalues of the features' correlations.
RELATIVE_STRENGTHS = tuple(10.0 ** (power / 2) for power in range(-12, 13))
CONSTANT = 1e-9  # deviation of a feature, relative to its size, below which it tells nothing


class Fit(NamedTuple):
    """A fit to all examples, and how well the others predict each of them.

    Attributes:
        strength: λ.
        weights: `(F, O)`.
        bias: `(O,)`.
        predicted: `(n, O)`, each example by the fit to the others.
    """

    strength: jax.Array
    weights: jax.Array
    bias: jax.Array
    predicted: jax.Array


def fit(x: jax.Array, y: jax.Array, weights: jax.Array, bias: bool) -> Fit:
    """The fit with the strength of least squared error on examples left out.

    Features are divided by their deviation, so that the penalty is the same for all of them.

    Args:
        x: features `(n, F)`, without a constant one.
        y: targets `(n, O)`.
        weights: of the examples `(n,)`; those of weight 0 do not count.
        bias: whether there is one, which is not penalised.
    """
    total = jnp.sum(weights)
    share = (weights / jnp.where(total > 0, total, 1))[:, None]
    mean = jnp.sum(share * x, axis=0) * bias
    centre = jnp.sum(share * y, axis=0) * bias
    spread = jnp.sqrt(jnp.sum(share * (x - mean) ** 2, axis=0))
    size = jnp.sqrt(jnp.sum(share * x**2, axis=0))
    varies = spread > CONSTANT * size
    scale = jnp.where(varies, 1 / jnp.where(varies, spread, 1), 0) / jnp.sqrt(x.shape[1])
    root = jnp.sqrt(weights)[:, None]
    features, targets = root * (x - mean) * scale, root * (y - centre)
    vectors, squares = _singular(features)
    along = vectors.T @ targets
    strengths = jnp.asarray(RELATIVE_STRENGTHS, x.dtype) * jnp.maximum(jnp.mean(squares), 1e-30)

    def left_out(strength: jax.Array) -> jax.Array:
        kept = squares / (squares + strength)
        own = vectors**2 @ kept + bias * share[:, 0]
        residual = targets - vectors @ (kept[:, None] * along)
        return residual / jnp.maximum(1 - own, 1e-12)[:, None]

    errors = jax.lax.map(lambda strength: jnp.sum(left_out(strength) ** 2), strengths)
    best = strengths[jnp.argmin(errors)]
    solution = features.T @ (vectors @ (along / (squares + best)[:, None]))
    solution = scale[:, None] * solution
    error = left_out(best) / jnp.where(root > 0, root, 1)
    return Fit(best, solution, centre - mean @ solution, y - error)


def _singular(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The left singular vectors `(n, k)` and squared singular values `(k,)` above rounding."""
    if x.shape[0] <= x.shape[1]:
        squares, vectors = jnp.linalg.eigh(x @ x.T)
    else:
        squares, right = jnp.linalg.eigh(x.T @ x)
        vectors = x @ right / jnp.sqrt(jnp.maximum(squares, jnp.finfo(x.dtype).tiny))
    least = x.shape[0] * jnp.finfo(x.dtype).eps * jnp.max(squares)
    real = squares > least
    return jnp.where(real, vectors, 0), jnp.where(real, squares, 0)


def sharpness(predicted: jax.Array, targets: jax.Array, weights: jax.Array) -> jax.Array:
    """The factor by which outputs become logits whose probabilities suit examples left out.

    A regression to zeros and ones ranks classes, but as logits its outputs are too close to each
    other. The factor is the one with the least cross-entropy.

    Args:
        predicted: `(n, classes)`, each example by a fit to the others.
        targets: `(n, classes)`, zeros and a single one.
        weights: `(n,)`.
    """
    factors = jnp.logspace(0, 2, 41, dtype=predicted.dtype)

    def loss(factor: jax.Array) -> jax.Array:
        return -jnp.sum(weights[:, None] * targets * jax.nn.log_softmax(factor * predicted))

    return factors[jnp.argmin(jax.lax.map(loss, factors))]
