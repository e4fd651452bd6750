"""Charts of forecasts: series continued from a place, beside what really came, the worst first.

Their errors and coverage by step ahead say how far they can be trusted.
"""

import dataclasses
from typing import Any, TypeGuard

import numpy as np

from ..cells import Model
from ..data.frequency import local_times
from ..errors import BadInput
from ..runs import Saved
from ..settings import shown
from ..tasks import Task
from ..tasks.series.continuing import closed_loop, forecasts_at_each, no_loop, steady_columns
from ..tasks.series.forecast_scores import hindcasts
from ..tasks.series.quantiles import middle_of
from ..tasks.series.series import Series as SeriesTask
from .charts import Chart, Lines, Series, numbers
from .training_charts import weights_of

STEP = "step of the series"
READ = 1000  # steps before the place that the network reads
STEPS, MAX = 100, 2000  # that are forecast: by default, and at most
COLUMNS = 12  # that are drawn
CHARTS = 12  # of several series, in a report
NAMED = 60  # series whose error is drawn, at most
SERIES = 12  # that are drawn beside all of them, those with the worst coverage


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a forecast begins.

    Attributes:
        series: the number of the series, where a task has several.
        begin: the first step that is forecast; all before it is known.
        steps: how many steps to forecast.
    """

    series: int
    begin: int
    steps: int


def can_forecast(task: Task) -> TypeGuard[SeriesTask]:
    """Whether a task forecasts a series, so that it can be drawn on."""
    return task.ability(SeriesTask) is not None


def place_of(
    task: SeriesTask,
    series: int | str | None = None,
    begin: int | None = None,
    steps: int | None = None,
) -> Place:
    """A place to forecast from: by default where the validation part begins.

    Args:
        task: forecasts a series.
        series: which, if there are several, by number or name; 0 by default.
        begin: the first step to forecast, from 1 to the length of the series, after its end.
        steps: how many; by default the larger of `STEPS` and the horizon of the task, or as far as
            the columns go whose future is known.

    Example:
        >>> place_of(SeriesTask(np.sin(np.arange(400) / 5)))
        Place(series=0, begin=360, steps=100)
    """
    if isinstance(series, str):
        if series not in task.series_names:
            known = ", ".join(map(str, task.series_names[:20]))
            raise BadInput(f"there is no series {shown(series)}; there are {known}")
        series = task.series_names.index(series)
    series = 0 if series is None else series
    if not 0 <= series < len(task.series):
        raise BadInput(f"the series is a number from 0 to {len(task.series) - 1}, got {series}")
    length = len(task.series[series])
    begin = max(task.rows.begins("valid", series), 1) if begin is None else begin
    if not 1 <= begin <= length:
        raise BadInput(f"a forecast begins at a step from 1 to {length}, got {begin}")
    if steps is None:
        steps = min(max(STEPS, task.horizon), MAX)
        if task.columns.known:  # as far as the future is known
            steps = max(task.horizon, min(steps, len(task.rows.after(series, begin, 0))))
    if not 1 <= steps <= MAX:
        raise BadInput(f"from 1 to {MAX} steps can be forecast, got {steps}")
    return Place(series, begin, steps)


def forecasts(saved: Saved, task: SeriesTask, place: Place) -> list[Chart]:
    """For each column its continuation, and with quantiles what was forecast at every step."""
    network = saved.network
    x = task.series[place.series]
    known = x[max(0, place.begin - READ) : place.begin]
    later = task.rows.after(place.series, place.begin, place.steps + task.horizon)
    problem = no_loop(network, task)
    loop = None if problem else closed_loop(network, task, known, place.steps, later)
    ahead = forecasts_at_each(network, task, known, later)[-1]
    charts: list[Lines] = []
    for n, column in enumerate(task.targets[:COLUMNS]):
        path = None if loop is None else loop[:, column]
        charts.append(_continued(task, place, n, path, ahead[:, n], len(known)))
    if task.levels != (None,) and task.horizon < len(x) > place.begin:
        charts += _at_every_step(network, task, place)
    return [
        dataclasses.replace(
            _dated(task, place, one), caption=f"{one.caption} Made {weights_of(saved.step)}."
        )
        for one in charts
    ]


def all_forecasts(saved: Saved, task: SeriesTask) -> list[Chart]:
    """The forecasts of a report: of several series the errors of all, then the worst of them."""
    if len(task.series) == 1:
        return forecasts(saved, task, place_of(task))
    charts: list[Chart] = []
    order, errors, measure = worst_first(saved.network, task)
    if errors:
        charts.append(_errors(task, [n for n in order if n in errors], errors, measure))
    for number in order:
        if len(charts) + len(task.targets) > CHARTS:
            break
        charts += forecasts(saved, task, place_of(task, number))
    return charts


def worst_first(network: Model, task: SeriesTask) -> tuple[list[int], dict[int, float], str]:
    """The numbers of all series, the worst forecasts first, the error of each, and its name.

    The error is MASE on the validation part, because series may be of different sizes, or the mean
    absolute error where that is unknown; see `hindcasts`. Series without a target there come last.
    """
    made = hindcasts(network, task, "valid").by_series()
    known = all(one["MASE"] is not None for one in made.values())
    measure = "MASE" if known else "mean absolute error"
    errors = {n: x for n, one in made.items() if (x := one[measure]) is not None}
    return sorted(range(len(task.series)), key=lambda n: -errors.get(n, -1)), errors, measure


def _errors(task: SeriesTask, order: list[int], errors: dict[int, float], measure: str) -> Chart:
    """The error of each series, the worst first."""
    more = f" {len(order) - NAMED:,} more have smaller ones." if len(order) > NAMED else ""
    return Lines(
        name="series",
        title="Error of each series",
        caption=f"The error ({measure}) on the validation part, the worst series first.{more}",
        series=[Series(measure, [*range(len(order))][:NAMED], [errors[n] for n in order[:NAMED]])],
        x_title=task.settings.sequence or "series",
        y_title=measure,
        places=[str(task.series_names[n]) for n in order[:NAMED]],
        from_zero=True,
        levels={"naive forecast in training": 1.0} if measure == "MASE" else {},
    )


def _when(task: SeriesTask, place: Place, step: int) -> str:
    """A step in words: its date, or its number."""
    return task.rows.time_of(place.series, step) or f"step {step:,}"


def _dated(task: SeriesTask, place: Place, chart: Lines) -> Lines:
    """A chart over steps of a series as one over its dates, if it has any."""
    last = max(int(x) for one in chart.series for x in one.x)
    stamps = task.rows.stamps_from(place.series, 0, last + 1)
    if stamps is None or task.rows.timelines is None:
        return chart
    line = task.rows.timelines[place.series]
    shown = local_times(stamps, line.zone).astype("datetime64[ms]").astype(np.int64)
    series = [dataclasses.replace(x, x=shown[np.array(x.x, int)].tolist()) for x in chart.series]
    return dataclasses.replace(chart, series=series, x_title=line.column, dates=True)


def _continued(
    task: SeriesTask, place: Place, n: int, path: Any, ahead: np.ndarray, read: int
) -> Lines:
    """One column: what came, the closed loop, and the forecast over the task's horizon."""
    name, begin, last = _name(task, task.targets[n]), place.begin, place.begin + place.steps
    shown = max(0, begin - max(place.steps, task.horizon))
    came = task.series[place.series][shown : max(last, begin + task.horizon), task.targets[n]]
    series = [Series("what came", list(range(shown, shown + len(came))), numbers(came))]
    words = ""
    if path is not None:
        series.append(Series("closed loop", list(range(begin, last)), numbers(path)))
        words = " In the closed loop it goes on from its own forecasts alone"
        words += f"{_error(came[begin - shown :], path)}."
        words += "".join(f" There {note}." for note in steady_columns(task))
    if task.horizon > 1 or path is None:
        series.append(_interval(task, list(range(begin, begin + task.horizon)), ahead))
        far = "a step" if task.horizon == 1 else f"{task.horizon:,} steps"
        now, levels = _when(task, place, begin - 1), _interval_words(task)
        words += (
            f" {'At' if now.startswith('step') else 'On'} {now} it forecast {far} at once{levels}."
        )
    when, unless = _when(task, place, begin), task.columns.looks_ahead
    return Lines(
        name=_chart_name(task, place, "forecast", n),
        title=f"Forecast of {name}{_of(task, place)} from {when}",
        caption=(
            f"The network has read the {read:,} steps before {when}, and nothing after it"
            f"{' but what is known ahead' if unless else ''}.{words}"
        ),
        series=series,
        x_title=STEP,
        y_title=name,
    )


def _at_every_step(network: Model, task: SeriesTask, place: Place) -> list[Lines]:
    """Quantiles of each column, forecast `horizon` steps before, while the series came."""
    first = max(0, place.begin - READ)
    x = task.series[place.series][first : place.begin + place.steps]
    later = task.rows.after(place.series, first + len(x), task.horizon)
    made = forecasts_at_each(network, task, x, later)[: -task.horizon, -1]  # the furthest
    shown = max(place.begin - first - task.horizon, 0)
    steps = list(range(first + shown + task.horizon, first + len(x)))
    low, high = task.levels[0], task.levels[-1]
    assert low is not None and high is not None
    far = _horizon(task)
    charts: list[Lines] = []
    for n, column in enumerate(task.targets[:COLUMNS]):
        came, values = x[shown + task.horizon :, column], made[shown:, n]
        inside = (values[:, 0] <= came) & (came <= values[:, -1])
        share = np.mean(inside[~np.isnan(came)]) if np.any(~np.isnan(came)) else np.nan
        covers = f" {share:.0%} of what came lies between them; {high - low:.0%} should."
        name = _name(task, column)
        charts.append(
            Lines(
                name=_chart_name(task, place, "ahead", n),
                title=f"Forecast of {name}{_of(task, place)}, {far} ahead",
                caption=(
                    f"At every step, what was forecast {far} before it from the true values until "
                    f"then{_interval_words(task)}.{covers if len(task.levels) > 1 else ''}"
                ),
                series=[
                    Series("what came", steps, numbers(came)),
                    _interval(task, steps, values),
                ],
                x_title=STEP,
                y_title=name,
            )
        )
    return charts


def _chart_name(task: SeriesTask, place: Place, what: str, n: int) -> str:
    """The name of the chart of target number `n`; of several series each has its own."""
    return f"{what}-{f'{place.series + 1}-' if len(task.series) > 1 else ''}{n + 1}"


def _of(task: SeriesTask, place: Place) -> str:
    """Which of several series."""
    if len(task.series) == 1:
        return ""
    name = task.series_names[place.series]
    return f", series {name}" if isinstance(name, int) else f", {name}"


def _name(task: SeriesTask, column: int) -> str:
    """The name of a column; one without a header is called by its number."""
    name = task.names[column]
    return f"column {name}" if name.isdecimal() else name


def _horizon(task: SeriesTask) -> str:
    return "1 step" if task.horizon == 1 else f"{task.horizon:,} steps"


def _interval(task: SeriesTask, steps: list[int], values: np.ndarray) -> Series:
    """The level next to the median as a line, with a band from the lowest to the highest."""
    levels, middle = task.levels, middle_of(task.levels)
    far = _horizon(task)
    line = Series(f"forecast, {far}", steps, numbers(values[:, middle]))
    if len(levels) == 1:
        return line
    return dataclasses.replace(line, low=numbers(values[:, 0]), high=numbers(values[:, -1]))


def _interval_words(task: SeriesTask) -> str:
    if task.levels == (None,):
        return ""
    if len(task.levels) == 1:
        return f" (quantile {task.levels[0]:g})"
    how = "" if task.calibration is None else ", calibrated on the validation part"
    return f", with a band from quantile {task.levels[0]:g} to {task.levels[-1]:g}{how}"


def _error(came: np.ndarray, path: np.ndarray) -> str:
    """The mean absolute error in words, where something came."""
    apart = np.abs(came[: len(path)] - path[: len(came)])
    apart = apart[~np.isnan(apart)]
    return f", with a mean absolute error of {apart.mean():.3g}" if len(apart) else ""


def trust(network: Model, task: SeriesTask) -> list[Chart]:
    """The error and, of intervals, the coverage on the validation part, by steps ahead."""
    if not task.parts["valid"].there.any():
        return []
    made = hindcasts(network, task, "valid")
    steps = [*range(1, task.horizon + 1)]
    words = f"On the validation part, over {made.count:,} forecast values"
    error = [one["MASE"] for one in made.by_step()]
    charts: list[Chart] = []
    if task.horizon > 1 and None not in error:
        charts.append(
            Lines(
                name="error-ahead",
                title="Error by steps ahead",
                caption=(
                    f"{words}: the mean absolute error divided by that of the naive forecast "
                    "one season (or step) ahead within the training part (MASE)."
                ),
                series=[Series("MASE", steps, error)],
                x_title="steps ahead",
                y_title="MASE",
                from_zero=True,
                levels={"naive forecast in training": 1.0},
            )
        )
    low, high = task.levels[0], task.levels[-1]
    if made.interval is None or low is None or high is None:
        return charts
    parts = {"all" if len(task.series) == 1 else "all series": made}
    raw = hindcasts(network, task, "valid", calibrated=False)
    if made.calibrated and raw.interval is not None:
        parts["before calibration"] = raw
    if len(task.series) > 1:
        which = f"coverage of {made.interval}"
        each, wanted = made.each_series(), high - low
        shares = {name: one.metrics()[which] for name, one in each.items()}
        known = {name: abs(share - wanted) for name, share in shares.items() if share is not None}
        worst = sorted(known, key=known.__getitem__, reverse=True)
        parts |= {f"series {name}": each[name] for name in worst[:SERIES]}
    fair = (
        " It was calibrated on this very part, so it is right here by construction; "
        "`ostinato evaluate --part test` says what it is on new data."
        if made.calibrated
        else ""
    )
    lines = [
        Series(which, steps, [x[f"coverage of {one.interval}"] for x in one.by_step()])
        for which, one in parts.items()
    ]
    charts.append(
        Lines(
            name="coverage-ahead",
            title="Coverage by steps ahead",
            caption=(
                f"{words}: the share that lies in {made.interval}, which should be "
                f"{high - low:.0%}. Below the line the network is too sure of itself, above it "
                f"is not sure enough.{fair}"
            ),
            series=lines,
            x_title="steps ahead",
            y_title="coverage",
            from_zero=True,
            levels={"intended": high - low, "everything": 1.0},
        )
    )
    return charts
