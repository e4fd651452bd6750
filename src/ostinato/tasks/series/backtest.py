"""Backtests with a rolling origin: forecasts as they would have been made, beside what came.

The origins are spread evenly over the test part. At each of them the network reads all that was
known by then, from the beginning of the series on, and forecasts its horizon; nothing that is
forecast lies before the test part. The network is not trained anew at any origin. Tashman (2000)
calls this a rolling origin without recalibration; the yardsticks of `statistical` are fitted anew,
which is to their advantage.

Source: Tashman (2000), Out-of-sample tests of forecasting accuracy.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NotRequired, TypedDict

import numpy as np

from ...cells import Model
from ...errors import BadInput
from ...progress import Report, each, silent
from ..checks import checked_count
from .continuing import forecasts_at_each
from .forecast_scores import Hindcasts
from .naive_forecasts import filled, naive
from .series import Series
from .statistical import checked_names, statistical

MAX_ORIGINS = 10_000
MAX_FITS = 2000  # of yardsticks, each of which takes about a second
NOTE = "the network is not trained anew at any origin"


class OfOrigin(TypedDict):
    """The forecasts from one origin, as JSON: for each series its first step and when that was."""

    first: list[int]
    times: NotRequired[list[str]]
    series: list[str]
    metrics: dict[str, float | None]


class Backtested(TypedDict):
    """A backtest as JSON: all metrics by name, overall, of each yardstick and of each origin.

    Series without room for so many origins are `left_out`, and `note` says what was not done.
    """

    overall: dict[str, float | None]
    yardsticks: dict[str, dict[str, float | None]]
    origins: list[OfOrigin]
    left_out: list[str]
    note: str


@dataclasses.dataclass(frozen=True)
class Backtest:
    """Forecasts from several origins.

    Attributes:
        made: of the network.
        yardsticks: the same of each yardstick, by name.
        origin: `(N,)`, the number of the origin of each forecast, from 0.
        first: `(N,)`, the step of its series that is forecast first.
        times: `(N,)`, when that step is, in words; `None` if the series has no times.
        left_out: the numbers of series whose test part has no room for so many origins.
    """

    made: Hindcasts
    yardsticks: dict[str, Hindcasts]
    origin: np.ndarray
    first: np.ndarray
    times: np.ndarray | None
    left_out: list[int]

    def as_json(self) -> Backtested:
        """All metrics, overall, of the yardsticks and of each origin."""
        return {
            "overall": self.made.metrics(),
            "yardsticks": {name: made.metrics() for name, made in self.yardsticks.items()},
            "origins": [self._from(self.origin == n) for n in np.unique(self.origin)],
            "left_out": [*map(self.made.name, self.left_out)],
            "note": NOTE,
        }

    def _from(self, some: np.ndarray) -> OfOrigin:
        """Those of one origin."""
        origin: OfOrigin = {
            "first": self.first[some].tolist(),
            "series": [*map(self.made.name, self.made.series[some])],
            "metrics": self.made.among(some).metrics(),
        }
        return origin if self.times is None else {**origin, "times": self.times[some].tolist()}


def origins_of(task: Series, count: int) -> dict[int, np.ndarray]:
    """For each series the steps at which its forecasts begin; series without room are left out.

    Example:
        >>> task = Series(np.sin(np.arange(200) / 5), horizon=3, split="80/10/10")
        >>> origins_of(task, 4)[0].tolist()
        [180, 186, 191, 197]
    """
    count = checked_count(count, "origins of a backtest")
    if count > MAX_ORIGINS:
        raise BadInput(f"a backtest has at most {MAX_ORIGINS} origins, got {count}")
    origins, most = {}, 0
    for n in range(len(task.series)):
        first, last = task.rows.span("test", n)
        first, room = max(first, 1), last - task.horizon - max(first, 1) + 1
        most = max(most, room)
        if room >= count:
            origins[n] = np.round(np.linspace(first, first + room - 1, count)).astype(int)
    if not origins:
        raise BadInput(
            f"the test part has room for {max(most, 0)} origins with a horizon of {task.horizon}, "
            f"got {count}" + ("" if most > 0 else "; give the test part a larger share")
        )
    return origins


def backtest(
    network: Model,
    task: Series,
    origins: int = 10,
    yardsticks: str | Sequence[str] | None = None,
    report: Report = silent,
) -> Backtest:
    """Forecast from several origins of the test part of every series.

    Args:
        network: trained on the task.
        task: a `Series` that forecasts.
        origins: how many.
        yardsticks: `"ets"` and `"theta"`, if wanted beside the naive forecasts; see `statistical`.
        report: hears how many fits of yardsticks are done.

    Example:
        >>> task = Series(np.sin(np.arange(200) / 5), horizon=3, split="80/10/10")
        >>> network = Network(LSTM(1, 8, key=key), Readout(8, 3, key=key))
        >>> backtested = backtest(network, task, 4)
        >>> sorted(backtested.yardsticks), len(backtested.as_json()["origins"])
        (['persistence'], 4)
    """
    names = () if yardsticks is None else checked_names(yardsticks)
    places = origins_of(task, origins)
    fits = len(names) * len(task.targets) * sum(map(len, places.values()))
    if fits > MAX_FITS:
        raise BadInput(
            f"{', '.join(names)} would be fitted {fits} times, at most {MAX_FITS} times are "
            "allowed; take fewer origins"
        )
    report(0, None, "forecasting from every origin")
    later = np.arange(task.horizon)
    rows = []
    for n, first in places.items():
        x = task.series[n]
        made = forecasts_at_each(network, task, x[: first[-1]], x[first[-1] :])[first - 1]
        rows.append((made, x[first[:, None] + later][..., task.targets]))
    forecasts, came = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    series = np.repeat([*places], origins)
    mine = Hindcasts(
        task.levels,
        forecasts,
        came,
        series,
        task.naive_scales[series],
        task.calibration is not None,
        task.series_names,
    )
    levels = task.learned_levels
    others = _naive(task, places, levels)
    made_by: dict[str, list[np.ndarray]] = {name: [] for name in names}
    if names:
        fitted = _fitted(task, places, names, levels)
        for name, values in each(fitted, report, "fitting yardsticks", fits):
            made_by[name].append(values)
    shape = (len(series), len(task.targets), task.horizon, len(levels))
    for name, made in made_by.items():
        others[name] = np.stack(made).reshape(shape).swapaxes(1, 2)
    return Backtest(
        mine,
        {
            name: dataclasses.replace(mine, levels=levels, forecasts=values, calibrated=False)
            for name, values in others.items()
        },
        np.tile(np.arange(origins), len(places)),
        np.concatenate([*places.values()]),
        _times(task, places),
        sorted({*range(len(task.series))} - {*places}),
    )


def _times(task: Series, places: dict[int, np.ndarray]) -> np.ndarray | None:
    """When the first step of each forecast is, in words."""
    if task.rows.timelines is None:
        return None
    return np.array([task.rows.time_of(n, step) for n, first in places.items() for step in first])


def _naive(
    task: Series, places: dict[int, np.ndarray], levels: tuple[float | None, ...]
) -> dict[str, np.ndarray]:
    """Naive forecasts by name, `(N, horizon, targets, levels)`; see `yardsticks`."""
    scaler = task.answers.scaler
    assert scaler is not None
    forecasts = {}
    for name, season in task.seasons.items():
        made = np.concatenate(
            [naive(_known(task, n), task.horizon, season)[first - 1] for n, first in places.items()]
        )
        wrong = np.zeros((made.shape[1], 1))
        if task.quantiles is not None:
            wrong = np.array(task.naive_errors[name], float) * np.array(scaler.factor)[:, None]
        shape = (len(made), task.horizon, len(task.targets), len(levels))
        forecasts[name] = (made[..., None] + wrong).reshape(shape)
    return forecasts


def _known(task: Series, number: int) -> np.ndarray:
    """The target columns of a series, with the last known value in place of missing ones."""
    means = np.array(task.scaler.means)[task.targets]
    return filled(task.series[number][:, task.targets], means)


def _fitted(
    task: Series,
    places: dict[int, np.ndarray],
    names: Sequence[str],
    levels: tuple[float | None, ...],
) -> Iterator[tuple[str, np.ndarray]]:
    """For each series, origin, target column and yardstick its name and forecast."""
    for n, first in places.items():
        known = _known(task, n)
        for step in first:
            for column in range(len(task.targets)):
                for name in names:
                    values = known[:step, column]
                    yield name, statistical(name, values, task.horizon, task.season, levels)
