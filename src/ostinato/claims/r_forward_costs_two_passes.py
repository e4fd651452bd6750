"""What the R-forward pass costs."""

from typing import Any

import jax

from ._claim import Claim, Falsehood, Finding
from ._second_order import costs, outputs


def check(of_inputs: bool = False, units: int = 400, symbols: int = 70) -> Finding:
    """Count multiplications in matrix products, for the tanh network of Krause (2015).

    `of_inputs`: the pass follows a change of the inputs instead of the parameters.
    """

    def both(theta: Any, v: Any, xs: Any, targets: Any) -> Any:
        if of_inputs:
            return jax.jvp(lambda xs: outputs(theta, xs, units, symbols), (xs,), (targets,))
        return jax.jvp(lambda theta: outputs(theta, xs, units, symbols), (theta,), (v,))

    ratio = costs((both,), units, symbols)[0] - 1
    return Finding(
        "holds" if abs(ratio - 2) < 0.2 else "false",
        f"per step of a network of {units} units it takes {ratio:.2f} times the multiplications of "
        f"a forward pass: two products for every one of the forward pass, but only one with the "
        f"input.",
        {"ratio": ratio},
    )


CLAIM = Claim(
    "r-forward-costs-two-passes",
    "The R-forward pass of an RNN costs about as much as two forward passes.",
    "Krause (2015), section 3.3.2, after algorithm 4",
    "holds",
    check,
    Falsehood(
        "a pass that follows a change of the inputs instead of the weights",
        {"of_inputs": True},
        "false",
    ),
)
