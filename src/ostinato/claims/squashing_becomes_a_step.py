"""Squashing functions with a growing slope."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._nets import logistic

TAU, AWAY = 0.3, 0.1
SLOPE = 1000.0  # α
Squashing = tuple[Callable, Callable, float, float]  # f, f' as a function of f, its two limits
SQUASHING: tuple[Squashing, ...] = (
    (logistic, lambda y: y * (1 - y), 0.0, 1.0),
    (np.tanh, lambda y: 1 - y**2, -1.0, 1.0),
)
RELU: Squashing = (lambda a: np.maximum(a, 0), lambda y: 1.0 * (y > 0), 0.0, 1.0)


def check(functions: tuple[Squashing, ...] = SQUASHING) -> Finding:
    """Compare `f(α (x - τ))` with its limit, at a distance from τ and at τ itself."""
    x = np.linspace(-1, 1, 201)
    x = x[np.abs(x - TAU) >= AWAY - 1e-12]
    worst, gradient, at_tau, steepest = 0.0, 0.0, np.inf, np.inf
    with np.errstate(over="ignore"):
        for f, derivative, low, high in functions:
            y, at_zero = f(SLOPE * (x - TAU)), f(np.zeros(()))
            worst = max(worst, np.abs(y - np.where(x > TAU, high, low)).max())
            gradient = max(gradient, np.abs(SLOPE * derivative(y)).max())
            at_tau = min(at_tau, at_zero - low)
            steepest = min(steepest, SLOPE * derivative(at_zero))

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
        f"with a slope of {SLOPE:g}, the functions differ {AWAY:g} away from τ from a step by "
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


CLAIM = Claim(
    "squashing-becomes-a-step",
    "As α grows a squashing function f(α (x - τ)) tends to a step from its lower to its upper "
    "value, the lower one at x ≤ τ; where it has become one, its gradient is gone.",
    "Galvan (2015), section 1.4: remark 3, eq. 1.50, and on saturation after eq. 1.52",
    "holds when x is not τ",
    check,
    Falsehood(
        "ReLU, which is no squashing function, in place of tanh",
        {"functions": (SQUASHING[0], RELU)},
        "false",
    ),
)
