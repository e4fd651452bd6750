"""One recurrent unit: the contribution of an input over time."""

from typing import Any

import numpy as np

from ..lens import toy_contribution
from ._claim import Claim, Falsehood, Finding

STEPS = 100
UNITS = {"linear": "identity", "ReLU": "relu", "tanh": "tanh"}


def check(
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


CLAIM = Claim(
    "toy-net",
    "With one recurrent unit and no later input, the contribution of an input vanishes where "
    "|w| < 1 and explodes where |w| > 1, exponentially fast.",
    "Lipton et al. (2015), section 3.2 and figs. 7-8",
    "holds when the unit is linear, or an active ReLU, and |w| ≠ 1",
    check,
    Falsehood(
        "tanh in place of the linear unit and of the ReLU",
        {"units": dict.fromkeys(UNITS, "tanh")},
        "false",
    ),
)
