"""Which way the leak of a leaky integrator sets its speed."""

import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._nets import apply

NETS, UNITS, STEPS = 200, 8, 400


def check(stays: bool = True) -> Finding:
    """How many steps a reservoir takes to get halfway to its steady state under constant input.

    `stays`: α weights the old state, as in (2.22); otherwise the new value.
    """
    slow, fast = (half_way(alpha if stays else 1 - alpha) for alpha in (0.1, 0.9))
    return Finding(
        "holds" if slow > fast else "false",
        f"the median of {NETS} reservoirs takes {slow:g} and {fast:g} steps to get halfway to its "
        "steady state, with α = 0.1 and α = 0.9.",
        {"steps at 0.1": slow, "steps at 0.9": fast},
    )


def half_way(kept: float) -> float:
    """The median number of steps, from rest, under constant input."""
    rng = np.random.default_rng(0)
    R = 0.5 * rng.normal(size=(NETS, UNITS, UNITS)) / np.sqrt(UNITS)
    u = rng.normal(size=(NETS, UNITS))
    h, states = np.zeros((NETS, UNITS)), []
    for _ in range(STEPS):
        h = (1 - kept) * np.tanh(apply(R, h) + u) + kept * h
        states.append(h)
    away = np.linalg.norm(np.array(states) - states[-1], axis=-1)
    return float(np.median(np.argmax(away < np.linalg.norm(states[-1], axis=-1) / 2, axis=0) + 1))


CLAIM = Claim(
    "leak-sets-the-speed",
    "In a leaky integrator h_t = (1 - α) σ(…) + α h_{t-1} a small α makes the reservoir react "
    "slowly to the input, and a larger one lets it change faster.",
    "Galvan (2015), section 2.2.3, on eq. 2.22",
    "false",
    check,
    Falsehood(
        "a leak that weights the new value instead of the old state", {"stays": False}, "holds"
    ),
)
