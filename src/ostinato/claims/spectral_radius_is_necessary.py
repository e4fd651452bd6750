"""Convergence without input, with a spectral radius of one or more."""

import numpy as np

from ._claim import Claim, Finding


def check(weight: float = 2.0, steps: int = 200) -> Finding:
    """Run the net `c ← R tanh(c)` of one unit, whose spectral radius is |weight|."""
    if abs(weight) < 1:
        raise ValueError("the spectral radius must be at least one to test its necessity")
    c = 0.1
    for _ in range(steps):
        before, c = c, weight * np.tanh(c)
    moved = abs(c - before)
    multiplier = weight * (1 - np.tanh(c) ** 2)
    return Finding(
        "false" if moved < 1e-12 else "holds",
        f"the net of one unit with R = {weight:g} is at {c:.3f} after {steps} steps and moves by "
        f"{moved:.0g}; there R f' is {multiplier:.2f}.",
        {"state": float(c), "moved": float(moved), "multiplier": float(multiplier)},
    )


CLAIM = Claim(
    "spectral-radius-is-necessary",
    "For a net to converge without input it is necessary that the spectral radius of its "
    "recurrent weights is below one.",
    "Delgado del Cerro (2021), section 2.4, proposition",
    "false",
    check,
)
