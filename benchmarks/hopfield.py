"""How many random patterns a Hopfield network recalls: the capacity curve, with its spread.

    python benchmarks/hopfield.py [UNITS ...]

Patterns are stored by Hebb's rule, and each is recalled from itself, one unit at a time. A pattern
counts as recalled if at most 2.5 % of its bits are wrong.
"""

import sys

import numpy as np

from measure import publish, table
from ostinato.symbolic import capacity

LOADS = (0.05, 0.08, 0.10, 0.12, 0.13, 0.14, 0.15, 0.16, 0.18, 0.20)
NETWORKS = 10


def main():
    sizes = [int(x) for x in sys.argv[1:]] or [250, 500, 1000]
    curves = {n: capacity(n, LOADS, networks=NETWORKS) for n in sizes}
    rows = [
        [f"{load:.2f}"]
        + [
            f"{found.recalled[i].mean():.1%} ± {found.recalled[i].std():.1%}"
            f" (least {found.recalled[i].min():.1%})"
            for found in curves.values()
        ]
        for i, load in enumerate(LOADS)
    ]
    halves = ", ".join(
        f"{np.interp(-0.5, -found.recalled.mean(axis=1), LOADS):.3f} with {n:,} units"
        for n, found in curves.items()
    )
    publish(
        "Capacity of Hopfield networks",
        f"Patterns recalled, mean and standard deviation over {NETWORKS} networks with 40 patterns "
        f"probed in each, by patterns per unit:\n\n"
        f"{table(['patterns per unit', *(f'{n:,} units' for n in sizes)], rows)}\n\n"
        f"Half of the patterns are lost at {halves}. In the limit of large networks the collapse "
        "is at 0.138 (Amit, Gutfreund and Sompolinsky, 1985).",
    )


if __name__ == "__main__":
    main()
