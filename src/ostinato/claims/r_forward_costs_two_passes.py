"""What the R-forward pass costs."""

from typing import Any

import jax

from ._claim import Claim, Finding
from ._second_order import costs, outputs


def check(units: int = 400, symbols: int = 70) -> Finding:
    """Count multiplications in matrix products, for the sizes of the document's tanh net."""

    def both(theta: Any, v: Any, xs: Any, targets: Any) -> Any:
        return jax.jvp(lambda theta: outputs(theta, xs, units, symbols), (theta,), (v,))

    ratio = costs((both,), units, symbols)[0] - 1
    return Finding(
        "holds" if abs(ratio - 2) < 0.2 else "false",
        f"per step of a net of {units} units it takes {ratio:.2f} times the multiplications of a "
        f"forward pass: two products for each of the forward pass's, but one with the input.",
        {"ratio": ratio},
    )


CLAIM = Claim(
    "r-forward-costs-two-passes",
    "The R-forward pass of an RNN costs about as much as two forward passes.",
    "Krause (2015), section 3.3.2, after algorithm 4",
    "holds",
    check,
)
