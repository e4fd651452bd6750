"""Whether the forget gates alone govern what an LSTM remembers for long."""

from itertools import pairwise

import numpy as np

from ._claim import Claim, Finding
from ._peephole import forward, printed_factor, weights

INPUTS, UNITS, NETS = 3, 8, 20
FACTOR = 2.0  # what still counts as ~


def check(norm: float = 0.49, lag: int = 50) -> Finding:
    """Compare ∏ (Q + diag(f)) with ∏ diag(f) in LSTMs that meet the first condition of the list.

    All of Rⁱ, Rᶠ, Rᶻ and the peepholes have the given norm.
    """
    ratios, largest = [], 0.0
    for seed in range(NETS):
        w = weights(INPUTS, UNITS, seed, scale=1.0)
        for kind, k in list(w):
            if kind != "W":
                w[kind, k] *= norm / np.linalg.norm(w[kind, k], 2 if kind == "R" else np.inf)
        rng = np.random.default_rng(100 + seed)
        zero = np.zeros(UNITS)
        steps = forward(w, rng.normal(size=(lag + 1, INPUTS)), zero, zero)
        whole, gates = np.eye(UNITS), np.ones(UNITS)
        for before, now in pairwise(steps):
            factor = printed_factor(w, before, now)
            largest = max(largest, float(np.linalg.norm(factor - np.diag(now.f), 2)))
            whole, gates = factor @ whole, now.f * gates
        ratios.append(np.linalg.norm(whole, 2) / gates.max())
    middle = float(np.median(ratios))
    alike = all(1 / FACTOR < ratio < FACTOR for ratio in ratios)
    return Finding(
        "holds" if alike else "false",
        f"in {NETS} random LSTMs with norms of {norm:g}, where ‖Q‖ is at most {largest:.2f}, the "
        f"whole product over {lag} steps is {middle:.3g} times that of the forget gates in the "
        f"median, from {min(ratios):.2g} to {max(ratios):.2g}.",
        {
            "median ratio": middle,
            "smallest": float(min(ratios)),
            "largest": float(max(ratios)),
            "largest norm of Q": largest,
        },
    )


CLAIM = Claim(
    "forget-gates-govern",
    "Where ‖Q‖ < 1 its powers become insignificant over long times, and ∂δc(τ)/∂δc(t) ~ "
    "∏ diag(f): long-term dependencies are governed by the forget gates.",
    "001, section 4.4, after eq. 4.18",
    "false",
    check,
)
