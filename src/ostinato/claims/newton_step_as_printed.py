"""Newton's update without the current point."""

import numpy as np

from ._claim import Claim, Falsehood, Finding

SIZE = 5


def check(keeps: float = 0.0) -> Finding:
    """Minimise a convex quadratic by one full Newton step from `keeps` times the point."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(SIZE, SIZE))
    B, best = A @ A.T + np.eye(SIZE), rng.normal(size=SIZE)
    theta = rng.normal(size=SIZE)

    def excess(keeps: float) -> float:
        away = keeps * theta - np.linalg.solve(B, B @ (theta - best)) - best
        return float(0.5 * away @ B @ away)

    printed, with_theta = excess(keeps), excess(1.0)
    return Finding(
        "holds" if printed < 1e-12 else "false",
        f"on a quadratic in {SIZE} unknowns it ends {printed:.2g} above the minimum, and "
        f"θ_k + α_k δ_k {with_theta:.0g} above it.",
        {"as printed": printed, "with θ_k": with_theta},
    )


CLAIM = Claim(
    "newton-step-as-printed",
    "θ_{k+1} = α_k δ_k, with δ_k the minimum of the quadratic model at θ_k, is the update of "
    "Newton's method.",
    "Galvan (2015), section 2.2.2, eq. 2.14",
    "false",
    check,
    Falsehood("θ_k + α_k δ_k", {"keeps": 1.0}, "holds"),
)
