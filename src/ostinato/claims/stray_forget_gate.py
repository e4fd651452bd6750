"""The derivative of the LSTM's memory by the output of the step before."""

import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._nets import derivative, gap
from ._peephole import step, weights

INPUTS, UNITS = 3, 4


def check(stray: bool = True) -> Finding:
    """Compare ∂c_t/∂y_{t-1}, with the term `f_l δ_jl` of the derivation or without it."""
    w = weights(INPUTS, UNITS)
    rng = np.random.default_rng(1)
    x, y, c = rng.normal(size=INPUTS), rng.normal(size=UNITS), rng.normal(size=UNITS)
    exact = derivative(lambda y: step(w, x, y, c).c, y)
    s = step(w, x, y, c)
    found = (s.i * (1 - s.i) * s.z)[:, None] * w["R", "i"]
    found += (s.i * (1 - s.z**2))[:, None] * w["R", "z"]
    found += (s.f * (1 - s.f) * c)[:, None] * w["R", "f"]
    without, printed = gap(found, exact), gap(found + np.diag(s.f), exact)
    return Finding(
        "holds" if (printed if stray else without) < 1e-12 else "false",
        f"on a random LSTM with peepholes it is off by {printed:.2f} of the largest entry, and "
        f"without f_l δ_jl, as in the Jacobian that is printed afterwards, by {without:.0g}.",
        {"as derived": printed, "without the term": without},
    )


CLAIM = Claim(
    "stray-forget-gate",
    "∂φ_l/∂y_j = ∂i_l/∂y_j z_l + i_l ∂z_l/∂y_j + ∂f_l/∂y_j c_l + f_l δ_jl, for the new memory "
    "φ = i ⊙ z + f ⊙ c.",
    "Delgado del Cerro (2021), section 4.1",
    "false",
    check,
    Falsehood("the equation without f_l δ_jl", {"stray": False}, "holds"),
)
