"""Stability at a fixed point."""

import numpy as np

from ..lens import spectral_radius
from ._claim import Claim, Falsehood, Finding
from ._nets import apply

UNITS, NETS, STEPS = 3, 300, 2000


def check(of_weights: bool = False) -> Finding:
    """Find fixed points of random nets, and see whether the net returns to them.

    With `of_weights` the radius is that of R instead of `R diag(f')` at the fixed point.
    """
    rng = np.random.default_rng(0)
    R = rng.uniform(0.5, 4, (NETS, 1, 1)) * rng.normal(size=(NETS, UNITS, UNITS)) / np.sqrt(UNITS)
    c = 3 * rng.normal(size=(NETS, UNITS))
    eye = np.eye(UNITS)
    for _ in range(50):  # Newton's method for c = R tanh(c)
        J = R * (1 - np.tanh(c) ** 2)[:, None, :]
        c = c - np.linalg.solve(J - eye, (apply(R, np.tanh(c)) - c)[..., None])[..., 0]
    fixed = np.abs(apply(R, np.tanh(c)) - c).max(axis=1) < 1e-12
    matrix = R if of_weights else R * (1 - np.tanh(c) ** 2)[:, None, :]
    radius = spectral_radius(matrix)
    clear = fixed & (np.abs(radius - 1) > 0.02)  # nearer to one it takes longer to tell
    near = c + 1e-5 * rng.normal(size=c.shape)
    for _ in range(STEPS):
        near = apply(R, np.tanh(near))
    returned = np.abs(near - c).max(axis=1) < 1e-8
    right = (returned == (radius < 1))[clear]
    return Finding(
        "holds" if right.all() else "false",
        f"it predicts correctly for {right.sum()} of {clear.sum()} fixed points of random networks "
        f"({returned[clear].sum()} of them attracting) whether a network started nearby returns.",
        {
            "right": float(right.sum()),
            "fixed points": float(clear.sum()),
            "attracting": float(returned[clear].sum()),
        },
    )


CLAIM = Claim(
    "local-stability",
    "A net without input returns to a fixed point from nearby just where the spectral radius of "
    "R diag(f') at that point is below one.",
    "Delgado del Cerro (2021), section 2.4, proof of the proposition",
    "holds",
    check,
    Falsehood(
        "the spectral radius of R in place of that of R diag(f')", {"of_weights": True}, "false"
    ),
)
