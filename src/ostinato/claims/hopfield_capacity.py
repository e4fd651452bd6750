"""How many patterns a Hopfield network holds."""

from typing import Any

import numpy as np

from ..symbolic import capacity
from ._claim import Claim, Finding

LOADS = (0.06, 0.08, 0.10, 0.12, 0.14, 0.16, 0.18, 0.20)


def check(rule: str = "hebb", units: int = 400) -> Finding:
    """Store more and more random patterns, and recall each one from itself."""
    found = capacity(units, LOADS, rule=rule, networks=3, probed=20)
    mean, spread = found.recalled.mean(axis=1), found.recalled.std(axis=1)
    below = float(found.recalled[found.loads <= 0.1].mean())
    # In a finite network the collapse is gradual; it lies where half of the patterns are left.
    falls = bool(mean[-1] < 0.5)
    half = float(np.interp(-0.5, -mean, found.loads)) if falls else np.inf
    holds = below > 0.99 and 0.12 < half < 0.18

    def draw(axes: Any) -> None:
        axes.errorbar(found.loads, mean, spread, marker="o", capsize=3, label=f"{units} units")
        axes.axvline(0.138, color="0.5", linestyle=":", label="0.138")
        axes.set(xlabel="patterns per unit", ylabel="fraction of patterns recalled")
        axes.legend()

    return Finding(
        "holds" if holds else "false",
        f"of random patterns in networks of {units} units {below:.1%} are recalled at up to 0.1 "
        f"patterns per unit and {mean[-1]:.0%} at {LOADS[-1]:g}; "
        + (f"half of them are lost at {half:.3f}." if falls else "there is no collapse."),
        {
            "recalled at up to 0.1 per unit": below,
            **{f"recalled at {load:g}": float(x) for load, x in zip(LOADS, mean, strict=True)},
        },
        draw,
    )


CLAIM = Claim(
    "hopfield-capacity",
    "A Hopfield network of N units that stores random patterns by Hebb's rule recalls them up to "
    "about 0.138 N patterns; beyond that, recall collapses.",
    "Amit, Gutfreund and Sompolinsky (1985), on Hopfield (1982), who estimates 0.15 N",
    "holds",
    check,
)
