"""What a product with the Hessian costs, against one with the Gauss-Newton matrix."""

from typing import Any

import jax

from ._claim import Claim, Falsehood, Finding
from ._second_order import costs, loss_of, outputs


def check(of_gradient: bool = False, units: int = 400, symbols: int = 70) -> Finding:
    """Count multiplications in matrix products, for the tanh network of Krause (2015).

    `of_gradient`: a gradient takes the place of the Gauss-Newton product.
    """
    other = "gradient" if of_gradient else "Gauss-Newton product"

    def loss(theta: Any, xs: Any, targets: Any) -> jax.Array:
        return loss_of(outputs(theta, xs, units, symbols), targets)

    def gradient(theta: Any, v: Any, xs: Any, targets: Any) -> jax.Array:
        return jax.grad(loss)(theta, xs, targets)

    def gauss_newton(theta: Any, v: Any, xs: Any, targets: Any) -> jax.Array:
        found, push = jax.linearize(lambda theta: outputs(theta, xs, units, symbols), theta)
        at_outputs = jax.grad(lambda found: loss_of(found, targets))
        errors = jax.jvp(at_outputs, (found,), (push(v),))[1]
        return jax.linear_transpose(push, theta)(errors)

    def hessian(theta: Any, v: Any, xs: Any, targets: Any) -> jax.Array:
        return jax.jvp(lambda theta: gradient(theta, v, xs, targets), (theta,), (v,))[1]

    half = gradient if of_gradient else gauss_newton
    of_hessian, of_other = costs((hessian, half), units, symbols)
    ratio = of_hessian / of_other
    return Finding(
        "holds" if ratio > 1.8 else "false",
        f"per step of a network of {units} units a Hessian product takes the multiplications of "
        f"{of_hessian:.2f} forward passes, a {other} those of {of_other:.2f}: {ratio:.2f} times as "
        f"much.",
        {"ratio": ratio, "Hessian product": of_hessian, other: of_other},
    )


CLAIM = Claim(
    "hessian-product-costs-twice",
    "A Gauss-Newton product needs only about half the computation of a Hessian product.",
    "Krause (2015), section 3.3.2, end",
    "false",
    check,
    Falsehood("a gradient in place of the Gauss-Newton product", {"of_gradient": True}, "holds"),
)
