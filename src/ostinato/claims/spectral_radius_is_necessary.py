"""Convergence without input, with a spectral radius of one or more."""

import numpy as np

from ._claim import Claim, Falsehood, Finding

WEIGHTS = np.array([-3.0, -2.0, -0.5, 0.5, 2.0, 3.0])
STEPS = 500


def check(at_the_state: bool = False) -> Finding:
    """Run nets `c ← R tanh(c)` of one unit, and look at the radius of those that converge.

    The radius is |R|, or with `at_the_state` that of R f' at the state which is reached.
    """
    c = before = np.full(len(WEIGHTS), 0.1)
    for _ in range(STEPS):
        before, c = c, WEIGHTS * np.tanh(c)
    moved = np.abs(c - before)
    slopes = 1 - np.tanh(c) ** 2
    radius = np.abs(WEIGHTS * slopes if at_the_state else WEIGHTS)
    converged, two = moved < 1e-12, int(np.argmax(WEIGHTS == 2))
    against = int(np.sum(converged & (radius >= 1)))
    return Finding(
        "false" if against else "holds",
        f"of {len(WEIGHTS)} nets of one unit {converged.sum()} converge, {against} of them with a "
        f"radius of one or more: that with R = 2 is at {c[two]:.3f} after {STEPS} steps and moves "
        f"by {moved[two]:.0g}, where R f' is {2 * slopes[two]:.2f}.",
        {
            "converged": float(converged.sum()),
            "of them with a radius of one or more": against,
            "state of R = 2": float(c[two]),
            "R f' there": float(2 * slopes[two]),
        },
    )


CLAIM = Claim(
    "spectral-radius-is-necessary",
    "For a net to converge without input it is necessary that the spectral radius of its "
    "recurrent weights is below one.",
    "Delgado del Cerro (2021), section 2.4, proposition",
    "false",
    check,
    Falsehood(
        "the radius of R f' at the state that is reached, in place of that of R",
        {"at_the_state": True},
        "holds",
    ),
)
