"""Faults of forecasts: worse than a naive one, and intervals that cover too little or too much."""

import math

from .evidence import Evidence, Finding, Forecasts, again
from .rules_for_training import ENOUGH, falls, less_memorising

OFF = 0.05  # by which a coverage may differ, however sure it is
CHANCE = 0.001  # of an alarm about intervals that are right


def worse_than_naive(e: Evidence) -> Finding | None:
    """A naive forecast, which repeats what came, that is better than the network."""
    values = e.history.validations
    if e.forecasts is None or not e.forecasts.naive or not values:
        return None
    if len(e.history.losses) < ENOUGH:
        return None
    pick = max if e.goal.higher_is_better else min
    best = pick(value for _, value in values)
    name, naive = pick(e.forecasts.naive.items(), key=lambda pair: pair[1])
    if pick(best, naive) == best:
        return None
    learned = e.network is not None and pick(e.network.score, naive) == e.network.score
    more = again(e.settings, steps=5 * max(1, e.history.steps[-1]))
    return Finding(
        "worse than naive",
        "A naive forecast is better than the network.",
        f"{e.goal.metric} on the validation part: {best:.4g} at best, and {name} reaches "
        f"{naive:.4g}.",
        less_memorising(e) if learned and not falls(e.history.losses) else more,
    )


def intervals_too_narrow(e: Evidence) -> Finding | None:
    """Intervals that cover less than they should, by more than chance explains."""
    forecasts = e.forecasts
    if forecasts is None or not _off(forecasts, -1):
        return None
    return Finding(
        "intervals too narrow",
        "The network is too sure of itself: its intervals cover too little.",
        _evidence(forecasts),
        again(e.settings, conformal=True),
    )


def intervals_too_wide(e: Evidence) -> Finding | None:
    """Intervals that cover more than they should, by more than chance explains."""
    forecasts = e.forecasts
    if forecasts is None or not _off(forecasts, 1):
        return None
    return Finding(
        "intervals too wide",
        "The network is not sure enough: its intervals cover too much.",
        _evidence(forecasts),
        again(e.settings, conformal=True),
    )


def _off(forecasts: Forecasts, side: int) -> bool:
    """Whether the coverage is off to one side, and hardly by chance."""
    intended, covered, count = forecasts.intended, forecasts.covered, forecasts.apart
    if intended is None or covered is None or side * (covered - intended) < OFF:
        return False
    return tail(count, intended, covered * count, side) < CHANCE


def tail(count: int, share: float, inside: float, side: int) -> float:
    """The probability that at most (side -1), or at least (side 1), so many of `count` are inside.

    It is that of a binomial distribution, `Σ C(n, k) c^k (1 - c)^(n-k)`.

    Example:
        >>> round(tail(10, 0.8, 5, -1), 4)
        0.0328
    """
    at = math.floor(inside + 1e-9) if side < 0 else math.ceil(inside - 1e-9)
    ks = range(at + 1) if side < 0 else range(at, count + 1)
    logs = (
        math.lgamma(count + 1)
        - math.lgamma(k + 1)
        - math.lgamma(count - k + 1)
        + k * math.log(share)
        + (count - k) * math.log1p(-share)
        for k in ks
    )
    return min(1.0, math.fsum(map(math.exp, logs)))


def _evidence(forecasts: Forecasts) -> str:
    return (
        f"{forecasts.covered:.0%} of the validation targets lie in the interval that should cover "
        f"{forecasts.intended:.0%}, over {forecasts.apart:,} forecasts that do not overlap."
    )
