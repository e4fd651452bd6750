"""Forecasts of what has already come, beside what came, and how good they are.

With y what came, ŷ the point forecast (the level next to the median, or the mean), o_q the quantile
of the level q, and means over all forecasts, steps ahead and target columns:

    mean absolute error    `mean |y - ŷ|`
    MASE                   `mean |y - ŷ| / s`, with s the mean `|y_t - y_{t-m}|` of the training
                           part of the same series and column, and m the steps of a season, or 1
    sMAPE                  `200 mean |y - ŷ| / (|y| + |ŷ|)`, in percent, from 0 to 200
    CRPS                   `2 mean max(q (y - o_q), (q - 1) (y - o_q))`, also over the levels, where
                           a mean is taken for the level 0.5; of a point forecast alone it is the
                           mean absolute error
    coverage               the fraction of y from the lowest to the highest level, and
    width                  how far these are apart on average

MASE is below 1 for forecasts that are better than the naive ones within the training part are one
season ahead. The continuous ranked probability score is `∫ (F(x) - 1[y ≤ x])² dx = 2 ∫ pinball dq`;
here the integral over q is a mean over the levels, so it depends on them. All but MASE, sMAPE and
coverage are in the units of the data.

Source: Hyndman and Koehler (2006); Makridakis (1993); Gneiting and Raftery (2007).
"""

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from ...cells import Model
from ...data.scaling import Scaler
from ..applying import outputs_through
from .quantiles import interval_name, middle_of, sorted_quantiles

if TYPE_CHECKING:
    from .series import Series

Levels = tuple[float | None, ...]


@dataclasses.dataclass(frozen=True)
class Hindcasts:
    """Forecasts beside what came, in the units of the data.

    Attributes:
        levels: of the quantiles; `None` is the mean.
        forecasts: `(N, horizon, targets, levels)`.
        came: `(N, horizon, targets)`, NaN where it does not count.
        series: `(N,)`, the number of the series that each is of.
        scales: `(N, targets)`, by which MASE divides; NaN where it is unknown or 0.
        calibrated: whether the intervals are; see `conformal`.
        names: of all series; by default they are called by their numbers.

    Example:
        >>> came = np.array([[[2.0]], [[4.0]]])
        >>> ones = np.ones((2, 1))
        >>> made = Hindcasts((0.1, 0.9), came[..., None] + [-1.0, 1.0], came, ones[:, 0], ones)
        >>> made.metrics()["coverage of the 0.8 interval"]
        1.0
    """

    levels: Levels
    forecasts: np.ndarray
    came: np.ndarray
    series: np.ndarray
    scales: np.ndarray
    calibrated: bool = False
    names: tuple[str | int, ...] = ()

    @property
    def point(self) -> np.ndarray:
        """The mean, or the level next to the median, `(N, horizon, targets)`."""
        return self.forecasts[..., middle_of(self.levels)]

    def among(self, rows: Any) -> "Hindcasts":
        """Some of them."""
        names = ("forecasts", "came", "series", "scales")
        return dataclasses.replace(self, **{name: getattr(self, name)[rows] for name in names})

    def ahead(self, step: int) -> "Hindcasts":
        """Those so many steps ahead, from 1 to the horizon."""
        some = slice(step - 1, step)
        return dataclasses.replace(self, forecasts=self.forecasts[:, some], came=self.came[:, some])

    @property
    def count(self) -> int:
        """How many targets count."""
        return int(np.count_nonzero(~np.isnan(self.came)))

    def metrics(self) -> dict[str, float | None]:
        """All numbers by name; `None` for one that counted nothing."""
        apart = np.abs(self.came - self.point)
        size, there = np.abs(self.came) + np.abs(self.point), ~np.isnan(self.came)
        q = np.array([0.5 if level is None else level for level in self.levels])
        off = self.came[..., None] - self.forecasts
        values = {
            "mean absolute error": apart,
            "MASE": apart / self.scales[:, None],
            "sMAPE": 200 * np.where(size > 0, apart / np.where(size > 0, size, 1.0), apart),
            "CRPS": 2 * np.maximum(q * off, (q - 1) * off).mean(axis=-1),
        }
        if self.interval is not None:
            low, high = self.forecasts[..., 0], self.forecasts[..., -1]
            for name, value in {
                "coverage": (low <= self.came) & (self.came <= high),
                "width": high - low,
            }.items():
                values[f"{name} of {self.interval}"] = np.where(there, value, np.nan)
        return {name: _mean(value) for name, value in values.items()}

    @property
    def interval(self) -> str | None:
        """The interval from the lowest to the highest level in words, if there is one."""
        low, high = self.levels[0], self.levels[-1]
        if low is None or high is None or low == high:
            return None
        return interval_name(high - low, self.calibrated)

    def by_step(self) -> list[dict[str, float | None]]:
        """The metrics one step ahead, two steps ahead and so on to the horizon."""
        return [self.ahead(k).metrics() for k in range(1, self.came.shape[1] + 1)]

    def by_series(self) -> dict[int, dict[str, float | None]]:
        """The metrics of each series that has any forecast, by its number."""
        return {int(n): self.among(self.series == n).metrics() for n in np.unique(self.series)}

    def each_series(self) -> dict[str, "Hindcasts"]:
        """Those of each series that has any, by its name."""
        return {self.name(n): self.among(self.series == n) for n in np.unique(self.series)}

    def name(self, number: int) -> str:
        """The name of a series, or its number."""
        return str(self.names[number] if self.names else number)


def _mean(values: np.ndarray) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None


def naive_scales(
    xs: list[np.ndarray], cuts: list[slice], columns: list[int], season: int
) -> np.ndarray:
    """The mean `|y_t - y_{t-m}|` of the training part of each series, `(series, columns)`.

    It is NaN where no two values are a season apart, and where nothing changes.

    Args:
        xs: the series, each `(T, all columns)`.
        cuts: the steps of the training part of each.
        columns: those to forecast.
        season: m, or 1.

    Example:
        >>> naive_scales([np.array([[1.0], [2.0], [5.0], [9.0]])], [slice(0, 3)], [0], 1).tolist()
        [[2.0]]
    """
    scales = np.full((len(xs), len(columns)), np.nan)
    for n, (x, cut) in enumerate(zip(xs, cuts, strict=True)):
        known = x[cut][:, columns]
        apart = np.abs(known[season:] - known[:-season])
        for column in range(len(columns)):
            mean = _mean(apart[:, column])
            scales[n, column] = mean or np.nan
    return scales


def in_units(
    outputs: np.ndarray, scaler: Scaler, levels: tuple[Any, ...], targets: int
) -> np.ndarray:
    """Outputs `(N, outputs)` as forecasts `(N, horizon, targets, levels)`, quantiles sorted.

    Args:
        outputs: those of a network.
        scaler: of the targets, by step ahead and then by column.
        levels: of the network.
        targets: how many columns are forecast.
    """
    scaled = sorted_quantiles(np.asarray(outputs, float), levels)
    values = scaled * np.array(scaler.factor)[:, None] + np.array(scaler.shift)[:, None]
    return values.reshape(len(values), -1, targets, len(levels))


def hindcasts(network: Model, task: "Series", part: str, *, calibrated: bool = True) -> Hindcasts:
    """What a network forecasts at every step of a part, where the state starts anew.

    The forecasts are those of which the metrics of an evaluation are made.

    Args:
        network: trained on the task.
        task: a `Series` that forecasts.
        part: `"valid"` or `"test"`.
        calibrated: whether to calibrate them, if the task has a calibration; see `conformal`.

    Example:
        >>> task = Series(np.sin(np.arange(200) / 5), horizon=3)
        >>> network = Network(LSTM(1, 8, key=key), Readout(8, 3, key=key))
        >>> hindcasts(network, task, "valid").forecasts.shape
        (7, 3, 1, 1)
    """
    stream, scaler = task.parts[part], task.answers.scaler
    assert scaler is not None
    through = outputs_through(network, task.evaluated(part))
    windows = [np.asarray(outputs)[:, 0] for outputs, _ in through]
    outputs = np.concatenate([np.zeros((0, task.outputs)), *windows])[: stream.steps]
    came = stream.targets * np.array(scaler.factor) + np.array(scaler.shift)
    came = np.where(stream.there[:, None], came, np.nan)
    came = came.reshape(len(came), task.horizon, len(task.targets))
    series = task.rows.numbers_of(part, task.horizon)
    values = in_units(outputs, scaler, task.learned_levels, len(task.targets))
    scales = task.naive_scales[series]
    made = Hindcasts(task.learned_levels, values, came, series, scales, names=task.series_names)
    if task.calibration is None or not calibrated:
        return made
    values = task.calibration(values)
    return dataclasses.replace(made, levels=task.levels, forecasts=values, calibrated=True)
