"""Newton's update without the current point."""

import numpy as np

from ._claim import Claim, Finding

SIZE = 5


def check(start: float = 1.0, steps: int = 1) -> Finding:
    """Minimise a convex quadratic, for which one full Newton step is enough."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(SIZE, SIZE))
    B, best = A @ A.T + np.eye(SIZE), rng.normal(size=SIZE)
    begin = start * rng.normal(size=SIZE)

    def excess(keeps: float) -> float:
        theta = begin
        for _ in range(steps):
            delta = -np.linalg.solve(B, B @ (theta - best))
            theta = keeps * theta + delta
        return float(0.5 * (theta - best) @ B @ (theta - best))

    printed, with_theta = excess(0.0), excess(1.0)
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
)
