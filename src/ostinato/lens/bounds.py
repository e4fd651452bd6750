"""The Jacobians of a simple net by lag, and the two published bounds on them."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Layer, Simple
from ..cells.activations import slope
from ..errors import BadInput
from ..through_time import unroll
from ..through_time.check import sizes
from .jacobians import spectral_norms, steps_until


class PreactivationNorms(NamedTuple):
    """Norms of `∂a_t/∂a_k` from lag 0 on, `(lags, *batch)` each.

    Attributes:
        max: the largest absolute entry.
        spectral: the largest singular value.
    """

    max: jax.Array
    spectral: jax.Array


def preactivation_jacobian_norms(
    cell: Simple, xs: jax.Array, state: Any = None, at: int = -1
) -> PreactivationNorms:
    """The norms of `∂a_t/∂a_k` for t = `at` and every lag t - k, for each sequence.

    `a_t = W x_t + R h_{t-1} + b` is the pre-activation of a simple cell, and

        ∂a_t/∂a_k = R diag(f'(a_{t-1})) · … · R diag(f'(a_k))

    with t - k factors (R as in the equation, the transpose of the cell's array).

    Source: Galvan (2015) section 1.6, (1.62).

    Returns:
        `PreactivationNorms` for the lags 0 to t: the first step has a pre-activation, the state
        before it has none.

    Example:
        >>> cell = Simple(3, 16, key=jax.random.key(0))
        >>> xs = jax.random.normal(jax.random.key(1), (10, 4, 3))
        >>> norms = preactivation_jacobian_norms(cell, xs)
        >>> bound = singular_value_bound(cell, jnp.arange(len(xs)))
        >>> bool(jnp.all(norms.spectral.max(axis=1) <= bound))
        True
    """
    _check_simple(cell, "preactivation_jacobian_norms")
    steps = steps_until(at, sizes(cell, xs)[0])
    return _preactivation_norms(cell, xs[:steps], state)


# The largest slope of each activation.
STEEPEST = {"tanh": 1.0, "sigmoid": 0.25, "relu": 1.0, "identity": 1.0, "step": 0.0}


def hochreiter_bound(cell: Simple, lags: Any) -> jax.Array:
    """`(r · f'max · ‖R‖max)^lag`: above both norms of `∂a_t/∂a_k`, whatever the inputs are.

    r is the number of units, `‖R‖max` the largest absolute weight and `f'max` the largest slope of
    the activation: 1 for tanh, relu and identity, 1/4 for sigmoid. Below 1 all long-range
    dependence fades exponentially.

    Source: Hochreiter (1991); Galvan (2015) (1.63-1.67), for the max norm. It prints the power
    t - k - 1, one less than there are factors, which the norm can exceed: a linear net of one unit
    with R = 2 has `∂a_t/∂a_{t-1} = 2`.

    Args:
        cell: a simple cell.
        lags: whole numbers t - k, of any shape.

    Returns:
        The bound for each lag.
    """
    # Proof. With J for the product of factors R diag(f'):
    #   ‖AB‖max ≤ r ‖A‖max ‖B‖max, as an entry of AB is a sum of r products, and
    #   ‖R diag(d)‖max ≤ max|d| ‖R‖max, so ‖J‖max ≤ r^(lag-1) (f'max ‖R‖max)^lag ≤ the bound.
    # For the spectral norm ‖A‖₂ ≤ ‖A‖_F ≤ r ‖A‖max for each factor, and ‖AB‖₂ ≤ ‖A‖₂ ‖B‖₂. Where
    # all weights are equal and all slopes f'max, the spectral norm is the bound.
    _check_simple(cell, "hochreiter_bound")
    largest = jnp.max(jnp.abs(cell.R))
    return (cell.R.shape[0] * STEEPEST[cell.f] * largest) ** jnp.asarray(lags)


def singular_value_bound(cell: Simple, lags: Any) -> jax.Array:
    """`(f'max · σmax(R))^lag`: above both norms of `∂a_t/∂a_k`, whatever the inputs are.

    `σmax(R)` is the largest singular value. It is never above `hochreiter_bound`. Arguments and
    result are the same.

    Source: Galvan (2015) (1.68-1.71), which has the power t - k - 1 here too.
    """
    # Proof. ‖R diag(d)‖₂ ≤ σmax(R) max|d|, and ‖AB‖₂ ≤ ‖A‖₂ ‖B‖₂. The max norm is no larger than
    # the spectral norm: |A_ij| = |e_iᵀ A e_j| ≤ ‖A‖₂. And σmax(R) ≤ r ‖R‖max, as above.
    _check_simple(cell, "singular_value_bound")
    return (STEEPEST[cell.f] * jnp.linalg.norm(cell.R, ord=2)) ** jnp.asarray(lags)


@eqx.filter_jit
def _preactivation_norms(cell: Simple, xs: jax.Array, state: Any) -> PreactivationNorms:
    (_, (a,)), _ = unroll(cell, xs, state, watch="products")
    slopes = slope(cell.f, a)
    start = jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), (*a.shape[1:], a.shape[-1]))

    def backward(product: jax.Array, slope: jax.Array) -> tuple[jax.Array, Any]:
        product = (product @ cell.R.T) * slope[..., None, :]
        return product, norms(product)

    def norms(product: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.max(jnp.abs(product), axis=(-2, -1)), spectral_norms(product)

    _, found = jax.lax.scan(backward, start, slopes[:-1], reverse=True)
    first = norms(start)
    return PreactivationNorms(
        *(jnp.concatenate([x[None], y[::-1]]) for x, y in zip(first, found, strict=True))
    )


def _check_simple(cell: Layer, name: str) -> None:
    if not cell.is_simple:
        raise BadInput(f"{name} is for Simple cells, got {type(cell).__name__}")
