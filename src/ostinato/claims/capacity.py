"""The most that can be had: accuracy on temporal XOR, and patterns in a Hopfield network."""

import itertools
from collections import Counter
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Hopfield
from ..errors import BadInput
from ..symbolic import recall
from ..symbolic.hopfield import RECALLED
from ..tasks.synthetic.xor import Xor
from .claim import Falsehood, Finding, Theme

THEME = Theme()

TRIPLES = 3


@THEME.claim(
    "On temporal XOR a perfect system guesses the first two bits of a triple and knows the third: "
    "66.7 % of all bits.",
    "Lipton et al. (2015), section 3.1, on Elman (1990)",
    "holds",
    Falsehood("three free bits before each XOR instead of two", {"free": 3}, "false"),
)
def xor_ceiling(free: int = 2) -> Finding:
    """Predict the more frequent next bit after every prefix; `free` bits before each XOR."""
    groups = [(*bits, sum(bits) % 2) for bits in itertools.product((0, 1), repeat=free)]
    sequences = [sum(chosen, ()) for chosen in itertools.product(groups, repeat=TRIPLES)]
    length = (free + 1) * TRIPLES
    right = 0
    for t in range(length):
        follows = Counter((s[:t], s[t]) for s in sequences)
        right += sum(max(follows[begin, 0], follows[begin, 1]) for begin in {b for b, _ in follows})
    best = right / (length * len(sequences))
    task = Xor(length=length).ceiling
    return Finding(
        "holds" if abs(best - 2 / 3) < 1e-12 else "false",
        f"over all {len(sequences)} sequences of {TRIPLES} triples the best prediction of every "
        f"bit from those before it is right for {best:.1%} of them (the task's ceiling is "
        f"{task:.1%}).",
        {"best": best, "ceiling of the task": float(task)},
    )


NETWORKS = {100: 16, 200: 10, 400: 6}  # by the number of units
LOADS = np.arange(0.12, 0.4, 0.02)
PROBED = 12
KNOWN, WITHIN = 0.138, 0.02


def recalled(units: int, unlearning: float) -> list[float]:
    """The fraction of patterns that are recalled from themselves, by load, until hardly any is."""
    fractions: list[float] = []
    empty = Hopfield(units, units, key=jax.random.key(0))
    for load in LOADS:
        right = []
        for network in range(NETWORKS[units]):
            rng = np.random.default_rng([units, round(100 * load), network])
            patterns = rng.choice([-1.0, 1.0], (round(load * units), units))
            C = patterns @ patterns.T / units
            mixed = np.linalg.inv(np.eye(len(C)) + unlearning * C)
            R = (1 + unlearning) * patterns.T @ mixed @ patterns / units
            cell = eqx.tree_at(lambda cell: cell.R, empty, jnp.asarray(R, empty.R.dtype))
            ends = recall(cell, patterns[:PROBED], key=jax.random.key(network))
            overlaps = np.mean(np.asarray(ends) * patterns[:PROBED], axis=1)
            right.append(np.mean(overlaps >= RECALLED))
        fractions.append(float(np.mean(right)))
        if fractions[-1] < 0.3:
            break
    return fractions


def half(curve: list[float]) -> float:
    """The load at which a curve first falls below one half."""
    after = int(np.argmax(np.array(curve) < 0.5))
    if after == 0:
        raise BadInput("recall must begin above one half, and fall below it")
    at = slice(after - 1, after + 1)
    return float(np.interp(-0.5, -np.array(curve[at]), LOADS[at]))


@THEME.claim(
    "A Hopfield network of N units that stores random patterns by Hebb's rule recalls them up to "
    "about 0.138 N patterns; beyond that, recall collapses.",
    "Amit, Gutfreund and Sompolinsky (1985), on Hopfield (1982), who estimates 0.15 N",
    "holds",
    Falsehood(
        "weights between Hebb's rule and the pseudo-inverse, which collapse near 0.2 N",
        {"unlearning": 0.2},
        "false",
    ),
)
def hopfield_capacity(unlearning: float = 0.0) -> Finding:
    """Locate the load at which half of the patterns are recalled, and where it goes with N.

    In a finite network the collapse is gradual, and later; the load is extrapolated to N = ∞ along
    a straight line in 1/√N. `unlearning`, t, makes `R = (1 + t) Ξᵀ (1 + t C)⁻¹ Ξ / N` of Hebb's
    rule, C the overlaps of the patterns, which holds more (Fachechi, Agliari and Barra, 2019).
    """
    curves = {units: recalled(units, unlearning) for units in NETWORKS}
    halves = np.array([half(curve) for curve in curves.values()])
    slope, limit = np.polyfit(np.array([*NETWORKS]) ** -0.5, halves, 1)

    def draw(axes: Any) -> None:
        for units, curve in curves.items():
            axes.plot(LOADS[: len(curve)], curve, marker="o", label=f"{units} units")
        axes.axvline(KNOWN, color="0.5", linestyle=":", label=f"{KNOWN:g}")
        axes.set(xlabel="patterns per unit", ylabel="fraction of patterns recalled")
        axes.legend()

    loads = ", ".join(f"{x:.3f} with {units}" for units, x in zip(NETWORKS, halves, strict=True))
    return Finding(
        "holds" if abs(limit - KNOWN) < WITHIN else "false",
        f"half of the patterns are recalled at {loads} units, which leads to {limit:.3f} patterns "
        f"per unit for infinitely many.",
        {"collapse at": float(limit), "slope in 1/√N": float(slope)}
        | {f"half at, {units} units": float(x) for units, x in zip(NETWORKS, halves, strict=True)},
        draw,
    )
