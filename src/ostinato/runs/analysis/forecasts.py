"""How good the forecasts of a run are: by step ahead, by series, and from several origins."""

from collections.abc import Sequence
from typing import Any

from ...errors import BadInput
from ...tasks import Task
from ...tasks.series.backtest import Backtested, backtest
from ...tasks.series.forecast_scores import hindcasts
from ...tasks.series.series import Series
from ..folder.run import RunFolder, checked_run


def forecasting_task(run: RunFolder, task: Task | None = None) -> Series:
    """The task of a run as one that forecasts; raises for any other."""
    series = run.task(task).ability(Series)
    if series is None:
        raise BadInput(f"{run.path} forecasts no series; it was trained on {run.sizes.name}")
    return series


def forecast_scores(
    run: RunFolder, part: str = "valid", *, task: Task | None = None
) -> dict[str, Any]:
    """All numbers of `hindcasts` on a part of the data: overall, by step ahead and by series.

    Args:
        run: a run that forecasts; see `open_run`.
        part: `"valid"` or `"test"`.
        task: the task, if the run was trained on one that was made in Python.
    """
    checked_run(run)
    with run.precision():
        made = hindcasts(run.network(), forecasting_task(run, task), part)
        return {
            "overall": made.metrics(),
            "by_step": made.by_step(),
            "by_series": {name: one.metrics() for name, one in made.each_series().items()},
        }


def backtest_run(
    run: RunFolder,
    origins: int = 10,
    yardsticks: str | Sequence[str] | None = None,
    *,
    task: Task | None = None,
) -> Backtested:
    """Forecasts from several origins of the test part, as JSON; see `tasks.series.backtest`.

    Args:
        run: a run that forecasts; see `open_run`. It is not trained anew at any origin.
        origins: how many, spread evenly.
        yardsticks: `"ets"` and `"theta"`, if wanted; they need statsmodels.
        task: the task, if the run was trained on one that was made in Python.
    """
    checked_run(run)
    with run.precision():
        return backtest(run.network(), forecasting_task(run, task), origins, yardsticks).as_json()
