"""Damping in Hessian-free optimisation: the reduction ratio, its rule, structural damping."""

from typing import Any

import numpy as np

from ..learning.hessian_free.damping import HIGH, LOW, LOWER, RAISE
from .claim import Falsehood, Finding, Theme
from .gauss_newton import quadratic
from .tools import gap

THEME = Theme()

LOWEST = (1.0, 100.0)


@THEME.claim(
    "ρ = (f(θ + δ) - f(θ)) / M(δ), with M(δ) = f(θ) + ∇fᵀ δ + ½ δᵀ B δ, is close to one where the "
    "quadratic model is accurate.",
    "Galvan (2015), section 2.2.2, eq. 2.19 with eq. 2.13 and the text after eq. 2.20",
    "false",
    Falsehood("M(δ) - M(0) in place of M(δ)", {"reduction": True}, "holds"),
)
def reduction_ratio_as_printed(reduction: bool = False) -> Finding:
    """ρ for the best step on exact quadratics with two lowest values, whose model cannot be wrong.

    `reduction`: the denominator is `M(δ) - M(0)` instead of `M(δ)`.
    """
    B, best, theta = quadratic()
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
        f"on a quadratic in {len(B)} unknowns, which is its own model, ρ is {printed[0]:.2f} as "
        f"printed if its lowest value is {LOWEST[0]:g}, and {printed[1]:.2f} if it is "
        f"{LOWEST[1]:g}; with M(δ) - M(0) below it is {right[0]:.2f} in both.",
        {f"as printed, from {lowest:g}": rho for lowest, rho in zip(LOWEST, printed, strict=True)}
        | {f"with M(δ) - M(0), from {low:g}": rho for low, rho in zip(LOWEST, right, strict=True)},
    )


PRINTED = (2 / 3, 3 / 2)  # the factors below a ratio of 1/4 and above one of 3/4


def minimise(low: float, high: float) -> np.ndarray:
    """f after each step; λ is multiplied by `low` where ρ < ¼ and by `high` where ρ > ¾."""
    theta, damping = np.array([-1.2, 1.0]), 1.0
    values = [residuals(theta) @ residuals(theta) / 2]
    for _ in range(20):
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


@THEME.claim(
    "Damping is to be lowered (by 2/3) where the reduction ratio is below 1/4, and raised (by 3/2) "
    "where it is above 3/4.",
    "Krause (2015), section 4.1",
    "false",
    Falsehood("the two factors exchanged", {"printed": PRINTED[::-1]}, "holds"),
)
def reversed_damping_rule(printed: tuple[float, float] = PRINTED) -> Finding:
    """Minimise Rosenbrock's function by damped Gauss-Newton steps, with this rule and the other."""
    paths = {"as printed": minimise(*printed), "exchanged": minimise(RAISE, LOWER)}
    with_printed, with_other = (path[-1] for path in paths.values())
    steps = len(paths["exchanged"]) - 1

    def draw(axes: Any) -> None:
        for name, path in paths.items():
            axes.semilogy(np.maximum(path, 1e-30), label=name)
        axes.set(xlabel="step", ylabel="Rosenbrock's function")
        axes.legend()

    return Finding(
        "holds" if with_printed <= with_other else "false",
        f"after {steps} steps from the same start Rosenbrock's function is {with_printed:.2g} with "
        f"the rule as printed, and {with_other:.0g} with its factors exchanged, as in Galvan "
        "(2015), eq. 2.20.",
        {"as printed": float(with_printed), "exchanged": float(with_other)},
        draw,
    )


INPUTS, UNITS, STEPS = 2, 3, 6


def unpack(v: np.ndarray, like: dict) -> dict:
    parts = np.split(v, np.cumsum([x.size for x in like.values()])[:-1])
    return {name: part.reshape(like[name].shape) for name, part in zip(like, parts, strict=True)}


def r_forward(w: dict, v: dict, xs: np.ndarray, hs: list[np.ndarray]) -> np.ndarray:
    """R(H(t)) for all t, by algorithm 4."""
    changes = [np.zeros(UNITS)]
    for t, x in enumerate(xs):
        r = v["b"] + v["hi"] @ x + v["hh"] @ hs[t] + w["hh"] @ changes[-1]
        changes.append(r * (1 - hs[t + 1] ** 2))
    return np.array(changes[1:])


def backward(
    w: dict, xs: np.ndarray, hs: list[np.ndarray], changes: np.ndarray, where: str
) -> np.ndarray:
    """(3.27-3.30) with μ = 1, for a net without outputs."""
    d_in, gradient = np.zeros(UNITS), {name: np.zeros_like(x) for name, x in w.items()}
    for t in range(STEPS - 1, -1, -1):
        d_out = w["hh"].T @ d_in + (changes[t] if where == "H_out" else 0)  # (3.27)
        d_in = d_out * (1 - hs[t + 1] ** 2) + (changes[t] if where == "H_in" else 0)  # (3.28)
        gradient["hh"] += np.outer(d_in, hs[t])  # (3.29)
        gradient["hi"] += np.outer(d_in, xs[t])  # (3.30)
        gradient["b"] += d_in
    return np.concatenate([x.ravel() for x in gradient.values()])


@THEME.claim(
    "Adding μ R(H(t)) as in (3.28) joins μ times the Gauss-Newton matrix of the change in hidden "
    "states.",
    "Krause (2015), section 3.3.3.1, eq. 3.24-3.30",
    "false",
    Falsehood(
        "μ R(H(t)) added at H_out, in (3.27), instead of at H_in", {"where": "H_out"}, "holds"
    ),
)
def structural_damping(where: str = "H_in") -> Finding:
    """Form the matrix of (3.28), and the Gauss-Newton matrix of ½‖ΔH‖².

    `where` the term μ R(H) is added: at `H_in`, the pre-activation, as printed, or at `H_out`.
    """
    rng = np.random.default_rng(0)
    sizes = {"hh": (UNITS, UNITS), "hi": (UNITS, INPUTS), "b": (UNITS,)}
    w = {name: 0.7 * rng.normal(size=shape) for name, shape in sizes.items()}
    xs = rng.normal(size=(STEPS, INPUTS))
    hs = [np.zeros(UNITS)]
    for x in xs:
        hs.append(np.tanh(w["hh"] @ hs[-1] + w["hi"] @ x + w["b"]))
    count = sum(x.size for x in w.values())
    changes = np.stack([r_forward(w, unpack(v, w), xs, hs) for v in np.eye(count)], axis=-1)
    columns = [backward(w, xs, hs, changes[..., n], where) for n in range(count)]
    S = np.stack(columns, axis=-1)
    J = changes.reshape(-1, count)
    error, skew = gap(S, J.T @ J), gap(S.T, S)
    eigenvalues = np.linalg.eigvalsh((S + S.T) / 2)
    least = eigenvalues[0] / eigenvalues[-1]
    return Finding(
        "holds" if error < 1e-12 else "false",
        f"on a random net the matrix of (3.28) differs from the Gauss-Newton matrix of the states "
        f"by {error:.2f} of the largest entry, because it damps pre-activations, weighted by "
        f"1 - h²; it is symmetric to {skew:.0g}, and its smallest eigenvalue is {least:.0g} of the "
        f"largest.",
        {"relative difference": error, "asymmetry": skew, "smallest eigenvalue": float(least)},
    )
