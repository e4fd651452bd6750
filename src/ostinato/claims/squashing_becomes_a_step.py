"""Squashing functions with a growing slope."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ._claim import Claim, Finding
from ._nets import logistic

TAU, AWAY = 0.3, 0.1
SQUASHING: tuple[tuple[Callable, float, float], ...] = (
    (logistic, 0.0, 1.0),
    (np.tanh, -1.0, 1.0),
)


def check(slope: float = 1000.0) -> Finding:
    """Compare `f(α (x - τ))` with its limit, at a distance from τ and at τ itself."""
    x = np.linspace(-1, 1, 201)
    x = x[np.abs(x - TAU) >= AWAY - 1e-12]
    worst, gradient, at_tau, steepest = 0.0, 0.0, np.inf, np.inf
    with np.errstate(over="ignore"):
        for f, low, high in SQUASHING:
            limit = np.where(x > TAU, high, low)
            worst = max(worst, np.abs(f(slope * (x - TAU)) - limit).max())
            gradient = max(gradient, np.abs(derivative(f, x, slope)).max())
            at_tau = min(at_tau, f(np.zeros(1))[0] - low)
            steepest = min(steepest, derivative(f, np.array([TAU]), slope)[0])

    def draw(axes: Any) -> None:
        fine = np.linspace(-1, 1, 801)
        for alpha in (1, 5, 25, 125):
            axes.plot(fine, logistic(alpha * (fine - TAU)), label=f"α = {alpha}")
        axes.set(xlabel="x", ylabel="logistic(α (x - τ))")
        axes.legend()

    tends = worst < 1e-12 and gradient < 1e-12
    verdict = "holds" if at_tau < 1e-12 else "holds when x is not τ"
    return Finding(
        verdict if tends else "false",
        f"with a slope of {slope:g}, logistic and tanh {AWAY:g} away from τ differ from a step by "
        f"{worst:.0g} and have the gradient {gradient:.0g}; at τ they stay {at_tau:.1f} above the "
        f"lower value and have the gradient {steepest:.0f}.",
        {
            "difference": float(worst),
            "gradient": float(gradient),
            "above the lower value at τ": float(at_tau),
            "gradient at τ": float(steepest),
        },
        draw,
    )


def derivative(f: Callable, x: np.ndarray, slope: float) -> np.ndarray:
    """Of `f(slope (x - τ))` by x, for a logistic function or tanh."""
    y = f(slope * (x - TAU))
    return slope * (1 - y**2 if f is np.tanh else y * (1 - y))


CLAIM = Claim(
    "squashing-becomes-a-step",
    "As α grows a squashing function f(α (x - τ)) tends to a step from its lower to its upper "
    "value, the lower one at x ≤ τ; where it has become one, its gradient is gone.",
    "Galvan (2015), remark 3, eq. 1.50",
    "holds when x is not τ",
    check,
)
