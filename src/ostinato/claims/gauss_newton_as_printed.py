"""The Gauss-Newton matrix with one Jacobian instead of two."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from ._claim import Claim, Finding
from ._nets import gap, numbers

SIZE = 4


def check(scale: float = 0.7, squash: Callable = jnp.tanh) -> Finding:
    """Both sides of (2.16) for `f = L(F(θ))`, `F(θ) = squash(A θ)`.

    F has as many outputs as parameters, for otherwise the printed sum cannot even be formed.
    A is the identity and `scale` times a random matrix.
    """
    A = jnp.eye(SIZE) + scale * numbers(0, SIZE, SIZE)
    theta, target = numbers(1, SIZE), jax.nn.softmax(numbers(2, SIZE))

    def F(theta: jax.Array) -> jax.Array:
        return squash(A @ theta)

    def L(y: jax.Array) -> jax.Array:
        return -jnp.sum(target * jax.nn.log_softmax(y))

    @jax.jit
    def sides(theta: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        J, y = jax.jacfwd(F)(theta), F(theta)
        rest = jnp.einsum("i,ijk->jk", jax.grad(L)(y), jax.jacfwd(jax.jacfwd(F))(theta))
        once, exact = J.T @ jax.hessian(L)(y), jax.hessian(lambda theta: L(F(theta)))(theta)
        return once + rest, once @ J + rest, exact

    *found, exact = sides(theta)
    printed, both = (gap(side, exact) for side in found)
    return Finding(
        "holds" if printed < 1e-12 else "false",
        f"with {SIZE} outputs of {SIZE} parameters it differs from the Hessian by {printed:.2f} of "
        f"the largest entry, and Jᵀ ∇²L J in its place by {both:.0g}.",
        {"as printed": printed, "with both": both},
    )


CLAIM = Claim(
    "gauss-newton-as-printed",
    "∇²f = Jᵀ ∇²L + Σ [∇L]_i ∇²F_i, whose first term is the Gauss-Newton matrix.",
    "Galvan (2015), section 2.2.2, eq. 2.16-2.17",
    "false",
    check,
)
