"""Statistics of runs that differ only in their seed, paired by it.

All entries of a contrast are trained with the same seeds, and a seed determines the order of the
data, so the results of two entries are compared seed by seed. With differences d_1 … d_n,

    t = mean(d) / (sd(d) / √n)

has Student's t distribution with n - 1 degrees of freedom if the differences are independent and
normal with mean zero (the paired t-test, Student 1908). The test assumes nothing about the spread
of the entries themselves. An exact sign-flip permutation test assumes only that the differences are
symmetric around zero, but with n seeds its p-value is at least 2 / 2ⁿ: with five seeds 1/16, so it
can never reach 5 %. Two entries are called different only if both tests, each corrected for the
number of comparisons, say so: the t-test alone would call 0.0499 from two seeds a difference.
`seeds_needed` says how many seeds that takes at least.

The interval of a mean is computed where the metric has no bounds: of an accuracy on the scale of
its logit, of an error on that of its logarithm (the delta method). So it never leaves them.

With many comparisons some are significant by chance. `holm` corrects for that: the probability that
any of the equal pairs is called different stays below the level, however the tests depend on each
other (Holm 1979).
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from ..errors import BadInput

LEVEL = 0.05
MAX_FLIPS = 16  # with more seeds, signs are flipped at random
QUANTILES = 4000


@dataclasses.dataclass(frozen=True)
class Summary:
    """Mean, standard deviation and 95 % confidence interval of the mean; `None` if unknown."""

    seeds: int
    mean: float
    sd: float | None
    low: float | None
    high: float | None


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Two entries, compared seed by seed.

    Attributes:
        one, other: their names.
        difference: the mean of one minus other.
        low, high: the 95 % confidence interval of the difference, not corrected.
        p: of the paired t-test, two-sided.
        adjusted: p, corrected for the number of comparisons (Holm).
        sign_flip: of the exact permutation test, two-sided and not corrected.
        different: whether both p-values, each corrected, are below `LEVEL`.
    """

    one: str
    other: str
    difference: float
    low: float
    high: float
    p: float
    adjusted: float
    sign_flip: float
    different: bool


Bounds = tuple[float, float]
UNBOUNDED = (-math.inf, math.inf)


def summary(values: Sequence[float], bounds: Bounds = UNBOUNDED) -> Summary:
    """The mean of a sample, its standard deviation and a 95 % confidence interval.

    The interval is `mean ± t sd / √n`, with t the 97.5 % point of Student's t distribution, and
    within the bounds of the values if they have some; see `within`.

    Example:
        >>> spread = summary([1.0, 2.0, 3.0])
        >>> spread.mean, spread.sd, round(spread.low, 3)
        (2.0, 1.0, -0.484)
    """
    count, mean = len(values), float(np.mean(values))
    if count < 2:
        return Summary(count, mean, None, None, None)
    sd = float(np.std(values, ddof=1))
    half = float(stats.t.ppf(1 - LEVEL / 2, count - 1)) * sd / math.sqrt(count)
    return Summary(count, mean, sd, *within(mean, half, bounds))


def within(mean: float, half: float, bounds: Bounds) -> tuple[float, float]:
    """The interval `mean ± half`, computed on a scale that ends at the bounds.

    With `g(x) = log((x - low) / (high - x))`, or the logarithm of the distance from the only bound,
    it is all x with `|g(x) - g(mean)| ≤ g'(mean) half`.

    Example:
        >>> [round(x, 3) for x in within(0.9, 0.4, (0.0, 1.0))]
        [0.096, 0.999]
    """
    low, high = bounds
    above, below = mean - low, high - mean
    if min(above, below) <= 0:  # all values lie at the bound
        return mean, mean
    if math.isinf(above) and math.isinf(below):
        return mean - half, mean + half
    ratio = math.exp(half / above + half / below)
    if math.isinf(below):
        return low + above / ratio, low + above * ratio
    if math.isinf(above):
        return high - below * ratio, high - below / ratio
    width = above + below
    return low + above * width / (above + below * ratio), high - below * width / (
        below + above * ratio
    )


def paired_t(one: Sequence[float], other: Sequence[float]) -> float:
    """The two-sided p-value of the paired t-test.

    Differences that are all equal have no spread to compare with: then it is that of `sign_flip`.

    Example:
        >>> round(paired_t([1.0, 2.0, 3.0, 4.0], [1.5, 2.25, 3.75, 4.5]), 4)
        0.0163
    """
    differences = _differences(one, other)
    if np.ptp(differences) <= 1e-12 * np.max(np.abs([one, other]), initial=1e-300):
        return sign_flip(one, other)
    return float(stats.ttest_1samp(differences, 0.0).pvalue)


def sign_flip(one: Sequence[float], other: Sequence[float]) -> float:
    """The two-sided p-value of the sign-flip permutation test of paired samples.

    It is the share of all 2ⁿ choices of signs for the differences whose mean is at least as far
    from zero as the observed one; with more than 16 seeds, of 2¹⁶ random choices.

    Example:
        >>> sign_flip([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 4.0, 7.0, 6.0])
        0.0625
    """
    differences = _differences(one, other)
    count = len(differences)
    if count <= MAX_FLIPS:
        bits = np.arange(2**count)[:, None] >> np.arange(count) & 1
    else:
        bits = np.random.default_rng(0).integers(2, size=(2**MAX_FLIPS, count))
        bits[0] = 0  # the observed signs
    means = np.abs((1 - 2 * bits) @ differences)
    return float(np.mean(means >= means[0] * (1 - 1e-9)))  # equal means differ by rounding


def holm(values: Sequence[float]) -> list[float]:
    """P-values corrected for their number (Holm 1979).

    The smallest of m is multiplied by m, the next by m - 1, and so on; none may be smaller than the
    one before, and none is larger than 1.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    corrected, floor = [0.0] * len(values), 0.0
    for rank, place in enumerate(np.argsort(values, kind="stable")):
        floor = max(floor, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = floor
    return corrected


def seeds_needed(comparisons: int) -> int:
    """The least number of seeds with which the sign-flip test can find a difference.

    Example:
        >>> seeds_needed(1), seeds_needed(3)
        (6, 7)
    """
    return 2 + math.floor(math.log2(comparisons / LEVEL))


def compare(
    groups: Sequence[Mapping[str, Sequence[float]]], bounds: Sequence[Bounds] | None = None
) -> list[list[Comparison]]:
    """All pairs of entries within each group, corrected for the number of all of them together.

    Args:
        groups: the results of each entry by seed, in the same order of seeds; one group per task.
        bounds: of the values of each group, if they have some.

    Example:
        >>> results = {"lstm": [2.1, 2.2, 2.15], "gru": [2.3, 2.41, 2.34]}
        >>> [[one]] = compare([results])
        >>> one.other, round(one.difference, 2), one.p < 0.01, one.adjusted == one.p
        ('gru', -0.2, True, True)
    """
    raw = []
    for number, group in enumerate(groups):
        low, high = UNBOUNDED if bounds is None else bounds[number]
        for (one, a), (other, b) in combinations(group.items(), 2):
            middle = summary(_differences(a, b).tolist(), (low - high, high - low))
            if middle.low is None or middle.high is None:
                raise BadInput("a test needs at least two seeds; give more --seeds")
            row = (one, other, middle.mean, middle.low, middle.high)
            raw.append((number, row, paired_t(a, b), sign_flip(a, b)))
    comparisons: list[list[Comparison]] = [[] for _ in groups]
    corrected = holm([p for *_, p, _ in raw]), holm([flipped for *_, flipped in raw])
    for (number, row, p, flipped), *both in zip(raw, *corrected, strict=True):
        comparisons[number].append(Comparison(*row, p, both[0], flipped, max(both) < LEVEL))
    return comparisons


def power(effect: float, seeds: int, comparisons: int = 1, level: float = LEVEL) -> float:
    """The probability that the paired t-test finds a difference.

    Under the alternative, t has a noncentral t distribution with noncentrality `effect √n`.

    Args:
        effect: the true difference, in standard deviations of the differences.
        seeds: how many pairs.
        comparisons: how many comparisons are corrected for, here by `level / comparisons`
            (Bonferroni), which is what the smallest p-value must pass with Holm's method.
        level: of the test.

    Example:
        >>> round(power(2.0, seeds=5), 2), round(power(2.0, seeds=5, comparisons=6), 2)
        (0.91, 0.5)
    """
    freedom, shift = seeds - 1, effect * math.sqrt(seeds)
    bound = stats.t.ppf(1 - level / comparisons / 2, freedom)
    # The mean over the distribution of the estimated sd; scipy's noncentral t fails far out.
    sds = np.sqrt(stats.chi2.ppf((np.arange(QUANTILES) + 0.5) / QUANTILES, freedom) / freedom)
    above = stats.norm.cdf(shift - bound * sds) + stats.norm.cdf(-shift - bound * sds)
    return float(np.mean(above))


def smallest_effect(seeds: int, comparisons: int = 1) -> float:
    """The smallest difference that is found with a probability of 80 %.

    In standard deviations of the differences; see `power`.

    Example:
        >>> round(smallest_effect(5), 2), round(smallest_effect(10), 2)
        (1.68, 1.0)
    """
    return float(brentq(lambda effect: power(effect, seeds, comparisons) - 0.8, 1e-3, 1e4))


def _differences(one: Sequence[float], other: Sequence[float]) -> np.ndarray:
    return np.asarray(one, float) - np.asarray(other, float)
