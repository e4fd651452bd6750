"""Bounds on the gradient over long times: one unit, Hochreiter's, and singular values."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import BadInput
from ..lens import largest_singular_value, spectral_radius, toy_contribution
from .claim import Falsehood, Finding, Theme
from .tools import Nets, tanh_nets

THEME = Theme()

VERDICT = "holds when the exponent is t - k"
ROUNDING = 1 + 1e-12


def against_nets(
    growth: Callable[[Nets, np.ndarray], np.ndarray], size: Callable[[np.ndarray], np.ndarray]
) -> Finding:
    """Compare `size(∂a_t/∂a_k)` with `growth ** (t - k)`, and with the printed power `t - k - 1`.

    Args:
        growth: the base of the bound `(nets,)`, from the networks and their steepest slopes
            `(nets,)`.
        size: the bounded quantity `(nets,)`, from Jacobians `(nets, units, units)`.
    """
    nets = tanh_nets()
    count = len(nets.R)
    over, over_as_printed, share = np.zeros(count, bool), np.zeros(count, bool), []
    for lag, J in nets.jacobians():
        base, norm = growth(nets, nets.slopes[:lag].max(axis=(0, 2))), size(J)
        over |= norm > base**lag * ROUNDING
        over_as_printed |= norm > base ** (lag - 1) * ROUNDING
        share.append(norm / base**lag)
    medians = np.median(share, axis=1)
    lags = np.arange(1, len(share) + 1)

    def draw(axes: Any) -> None:
        for low, high in ((10, 90), (30, 70)):
            edges = np.percentile(share, (low, high), axis=1)
            axes.fill_between(lags, *edges, alpha=0.25, color="tab:blue", label=f"{low}-{high} %")
        axes.semilogy(lags, medians, label="median net")
        axes.axhline(1, color="black", linestyle="--", label="the bound")
        axes.set(xlabel="lag t - k", ylabel="Jacobian over its bound", yscale="log")
        axes.legend()

    verdict = VERDICT
    if not over_as_printed.any():
        verdict = "holds"
    elif over.any():
        verdict = "false"
    return Finding(
        verdict,
        f"of {count:,} random tanh networks, {over.sum()} exceed the bound with the exponent t - k "
        f"(the number of factors), and {over_as_printed.sum()} with t - k - 1 as printed; at lag "
        f"{lags[-1]} the median network reaches {medians[-1]:.1e} of the bound.",
        {
            "nets": count,
            "over": float(over.sum()),
            "over as printed": float(over_as_printed.sum()),
            "closest": float(np.max(share)),
            "median share at the last lag": float(medians[-1]),
        },
        draw,
    )


STEPS = 100
UNITS = {"linear": "identity", "ReLU": "relu", "tanh": "tanh"}


@THEME.claim(
    "With one recurrent unit and no later input, the contribution of an input vanishes where "
    "|w| < 1 and explodes where |w| > 1, exponentially fast.",
    "Lipton et al. (2015), section 3.2 and figs. 7-8",
    "holds when the unit is linear, or an active ReLU, and |w| ≠ 1",
    Falsehood(
        "tanh in place of the linear unit and of the ReLU",
        {"units": dict.fromkeys(UNITS, "tanh")},
        "false",
    ),
)
def toy_net(
    below: float = 0.9, one: float = 1.0, above: float = 1.1, units: dict[str, str] = UNITS
) -> Finding:
    """Follow the derivative of a unit by its first input, for three weights and three units."""
    curves = {
        (kind, w): toy_contribution(w, range(STEPS + 1), f=f)
        for kind, f in units.items()
        for w in (below, one, above)
    }
    left = {at: abs(float(curve[-1])) for at, curve in curves.items()}

    def vanishes_or_explodes(kind: str) -> bool:
        return left[kind, below] < 1e-3 and left[kind, above] > 1e3

    def draw(axes: Any) -> None:
        for (kind, w), curve in curves.items():
            if kind != "ReLU":  # the same as linear here
                style = "-" if kind == "linear" else "--"
                axes.semilogy(np.abs(curve), style, label=f"{kind}, w = {w:g}")
        axes.set(xlabel="steps since the input", ylabel="its contribution, |∂h_t/∂x|")
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))

    verdict = "holds when the unit is linear, or an active ReLU, and |w| ≠ 1"
    if not (vanishes_or_explodes("linear") and vanishes_or_explodes("ReLU")):
        verdict = "false"
    elif vanishes_or_explodes("tanh") and not 0.1 < left["linear", one] < 10:
        verdict = "holds"
    kept = ", ".join(f"{left['linear', w]:.2g} for w = {w:g}" for w in (below, one, above))
    return Finding(
        verdict,
        f"after {STEPS} steps a linear unit keeps {kept} of its input; a tanh unit with "
        f"w = {above:g} saturates, and {left['tanh', above]:.1g} is left.",
        {f"{kind}, w = {w:g}": x for (kind, w), x in left.items()},
        draw,
    )


@THEME.claim(
    "The largest entry of ∂a_t/∂a_k is at most τ^(t-k-1), τ = units · f'max · largest weight.",
    "Galvan (2015), section 1.6, eq. 1.63-1.67",
    VERDICT,
    Falsehood("τ without the number of units", {"counted": False}, "false"),
)
def hochreiter_bound(counted: bool = True) -> Finding:
    """The largest entry against the bound; `counted`: whether τ has the number of units."""

    def growth(nets: Nets, steepest: np.ndarray) -> np.ndarray:
        units = nets.R.shape[1] if counted else 1
        return units * steepest * np.abs(nets.R).max(axis=(1, 2))

    return against_nets(growth, lambda J: np.abs(J).max(axis=(1, 2)))


@THEME.claim(
    "A column of ∂a_t/∂a_k is at most (f'max · μmax)^(t-k-1) long, μmax the largest singular "
    "value of the recurrent weights.",
    "Galvan (2015), section 1.6, eq. 1.68-1.71",
    VERDICT,
    Falsehood(
        "the spectral radius in place of the largest singular value",
        {"largest": spectral_radius},
        "false",
    ),
)
def singular_value_bound(largest: Callable = largest_singular_value) -> Finding:
    """The longest column, `‖J e_i‖`, against the bound from `largest` of the weights."""

    def growth(nets: Nets, steepest: np.ndarray) -> np.ndarray:
        return steepest * np.asarray(largest(nets.R))

    return against_nets(growth, lambda J: np.linalg.norm(J, axis=1).max(axis=1))


MATRIX = ((0.5, 10.0), (0.0, 0.4))


@THEME.claim(
    "For a diagonalisable recurrent matrix the largest eigenvalue is the largest singular value.",
    "Galvan (2015), section 1.6, after eq. 1.71",
    "false",
    Falsehood(
        "a symmetric matrix, for which the two are the same",
        {"matrix": ((0.5, 0.1), (0.1, 0.4))},
        "holds",
    ),
)
def eigenvalue_equals_singular_value(matrix: Any = MATRIX) -> Finding:
    """Compare the two for a diagonalisable matrix."""
    matrix = np.asarray(matrix)
    values, vectors = np.linalg.eig(matrix)
    rebuilt = vectors @ np.diag(values) @ np.linalg.inv(vectors)
    if not np.allclose(rebuilt, matrix):
        raise BadInput("the matrix must be diagonalisable")
    largest, singular = float(spectral_radius(matrix)), float(largest_singular_value(matrix))
    rows = "; ".join(" ".join(f"{x:g}" for x in row) for row in matrix)
    return Finding(
        "holds" if np.isclose(largest, singular) else "false",
        f"[{rows}] is diagonalisable; its largest eigenvalue is {largest:.2f}, its largest "
        f"singular value {singular:.2f}.",
        {"eigenvalue": largest, "singular value": singular},
    )
