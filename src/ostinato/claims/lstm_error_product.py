"""Backpropagation of an error at the memory cell of an LSTM over many steps."""

from functools import reduce
from itertools import pairwise

import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._nets import derivative, gap
from ._peephole import forward, printed_factor, weights

INPUTS, UNITS, LAG = 3, 4, 20


def check(first: bool = False) -> Finding:
    """Compare the product of (4.18) with the derivative; `first`: with its first step first."""
    error, without = error_of_product(1.0, first), error_of_product(0.0, first)
    verdict = "holds" if error < 1e-12 else "holds when the output gate does not read y"
    return Finding(
        verdict if without < 1e-12 else "false",
        f"over {LAG} steps the product is off by {error:.2g}, because it leaves out the path "
        f"through the recurrent weights of the output gate; without these, by {without:.0g}.",
        {"relative error": error, "relative error without Rᵒ": without},
    )


def error_of_product(output_gate: float, first: bool) -> float:
    """For Rᵒ times `output_gate`."""
    w = weights(INPUTS, UNITS)
    w["R", "o"] = output_gate * w["R", "o"]
    rng = np.random.default_rng(1)
    xs, (y, c) = rng.normal(size=(LAG + 1, INPUTS)), rng.normal(size=(2, UNITS))
    steps = forward(w, xs, y, c)
    factors = [printed_factor(w, *pair) for pair in pairwise(steps)]
    product = reduce(np.matmul, factors if first else factors[::-1])  # of ∂c(t)/∂c(t-1)

    def last(bump: np.ndarray) -> np.ndarray:
        return forward(w, xs, y, c, bump)[-1].c

    return gap(product, derivative(last, np.zeros(UNITS)))


CLAIM = Claim(
    "lstm-error-product",
    "Over many steps the error at the memory is multiplied by the product of the Q + diag(f).",
    "Delgado del Cerro (2021), section 4.4, eq. 4.18",
    "holds when the output gate does not read y",
    check,
    Falsehood("the factors in the order of time", {"first": True}, "false"),
)
