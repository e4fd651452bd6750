"""How many patterns a Hopfield network holds."""

from typing import Any

import numpy as np

from ..symbolic import capacity
from ._claim import Claim, Finding

LOADS = (0.08, 0.10, 0.12, 0.14, 0.17, 0.20, 0.23)


def check(rule: str = "hebb", sizes: tuple[int, int] = (200, 600)) -> Finding:
    """Store more and more random patterns in a small and a large network, and recall them.

    In a finite network the collapse is gradual. It is at about 0.138 if nearly everything is
    recalled below that and hardly anything above, the more so the larger the network is.
    """
    curves = {n: capacity(n, LOADS, rule=rule, networks=2, probed=20).recalled for n in sizes}
    mean = {n: recalled.mean(axis=1) for n, recalled in curves.items()}
    small, large = (mean[n] for n in sizes)
    below, above = large[LOADS.index(0.12)], large[-1]
    holds = large[:2].min() > 0.99 and below > 0.9 and above < 0.1 and above < small[-1]

    def draw(axes: Any) -> None:
        for n, recalled in curves.items():
            spread = recalled.std(axis=1)
            axes.errorbar(LOADS, mean[n], spread, marker="o", capsize=3, label=f"{n} units")
        axes.axvline(0.138, color="0.5", linestyle=":", label="0.138")
        axes.set(xlabel="patterns per unit", ylabel="fraction of patterns recalled")
        axes.legend()

    return Finding(
        "holds" if holds else "false",
        f"with {sizes[1]} units {large[1]:.0%} of the patterns are recalled at 0.1 per unit, "
        f"{below:.0%} at 0.12 and {above:.0%} at {LOADS[-1]:g}, where a network of "
        f"{sizes[0]} units still recalls {small[-1]:.0%}.",
        {
            f"{n} units, {load:g} per unit": float(x)
            for n in sizes
            for load, x in zip(LOADS, np.asarray(mean[n]), strict=True)
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
