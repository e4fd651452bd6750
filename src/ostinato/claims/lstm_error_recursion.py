"""The factor of an error at the memory cell of an LSTM over one step back."""

from typing import Any

import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._nets import derivative, gap
from ._peephole import forward, printed_factor, weights

INPUTS, UNITS = 3, 4


def check(peepholes: bool = True) -> Finding:
    """Compare (4.16), with its peepholes or without, with the derivative."""
    w = weights(INPUTS, UNITS)
    rng = np.random.default_rng(1)
    xs, (y, c) = rng.normal(size=(2, INPUTS)), rng.normal(size=(2, UNITS))
    blind = {**w, **{("p", k): np.zeros(UNITS) for k in "ifo"}}
    printed = printed_factor(w if peepholes else blind, *forward(w, xs, y, c))

    def later(bump: np.ndarray) -> Any:
        return forward(w, xs, y, c, bump)[1].c

    jacobian = derivative(later, np.zeros(UNITS))  # ∂c(t)/∂c(t-1)
    as_printed, turned = gap(printed, jacobian.T), gap(printed.T, jacobian.T)
    verdict = "holds" if as_printed < 1e-12 else "holds when it is transposed"
    return Finding(
        verdict if turned < 1e-12 else "false",
        f"as printed, with matrices and diagonals exchanged in (4.16), it is off by "
        f"{as_printed:.2g}; transposed it agrees with the derivative to {turned:.0g}.",
        {"relative error as printed": as_printed, "relative error transposed": turned},
    )


CLAIM = Claim(
    "lstm-error-recursion",
    "One step back, ∂δc(t-1)/∂δc(t) = Q + diag(f), where Q depends on gates and weights.",
    "Delgado del Cerro (2021), section 4.4, eq. 4.16-4.17",
    "holds when it is transposed",
    check,
    Falsehood("Q without the peepholes", {"peepholes": False}, "false"),
)
