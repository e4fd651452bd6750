"""Convergence without input, and fading of the initial state, with a spectral radius below 1."""

from typing import Any

import numpy as np

from ..lens import spectral_radius
from ._claim import Claim, Falsehood, Finding

# Its square is zero, and so are its eigenvalues. Along (4, 1) the net is s ← tanh(4s)/2 - 2 tanh s.
NILPOTENT = ((2.0, -8.0), (0.5, -2.0))


def check(weights: Any = NILPOTENT, steps: int = 1000) -> Finding:
    """Run `c ← R tanh(c)` from a small state and from a large one."""
    R = np.asarray(weights)
    radius = spectral_radius(R)
    if radius >= 1:
        raise ValueError("the spectral radius must be below one to test its sufficiency")
    small, large = np.array([0.4, 0.1]), np.array([8.0, 2.0])
    path = [(small, large)]
    for _ in range(steps):
        small, large = R @ np.tanh(small), R @ np.tanh(large)
        path.append((small, large))
    moved, apart = np.abs(large - path[-2][1]).max(), np.linalg.norm(large - small)

    def draw(axes: Any) -> None:
        for n, start in enumerate(("small", "large")):
            axes.plot([states[n][0] for states in path[:30]], ".-", label=f"from a {start} state")
        axes.set(xlabel="step", ylabel="first unit")
        axes.legend()

    return Finding(
        "holds" if moved < 1e-9 and apart < 1e-9 else "false",
        f"a network of two units with spectral radius {radius:.0g} still moves by {moved:.1f} per "
        f"step after {steps:,} steps, and is {apart:.1f} away from one with another initial state.",
        {"spectral radius": float(radius), "moved": float(moved), "apart": float(apart)},
        draw,
    )


CLAIM = Claim(
    "spectral-radius-is-sufficient",
    "With a spectral radius below one a network without input converges and forgets its initial "
    "state: "
    "the echo state property.",
    "Delgado del Cerro (2021), section 2.4, proposition; Galvan (2015), section 2.2.3",
    "false",
    check,
    Falsehood(
        "weights whose largest singular value is below one, not only their spectral radius",
        {"weights": ((0.5, 0.1), (0.0, 0.4))},
        "holds",
    ),
)
