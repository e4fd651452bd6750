"""Naive forecasts, which a network has to beat.

    persistence       ŷ_{t+k} = y_t
    seasonal naive    ŷ_{t+k} = y_{t+k-s⌈k/s⌉}

with s the steps of a season: the latest known value a whole number of seasons earlier. Persistence
is the seasonal naive forecast with s = 1. Both may look at what came before the part that they are
evaluated on. Quantiles are the forecast plus the quantiles of its own errors on the training part.

Source: Hyndman and Athanasopoulos (2021), Forecasting: principles and practice, section 5.2.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...data import Batch
from ...data.artefact_checks import kept_numbers
from ...data.scaling import Scaler
from ...errors import BadInput
from ..metrics import Metric, counted, values_of
from ..target_codec import TargetCodec
from ..windows import Stream

Forecasts = dict[str, np.ndarray]


def naive(
    values: np.ndarray, horizon: int, season: int = 1, cut: slice | None = None
) -> np.ndarray:
    """The naive forecasts of a series without gaps.

    Where there is no value a season earlier, it is the last value.

    Args:
        values: `(T, columns)`.
        horizon: steps to forecast.
        season: steps of a season.
        cut: the steps at which forecasts are made; all of them by default.

    Returns:
        The forecast made at each step, `(steps, horizon * columns)`, ordered by time, then by
        column.

    Example:
        >>> naive(np.array([[1.0], [2.0], [3.0], [4.0]]), horizon=3, season=2).tolist()
        [[1.0, 1.0, 1.0], [1.0, 2.0, 1.0], [2.0, 3.0, 2.0], [3.0, 4.0, 3.0]]
    """
    now = np.arange(len(values))[cut or slice(None)]
    columns = []
    for k in range(1, horizon + 1):
        earlier = now + k - season * -(-k // season)
        columns.append(values[np.where(earlier < 0, now, earlier)])
    return np.concatenate(columns, axis=1)


def filled(values: np.ndarray, means: np.ndarray) -> np.ndarray:
    """A series `(T, columns)` with the last known value in place of missing ones, or the mean.

    Example:
        >>> filled(np.array([[np.nan], [2.0], [np.nan]]), np.array([5.0])).ravel().tolist()
        [5.0, 2.0, 2.0]
    """
    there = ~np.isnan(values)
    last = np.maximum.accumulate(np.where(there, np.arange(len(values))[:, None], -1))
    known = np.take_along_axis(values, np.maximum(last, 0), axis=0)
    return np.where(last < 0, means, known)


def forecasts(
    xs: list[np.ndarray],
    cuts: list[slice],
    columns: list[int],
    horizon: int,
    seasons: Mapping[str, int],
    scaler: Scaler,
) -> Forecasts:
    """The naive forecasts of one part of all series, scaled, with a row for each of its targets.

    Args:
        xs: the series, each `(T, all columns)`.
        cuts: the steps of the part, for each series.
        columns: those to forecast.
        horizon: steps to forecast.
        seasons: the steps of a season, by the name of the forecast.
        scaler: of all columns.
    """
    shift, factor, means = (
        np.array(x)[columns] for x in (scaler.shift, scaler.factor, scaler.means)
    )
    whole = [(filled(x[:, columns], means) - shift) / factor for x in xs]
    return {
        name: np.concatenate(
            [
                naive(x, horizon, steps, slice(cut.start, max(cut.stop - horizon, cut.start)))
                for x, cut in zip(whole, cuts, strict=True)
            ]
        )
        for name, steps in seasons.items()
    }


def errors(made: Forecasts, stream: Stream, levels: tuple[float, ...]) -> dict[str, list]:
    """The quantiles of the errors of naive forecasts, `(targets, levels)`, as lists."""
    return {
        name: np.quantile((stream.targets - forecast)[stream.there], levels, axis=0).T.tolist()
        for name, forecast in made.items()
    }


def check_errors(kept: Any, answers: TargetCodec) -> None:
    """Raise `BadInput` for what a run folder holds that is not what `errors` returned."""
    if not isinstance(kept, dict):
        raise BadInput("its errors of naive forecasts are not an object")
    for rows in kept.values():
        if answers.scaler is None or not answers.levels:
            raise BadInput("it has errors of naive forecasts, but no quantiles")
        if not isinstance(rows, list) or len(rows) != len(answers.scaler.shift):
            raise BadInput("its errors of naive forecasts are not one row per target")
        for row in rows:
            kept_numbers(row, "errors of naive forecasts", len(answers.levels))


def scores(
    made: Forecasts, stream: Stream, metric: Metric, wrong: Mapping[str, list]
) -> dict[str, float]:
    """The metric of naive forecasts.

    Args:
        made: the forecasts, by name.
        stream: the part that they are of.
        metric: the metric.
        wrong: what `errors` returned for the training part; empty if no quantiles are wanted.
    """
    if not stream.there.any():
        return {}
    batch = Batch(None, stream.targets[:, None], stream.there.astype(float)[:, None])
    values = {}
    for name, outputs in made.items():
        if name in wrong:
            outputs = (outputs[..., None] + np.array(wrong[name], float)).reshape(len(outputs), -1)
        (value,) = values_of((metric,), [counted((metric,), outputs[:, None], batch)])
        if value is not None:
            values[name] = value
    return values
