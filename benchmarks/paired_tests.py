"""The tests of `ostinato contrast` on simulated results: false positives, and power.

    python benchmarks/paired_tests.py

Four entries with the same seeds, so six comparisons. The result of an entry with a seed is a part
that all entries share plus noise of its own, of standard deviation 1/√2, so that differences have
standard deviation 1. In the second table one of the entries is better by some of those.
"""

import itertools

import numpy as np
from scipy import stats

from measure import publish, table
from ostinato.contrast.statistics import LEVEL, holm, power

FAMILIES = 20_000
ENTRIES = 4
PAIRS = list(itertools.combinations(range(ENTRIES), 2))
SEEDS = (3, 5, 10)
NOISES = {
    "normal": lambda rng, size: rng.normal(size=size),
    "skewed (exponential)": lambda rng, size: rng.exponential(size=size),
    "heavy-tailed (t, 3 degrees)": lambda rng, size: rng.standard_t(3, size=size) / np.sqrt(3),
}


def p_values(rng, noise, seeds, effect=0.0):
    """P-values of the t-test and the sign-flip test, each `(families, pairs)`."""
    own = NOISES[noise](rng, (FAMILIES, ENTRIES, seeds)) / np.sqrt(2)
    own[:, 0] -= effect
    differences = np.stack([own[:, i] - own[:, j] for i, j in PAIRS], axis=1)
    tests = stats.ttest_1samp(differences, 0, axis=-1).pvalue
    signs = np.array(list(itertools.product([1, -1], repeat=seeds)))
    count = np.zeros(tests.shape)
    observed = np.abs(differences.sum(axis=-1))
    for row in signs:
        count += np.abs(differences @ row) >= observed * (1 - 1e-9)
    return tests, count / len(signs)


def corrected(p):
    return np.array([holm(row) for row in p])


def false_positives(rng):
    rows = []
    for noise, seeds in itertools.product(NOISES, SEEDS):
        tests, flips = p_values(rng, noise, seeds)
        adjusted = corrected(tests)
        rows.append(
            [
                noise,
                f"{seeds}",
                f"{np.mean(tests < LEVEL):.1%}",
                f"{np.mean(np.any(tests < LEVEL, axis=1)):.1%}",
                f"{np.mean(np.any(adjusted < LEVEL, axis=1)):.1%}",
                f"{np.mean(flips < LEVEL):.1%}",
            ]
        )
    head = ["noise", "seeds", "one t-test", "any of six", "any of six, Holm", "one sign flip"]
    return table(head, rows)


def powers(rng):
    rows = []
    for seeds, effect in itertools.product(SEEDS, (0.5, 1.0, 2.0, 4.0)):
        tests, flips = p_values(rng, "normal", seeds, effect)
        adjusted = corrected(tests)
        rows.append(
            [
                f"{seeds}",
                f"{effect:g}",
                f"{np.mean(tests[:, 0] < LEVEL):.1%}",
                f"{power(effect, seeds):.1%}",
                f"{np.mean(adjusted[:, 0] < LEVEL):.1%}",
                f"{power(effect, seeds, len(PAIRS)):.1%}",
                f"{np.mean(flips[:, 0] < LEVEL):.1%}",
            ]
        )
    head = ["seeds", "difference", "t-test", "computed", "Holm", "computed", "sign flip"]
    return table(head, rows)


def main():
    rng = np.random.default_rng(0)
    publish(
        "Tests of `ostinato contrast` on simulated results",
        f"False positives at a level of {LEVEL:.0%}, among {FAMILIES:,} simulated contrasts of "
        f"{ENTRIES} equal entries:\n\n{false_positives(rng)}\n\n"
        "Power: how often the difference between the better entry and another is found, by its "
        "size in standard deviations of the differences. Computed: by `power`, with Holm's method "
        f"as if its smallest p-value decided.\n\n{powers(rng)}",
    )


if __name__ == "__main__":
    main()
