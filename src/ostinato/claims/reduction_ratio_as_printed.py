"""The reduction ratio, with the value of the quadratic model instead of its reduction."""

import numpy as np

from ._claim import Claim, Falsehood, Finding

SIZE = 5
LOWEST = (1.0, 100.0)


def check(reduction: bool = False) -> Finding:
    """ρ for the best step on exact quadratics with two lowest values, whose model cannot be wrong.

    `reduction`: the denominator is `M(δ) - M(0)` instead of `M(δ)`.
    """
    rng = np.random.default_rng(0)
    A = rng.normal(size=(SIZE, SIZE))
    B, best, theta = A @ A.T + np.eye(SIZE), *rng.normal(size=(2, SIZE))
    slope = B @ (theta - best)
    delta = -np.linalg.solve(B, slope)

    def ratios(lowest: float) -> tuple[float, float]:
        """As printed, and with the reduction of the model."""

        def f(theta: np.ndarray) -> float:
            return float(lowest + 0.5 * (theta - best) @ B @ (theta - best))

        def model(delta: np.ndarray) -> float:  # (2.13)
            return float(f(theta) + slope @ delta + 0.5 * delta @ B @ delta)

        change = f(theta + delta) - f(theta)
        return change / model(delta), change / (model(delta) - model(0 * delta))

    printed, right = zip(*(ratios(lowest) for lowest in LOWEST), strict=True)
    off = max(abs(rho - 1) for rho in (right if reduction else printed))
    return Finding(
        "holds" if off < 1e-9 else "false",
        f"on a quadratic in {SIZE} unknowns, which is its own model, ρ is {printed[0]:.2f} as "
        f"printed if its lowest value is {LOWEST[0]:g}, and {printed[1]:.2f} if it is "
        f"{LOWEST[1]:g}; with M(δ) - M(0) below it is {right[0]:.2f} in both.",
        {f"as printed, from {lowest:g}": rho for lowest, rho in zip(LOWEST, printed, strict=True)}
        | {f"with M(δ) - M(0), from {low:g}": rho for low, rho in zip(LOWEST, right, strict=True)},
    )


CLAIM = Claim(
    "reduction-ratio-as-printed",
    "ρ = (f(θ + δ) - f(θ)) / M(δ), with M(δ) = f(θ) + ∇fᵀ δ + ½ δᵀ B δ, is close to one where the "
    "quadratic model is accurate.",
    "Galvan (2015), section 2.2.2, eq. 2.19 with eq. 2.13 and the text after eq. 2.20",
    "false",
    check,
    Falsehood("M(δ) - M(0) in place of M(δ)", {"reduction": True}, "holds"),
)
