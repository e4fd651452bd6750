"""Hochreiter's condition for nets of logistic units."""

import numpy as np

from ._claim import Claim, Finding
from ._nets import logistic, run

UNITS, STEPS, NETS = 10, 30, 1000


def check(below: float = 3.9, above: float = 5.0) -> Finding:
    """Growth per step of the error with weights up to `below / units`, and `above / units`."""
    even, spread = growth(below)
    even_above, spread_above = growth(above)
    worst = max(even, spread.max())
    return Finding(
        "holds" if worst < 1 else "false",
        f"with weights up to {below:g}/units the error is multiplied by at most {worst:.3f} per "
        f"step in {NETS + 1:,} networks; at {above:g}/units the condition says nothing: the factor "
        f"is {even_above:.2f} in one network and {np.median(spread_above):.2f} in the median.",
        {
            "worst growth below": worst,
            "median growth below": float(np.median(spread)),
            "growth above, equal weights": even_above,
            "median growth above": float(np.median(spread_above)),
        },
    )


def growth(strength: float) -> tuple[float, np.ndarray]:
    """‖∂a_t/∂a_k‖ to the power 1/(t - k), in the norm that the max-norm bound comes from.

    Of the worst net, whose weights are all equal and whose inputs keep every unit where it is
    steepest, and of random nets.
    """
    most = strength / UNITS
    rng = np.random.default_rng(0)
    equal = np.full((1, UNITS, UNITS), most)
    balance = -equal.sum(axis=-1) / 2  # a = R σ(0) + u = 0
    us = np.concatenate([np.zeros((1, 1, UNITS)), np.tile(balance, (STEPS, 1, 1))])
    found = [(equal, us)]
    weights = rng.uniform(-most, most, (NETS, UNITS, UNITS))
    found.append((weights, rng.normal(size=(STEPS + 1, NETS, UNITS))))
    rates = []
    for R, inputs in found:
        nets = run(R, inputs, logistic, lambda a: logistic(a) * (1 - logistic(a)))
        *_, (lag, J) = nets.jacobians()
        rates.append(np.abs(J).sum(axis=2).max(axis=1) ** (1 / lag))
    return float(rates[0][0]), rates[1]


CLAIM = Claim(
    "sigmoid-weights",
    "In a net of logistic units whose weights are all below 4/units the error vanishes "
    "exponentially.",
    "Galvan (2015), section 1.6, after eq. 1.67",
    "holds",
    check,
)
