"""Charts of how far the forecasts of a run can be trusted: errors and coverage by step ahead."""

from ..cells import Model
from ..tasks.series.hindcasts import hindcasts
from ..tasks.series.series import Series as SeriesTask
from .charts import Chart, Lines, Series

SERIES = 12  # that are drawn beside all of them, those with the worst coverage


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
