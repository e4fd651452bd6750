"""The leaky integrator with the new state on both sides of its equation."""

import numpy as np

from ._claim import Claim, Falsehood, Finding

ALPHA = 0.1


def check(weight: float = 3.0, reads_old: bool = False) -> Finding:
    """Count the solutions h_t of (2.22) for one tanh unit at rest without input.

    The unit is `h_t = (1 - α) tanh(w h_t) + α h_{t-1}` with `h_{t-1} = 0`; with `reads_old` it is
    h_{t-1} that the weights read.
    """
    h = np.linspace(-1, 1, 200_002)  # an even number of points: none of them is 0
    read = np.zeros_like(h) if reads_old else h
    side = np.sign((1 - ALPHA) * np.tanh(weight * read) - h)
    solutions = int(np.count_nonzero(np.diff(side)))
    return Finding(
        "holds" if solutions == 1 else "false",
        f"one tanh unit with w = {weight:g} and α = {ALPHA:g}, at rest and without input, has "
        f"{solutions} states h_t that satisfy it; with h_(t-1) on the right there is always 1.",
        {"solutions": solutions},
    )


CLAIM = Claim(
    "leaky-integrator-as-printed",
    "h_t = (1 - α) σ(W h_t + W x_t + b) + α h_{t-1} gives the next state of a reservoir.",
    "Galvan (2015), eq. 2.22",
    "false",
    check,
    Falsehood("h_{t-1} in place of h_t on the right", {"reads_old": True}, "holds"),
)
