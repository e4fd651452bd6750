"""The derivative of the LSTM's output by the memory before: which memory it is taken at."""

import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._nets import derivative, gap
from ._peephole import step, weights

INPUTS, UNITS = 3, 4


def check(old: bool = True) -> Finding:
    """Compare ∂y_t/∂c_{t-1} with h(c_{t-1}) in its first term, as printed, or with h(c_t)."""
    w = weights(INPUTS, UNITS)
    rng = np.random.default_rng(1)
    x, y, c = rng.normal(size=INPUTS), rng.normal(size=UNITS), rng.normal(size=UNITS)
    exact = derivative(lambda c: step(w, x, y, c).y, c)
    s = step(w, x, y, c)
    of_memory = s.i * (1 - s.i) * w["p", "i"] * s.z + s.f * (1 - s.f) * w["p", "f"] * c + s.f

    def jacobian(memory: np.ndarray) -> np.ndarray:
        gate = np.tanh(memory) * s.o * (1 - s.o) * w["p", "o"]
        return np.diag((gate + s.o * (1 - np.tanh(s.c) ** 2)) * of_memory)

    printed, right = gap(jacobian(c), exact), gap(jacobian(s.c), exact)
    return Finding(
        "holds" if (printed if old else right) < 1e-12 else "false",
        f"on a random LSTM with peepholes it is off by {printed:.2f} of the largest entry; with "
        f"the new memory, h(φ_l), by {right:.0g}.",
        {"as printed": printed, "with the new memory": right},
    )


CLAIM = Claim(
    "old-memory-in-the-jacobian",
    "∂ψ_l/∂c_j = (h(c_l) σ'(ω_l) p_l + ω_l h'(φ_l)) ∂φ_l/∂c_j, for the output ψ = ω ⊙ h(φ), with c "
    "the memory before the step and φ that after it.",
    "Delgado del Cerro (2021), section 4.1",
    "false",
    check,
    Falsehood("h of the new memory, h(φ_l), in place of h(c_l)", {"old": False}, "holds"),
)
