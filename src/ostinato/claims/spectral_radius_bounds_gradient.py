"""The error in a net whose spectral radius is below one."""

from typing import Any

import numpy as np

from ..lens import spectral_radius
from ._claim import Claim, Falsehood, Finding
from .spectral_radius_is_sufficient import NILPOTENT


def check(weights: Any = NILPOTENT, lag: int = 50) -> Finding:
    """Hold one unit near saturation by its input, the other where it is steep."""
    R = np.asarray(weights)
    radius = spectral_radius(R)
    a = np.array([3.0, 0.1])  # kept there by u = a - R tanh(a)
    factor = R * (1 - np.tanh(a) ** 2)
    norm = np.linalg.norm(np.linalg.matrix_power(factor, lag), 2)
    growth = norm ** (1 / lag)
    return Finding(
        "holds" if growth < 1 else "false",
        f"in a net of two units with the spectral radius {radius:.0g}, of which an input saturates "
        f"one, the error is multiplied by {growth:.2f} per step: {norm:.1e} after {lag} steps.",
        {"spectral radius": float(radius), "growth": float(growth), "norm": float(norm)},
    )


CLAIM = Claim(
    "spectral-radius-bounds-gradient",
    "If the spectral radius of the recurrent weights is below one and f' at most one, errors "
    "vanish over long times.",
    "Delgado del Cerro (2021), section 2.4, after eq. 2.12",
    "false",
    check,
    Falsehood(
        "weights whose largest singular value is below one, not only their spectral radius",
        {"weights": ((0.5, 0.1), (0.0, 0.4))},
        "holds",
    ),
)
