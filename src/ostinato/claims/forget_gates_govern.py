"""Whether the forget gates alone govern what an LSTM remembers for long."""

from statistics import median

import equinox as eqx
import numpy as np

from ..cells import PeepholeLSTM
from ..lens import forget_share, memory_conditions
from ._claim import Claim, Falsehood, Finding
from ._nets import drawn, numbers
from ._peephole import weights

INPUTS, UNITS, NETS = 3, 8, 20
FACTOR = 2.0  # what still counts as ~


def check(norm: float = 0.49, lag: int = 50) -> Finding:
    """Compare ∏ (Q + diag(f)) with ∏ diag(f) in LSTMs that meet the first condition of the list.

    All of Rⁱ, Rᶠ, Rᶻ and the peepholes have the given norm.
    """
    ratios, largest = [], 0.0
    for seed in range(NETS):
        cell = lstm(norm, seed)
        xs = numbers(100 + seed, lag + 1, INPUTS)
        share = forget_share(cell, xs, lags=[lag])
        ratios.append(float(share.product[0] / share.forget[0]))
        largest = max(largest, memory_conditions(cell, xs)["small Q"].numbers["‖Q‖"])
    middle = median(ratios)
    alike = all(1 / FACTOR < ratio < FACTOR for ratio in ratios)
    return Finding(
        "holds" if alike else "false",
        f"in {NETS} random LSTMs with norms of {norm:g}, where ‖Q‖ is at most {largest:.2f}, the "
        f"whole product over {lag} steps is {middle:.3g} times that of the forget gates (median; "
        f"range {min(ratios):.2g} to {max(ratios):.2g}).",
        {
            "median ratio": middle,
            "smallest": min(ratios),
            "largest": max(ratios),
            "largest norm of Q": largest,
        },
    )


def lstm(norm: float, seed: int) -> PeepholeLSTM:
    """Without biases, as in Delgado del Cerro (2021), whose z is the cell's g."""
    w, cell = weights(INPUTS, UNITS, seed, scale=1.0), drawn(PeepholeLSTM, INPUTS, UNITS)
    W = [w["W", k].T for k in "ifzo"]
    R = [w["R", k].T * norm / np.linalg.norm(w["R", k], 2) for k in "ifzo"]
    p = [w["p", k] * norm / np.abs(w["p", k]).max() for k in "ifo"]
    new = np.hstack(W), np.hstack(R), np.zeros(4 * UNITS), np.stack(p)
    return eqx.tree_at(lambda c: (c.W, c.R, c.b, c.p), cell, new)


CLAIM = Claim(
    "forget-gates-govern",
    "Where ‖Q‖ < 1 its powers become insignificant over long times, and ∂δc(τ)/∂δc(t) ~ "
    "∏ diag(f): long-term dependencies are governed by the forget gates.",
    "Delgado del Cerro (2021), section 4.4, after eq. 4.18",
    "false",
    check,
    Falsehood(
        "weights so small that Q is negligible beside the forget gates, not only below one",
        {"norm": 0.001},
        "holds",
    ),
)
