"""Conformal calibration: intervals widened, or narrowed, by what the validation part shows.

For each step ahead and each target column, on the n forecasts of the validation part:

    with quantiles        E_i = max(o_low - y_i, y_i - o_high)     the interval becomes
                                                                   [o_low - Q, o_high + Q]
    without quantiles     E_i = |y_i - ŷ_i|                        the interval is [ŷ - Q, ŷ + Q]

with Q the ⌈(n + 1) c⌉-th smallest E_i, and c the share that the interval should cover. The first is
conformalised quantile regression, Romano, Patterson and Candès (2019), the second split conformal
prediction, Lei et al. (2018). With several levels, lowest and highest make a pair, the second
lowest and the second highest the next, and each pair has a Q of its own; an outer interval is never
narrower than an inner one, and none is narrower than its middle.

What is guaranteed: if the E of a new forecast and those of the validation part are exchangeable,
the interval covers the new value with a probability of at least c, whatever the network is, and of
at most c + 1 / (n + 1) where no two E are equal. Two things weaken this. The steps of a series
follow one another, so a series that changes after the validation part breaks it; and the checkpoint
was chosen on the validation part, whose errors are therefore a little smaller than those of new
data. The guarantee is on average over new data, not for each series or each occasion.
"""

import dataclasses
import math
from typing import Any

import numpy as np

from ...data.artefact_checks import kept_numbers, kept_object
from ...errors import BadInput
from .forecast_scores import Hindcasts, Levels


@dataclasses.dataclass(frozen=True)
class Conformal:
    """How far each bound of the intervals is moved outwards.

    Attributes:
        levels: of the calibrated forecasts; `None` is the mean.
        moved: `(horizon, targets, pairs)`, Q in the units of the data, the outermost pair first.

    Example:
        >>> wider = Conformal((0.1, 0.5, 0.9), np.array([[[2.0]]]))
        >>> wider(np.array([[[[3.0, 4.0, 6.0]]]])).ravel().tolist()
        [1.0, 4.0, 8.0]
        >>> around = Conformal((0.1, None, 0.9), np.array([[[2.0]]]))
        >>> around(np.array([[[[4.0]]]])).ravel().tolist()
        [2.0, 4.0, 6.0]
    """

    levels: Levels
    moved: np.ndarray

    def __call__(self, forecasts: np.ndarray) -> np.ndarray:
        """Forecasts `(..., horizon, targets, levels of the network)` with calibrated intervals."""
        return _moved(_spread(forecasts, self.levels), self.moved)

    def as_json(self) -> dict[str, Any]:
        flat = self.moved.reshape(len(self.moved), -1)
        return {"levels": list(self.levels), "moved": flat.tolist()}

    @classmethod
    def from_json(cls, kept: Any, horizon: int, targets: int, levels: Levels | None) -> "Conformal":
        """The inverse of `as_json`, with validation; `levels` are those of quantiles, if any."""
        kept_object(kept, "calibration", ["levels", "moved"])
        own, rows = kept["levels"], kept["moved"]
        if levels is not None:
            good = own == list(levels)
        else:
            good = isinstance(own, list) and len(own) == 3 and own[1] is None
            good = good and 0 < kept_numbers(own[::2], "levels of intervals", 2)[0] < own[2] < 1
        if not good or not isinstance(rows, list) or len(rows) != horizon:
            raise BadInput("its calibration is not of its forecasts")
        pairs = len(own) // 2
        moved = [kept_numbers(row, "calibration", targets * pairs) for row in rows]
        return cls(tuple(own), np.array(moved, float).reshape(horizon, targets, pairs))


def _spread(forecasts: np.ndarray, levels: Levels) -> np.ndarray:
    """Forecasts with all levels: a point forecast stands for the whole interval around it."""
    return np.repeat(forecasts, 3, axis=-1) if None in levels else forecasts


def _moved(values: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Values `(..., levels)` with each pair moved outwards, an outer one never inside an inner."""
    count = values.shape[-1]
    pairs = count // 2
    low, high = values[..., :pairs] - moved, values[..., ::-1][..., :pairs] + moved
    middle = values[..., pairs : count - pairs]
    if not middle.shape[-1]:
        middle = (low[..., -1:] + high[..., -1:]) / 2
    inside_out = np.concatenate([middle, low[..., ::-1]], axis=-1)
    lows = np.minimum.accumulate(inside_out, axis=-1)[..., :0:-1]
    inside_out = np.concatenate([middle, high[..., ::-1]], axis=-1)
    highs = np.maximum.accumulate(inside_out, axis=-1)[..., 1:]
    return np.concatenate([lows, values[..., pairs : count - pairs], highs], axis=-1)


def calibrated(made: Hindcasts, coverage: float) -> Conformal:
    """The calibration of forecasts by what came.

    Args:
        made: the forecasts of the validation part, not calibrated.
        coverage: of the intervals, where the forecasts have no quantiles.

    Example:
        >>> came = np.arange(9.0).reshape(9, 1, 1)
        >>> made = Hindcasts((None,), np.zeros((9, 1, 1, 1)), came, np.zeros(9, int), came[:, 0])
        >>> calibrated(made, 0.8).moved.ravel().tolist()
        [7.0]
    """
    levels = interval_levels(made.levels, coverage)
    values, pairs = _spread(made.forecasts, levels), len(levels) // 2
    low, high = values[..., :pairs], values[..., ::-1][..., :pairs]
    came = made.came[..., None]
    scores = np.maximum(low - came, came - high)
    moved = np.empty(scores.shape[1:])
    for place in np.ndindex(moved.shape):
        known = scores[(slice(None), *place)]
        known = np.sort(known[~np.isnan(known)])
        rank = rank_of(len(known), _share(levels, place[-1]))
        moved[place] = known[rank - 1]
    return Conformal(levels, moved)


def interval_levels(levels: Levels, coverage: float) -> Levels:
    """The levels of calibrated forecasts: those of the quantiles, or an interval and the mean."""
    if None not in levels:
        return levels
    tail = round((1 - coverage) / 2, 12)
    return (tail, None, round(1 - tail, 12))


def _share(levels: Levels, pair: int) -> float:
    """What the interval of a pair should cover."""
    low, high = levels[pair], levels[-1 - pair]
    assert low is not None and high is not None
    return high - low


def rank_of(count: int, share: float) -> int:
    """`⌈(n + 1) c⌉`: which of the sorted scores to take."""
    return math.ceil(round((count + 1) * share, 9))  # 0.9 - 0.1 is a little more than 0.8


def check_enough(count: int, levels: Levels | None, coverage: float) -> None:
    """Refuse a validation part that is too small to calibrate intervals on.

    Args:
        count: the forecasts of the validation part.
        levels: of the quantiles, if there are any.
        coverage: of the intervals, if there are no quantiles.
    """
    if levels is not None and len(levels) < 2:
        raise BadInput(
            "conformal calibrates intervals, and one quantile is none; name two or more, or leave "
            "quantiles out"
        )
    share = _share(interval_levels(levels or (None,), coverage), 0)
    if not count:
        raise BadInput(
            "conformal calibrates on the validation part, and there is none; give it a share, as "
            "in split 70/20/10"
        )
    if rank_of(count, share) > count:
        needed = next(n for n in range(count, 10**6) if rank_of(n, share) <= n)
        raise BadInput(
            f"conformal intervals that cover {share:g} need at least {needed} validation targets, "
            f"and there are {count}; give validation a larger share, or take a lower coverage"
        )
