"""The Jacobian of an iteration `c ← R σ(c)`."""

import numpy as np

from ..lens import spectral_radius
from ._claim import Claim, Falsehood, Finding
from ._nets import derivative, gap

UNITS = 4


def check(weights_first: bool = False) -> Finding:
    """Compare `diag(σ'(c)) R`, or with `weights_first` `R diag(σ'(c))`, with the derivative."""
    rng = np.random.default_rng(0)
    R, c = rng.normal(size=(UNITS, UNITS)), rng.normal(size=UNITS)
    exact = derivative(lambda c: R @ np.tanh(c), c)
    slopes = np.diag(1 - np.tanh(c) ** 2)
    printed, other = slopes @ R, R @ slopes
    off, right = gap(printed, exact), gap(other, exact)
    radius, radius_exact = float(spectral_radius(printed)), float(spectral_radius(exact))
    return Finding(
        "holds" if (right if weights_first else off) < 1e-12 else "false",
        f"at a random point of a tanh net it is off by {off:.2f} of the largest entry, and "
        f"R diag(σ') by {right:.0g}; the spectral radius is the same, {radius:.3f} and "
        f"{radius_exact:.3f}, so that the condition for stability is not touched.",
        {
            "as printed": off,
            "R diag(σ')": right,
            "spectral radius as printed": radius,
            "spectral radius": radius_exact,
        },
    )


CLAIM = Claim(
    "jacobian-at-a-fixed-point",
    "The Jacobian of F(c) = R σ(c) is diag(σ'(c)) R.",
    "Delgado del Cerro (2021), section 2.4, proof of the proposition",
    "false",
    check,
    Falsehood("R diag(σ'(c)) in place of diag(σ'(c)) R", {"weights_first": True}, "holds"),
)
