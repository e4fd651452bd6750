"""Hochreiter's condition on the largest weight."""

from collections.abc import Callable

import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._nets import logistic, run

UNITS, STEPS, NETS = 10, 30, 1000
STEEPEST = 0.25  # of the logistic function
VERDICT = "holds when the largest weight is below that, not equal to it"


def check(limit: Callable = lambda units, steepest: 1 / (units * steepest)) -> Finding:
    """Growth of the error per step with weights up to 97.5 % of the limit, and up to the limit."""
    most = limit(UNITS, STEEPEST)
    even, spread = growth(0.975 * most)
    at_limit, _ = growth(most)
    worst = max(even, float(spread.max()))
    verdict = "holds" if at_limit < 1 - 1e-9 else VERDICT
    return Finding(
        verdict if worst < 1 else "false",
        f"in {NETS + 1:,} nets of {UNITS} logistic units with weights up to {0.975 * most:g} the "
        f"error is multiplied by at most {worst:.3f} per step; at the limit, {most:g}, it is by "
        f"{at_limit:.3f} where all weights are equal and all units at their steepest.",
        {
            "worst growth below the limit": worst,
            "median growth below the limit": float(np.median(spread)),
            "growth at the limit": at_limit,
        },
    )


def growth(most: float) -> tuple[float, np.ndarray]:
    """‖∂a_t/∂a_k‖ to the power 1/(t - k), in the norm that the max-norm bound comes from.

    Of the worst net, whose weights are all equal and whose inputs keep every unit where it is
    steepest, and of random nets.
    """
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
    "Errors decay exponentially if no weight is larger than 1 / (r σ'max), for r units whose slope "
    "is at most σ'max.",
    "Galvan (2015), section 1.6, after eq. 1.67, where the value for the sigmoid, 4 / r, is "
    "left out",
    VERDICT,
    check,
    Falsehood(
        "the limit 1 / σ'max, without the number of units",
        {"limit": lambda units, steepest: 1 / steepest},
        "false",
    ),
)
