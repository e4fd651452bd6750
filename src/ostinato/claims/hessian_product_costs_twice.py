"""What a product with the Hessian costs, against one with the Gauss-Newton matrix."""

from typing import Any

import jax

from ._claim import Claim, Finding
from ._second_order import costs, loss_of, outputs


def check(units: int = 400, symbols: int = 70) -> Finding:
    """Count multiplications in matrix products, for the tanh network of Krause (2015)."""

    def gauss_newton(theta: Any, v: Any, xs: Any, targets: Any) -> jax.Array:
        found, push = jax.linearize(lambda theta: outputs(theta, xs, units, symbols), theta)
        at_outputs = jax.grad(lambda found: loss_of(found, targets))
        errors = jax.jvp(at_outputs, (found,), (push(v),))[1]
        return jax.linear_transpose(push, theta)(errors)

    def hessian(theta: Any, v: Any, xs: Any, targets: Any) -> jax.Array:
        def loss(theta: Any) -> jax.Array:
            return loss_of(outputs(theta, xs, units, symbols), targets)

        return jax.jvp(jax.grad(loss), (theta,), (v,))[1]

    of_hessian, of_gauss_newton = costs((hessian, gauss_newton), units, symbols)
    ratio = of_hessian / of_gauss_newton
    return Finding(
        "holds" if ratio > 1.8 else "false",
        f"per step of a network of {units} units a Hessian product takes the multiplications of "
        f"{of_hessian:.2f} forward passes, a Gauss-Newton product those of "
        f"{of_gauss_newton:.2f}: {ratio:.2f} times as much, not twice.",
        {"ratio": ratio, "Hessian": of_hessian, "Gauss-Newton": of_gauss_newton},
    )


CLAIM = Claim(
    "hessian-product-costs-twice",
    "A Gauss-Newton product needs only about half the computation of a Hessian product.",
    "Krause (2015), section 3.3.2, end",
    "false",
    check,
)
