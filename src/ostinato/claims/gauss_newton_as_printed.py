"""The Gauss-Newton matrix with one Jacobian instead of two."""

import jax
import jax.numpy as jnp

from ._claim import Claim, Falsehood, Finding
from ._nets import gap, numbers

SIZE = 4


def check(twice: bool = False) -> Finding:
    """Both sides of (2.16) for `f = L(F(θ))`, `F(θ) = tanh(A θ)`; `twice`: with `Jᵀ ∇²L J`.

    F has as many outputs as parameters, for otherwise the printed sum cannot even be formed.
    A is the identity and 0.7 times a random matrix.
    """
    A = jnp.eye(SIZE) + 0.7 * numbers(0, SIZE, SIZE)
    theta, target = numbers(1, SIZE), jax.nn.softmax(numbers(2, SIZE))

    def F(theta: jax.Array) -> jax.Array:
        return jnp.tanh(A @ theta)

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
        "holds" if (both if twice else printed) < 1e-12 else "false",
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
    Falsehood("Jᵀ ∇²L J in place of Jᵀ ∇²L", {"twice": True}, "holds"),
)
