"""Which way the damping has to move with the reduction ratio."""

from typing import Any

import numpy as np

from ..learning.hessian_free.damping import HIGH, LOW, LOWER, RAISE
from ._claim import Claim, Falsehood, Finding

STEPS = 20
PRINTED = (2 / 3, 3 / 2)  # the factors below a ratio of 1/4 and above one of 3/4


def check(printed: tuple[float, float] = PRINTED) -> Finding:
    """Minimise Rosenbrock's function by damped Gauss-Newton steps, with this rule and the other."""
    paths = {"as printed": minimise(*printed), "exchanged": minimise(RAISE, LOWER)}
    with_printed, with_other = (path[-1] for path in paths.values())

    def draw(axes: Any) -> None:
        for name, path in paths.items():
            axes.semilogy(np.maximum(path, 1e-30), label=name)
        axes.set(xlabel="step", ylabel="Rosenbrock's function")
        axes.legend()

    return Finding(
        "holds" if with_printed <= with_other else "false",
        f"after {STEPS} steps from the same start Rosenbrock's function is {with_printed:.2g} with "
        f"the rule as printed, and {with_other:.0g} with its factors exchanged, as in Galvan "
        "(2015), eq. 2.20.",
        {"as printed": float(with_printed), "exchanged": float(with_other)},
        draw,
    )


def minimise(low: float, high: float) -> np.ndarray:
    """f after each step; λ is multiplied by `low` where ρ < ¼ and by `high` where ρ > ¾."""
    theta, damping = np.array([-1.2, 1.0]), 1.0
    values = [residuals(theta) @ residuals(theta) / 2]
    for _ in range(STEPS):
        r = residuals(theta)
        J = np.array([[-20 * theta[0], 10.0], [-1.0, 0.0]])
        B, g = J.T @ J + damping * np.eye(2), J.T @ r
        delta = -np.linalg.solve(B, g)
        new = residuals(theta + delta)
        value = new @ new / 2
        ratio = (value - values[-1]) / (0.5 * delta @ B @ delta + g @ delta)
        damping *= low if ratio < LOW else high if ratio > HIGH else 1
        if value < values[-1]:
            theta = theta + delta
        values.append(min(value, values[-1]))
    return np.array(values)


def residuals(theta: np.ndarray) -> np.ndarray:
    return np.array([10 * (theta[1] - theta[0] ** 2), 1 - theta[0]])


CLAIM = Claim(
    "reversed-damping-rule",
    "Damping is to be lowered (by 2/3) where the reduction ratio is below 1/4, and raised (by 3/2) "
    "where it is above 3/4.",
    "Krause (2015), section 4.1",
    "false",
    check,
    Falsehood("the two factors exchanged", {"printed": PRINTED[::-1]}, "holds"),
)
