"""Learning curves of several runs as charts: against steps, gradient-equivalents and seconds."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..lens.gradient_by_lag import joint_gradient
from ..report.charts import Chart, Lines, Series, numbers, spans_decades
from ..runs.folder.digest import Digest
from ..runs.folder.events import Opening

if TYPE_CHECKING:
    from ..runs import Run

LAST_LOOK = "at the last look of --lens during training"
FADED = 0.01  # of the peak: what counts as forgotten


class Course(NamedTuple):
    """The validations of a run, and what it had spent until each of them.

    Attributes:
        steps: training steps.
        values: the metric, `None` where it was not finite.
        gradients: gradient-equivalents.
        seconds: of training.
    """

    steps: list[int]
    values: list[float | None]
    gradients: list[float]
    seconds: list[float]


class Axis(NamedTuple):
    """What a course is drawn against: the words of its chart, and the numbers of a course."""

    name: str
    x_title: str
    title: str
    note: str
    of: Callable[[Course], Sequence[float]]


AXES = (
    Axis("steps", "training step", "by training step", "", lambda course: course.steps),
    Axis(
        "gradients",
        "gradient-equivalents",
        "by gradient-equivalents",
        " A gradient-equivalent is the gradient of one sequence, or what costs as much of another "
        "kind.",
        lambda course: course.gradients,
    ),
    Axis(
        "seconds",
        "seconds of training",
        "by training time",
        " Time includes compiling, but not validations.",
        lambda course: course.seconds,
    ),
)


class Profile(NamedTuple):
    """The gradient by lag of a network."""

    lags: list[int]
    gradient: list[float]


def course_of(run: "Run", digest: Digest | None = None) -> Course:
    """The course of a run, from its log, which is read unless it is at hand.

    Example:
        >>> spent = course_of(open_run("runs/text-mlstm-1"))
        >>> spent.steps, spent.gradients
        ([1, 2, 3, 4], [4.0, 8.0, 12.0, 16.0])
    """
    batch = run.manifest.get("used", {}).get("batch") or run.config.batch_size
    return course(Digest(run.path).read() if digest is None else digest, batch)


def course(digest: Digest, batch: int) -> Course:
    """The course of a run from its log alone, for batches of so many sequences."""
    at = digest.gradients.at
    return Course(
        [step for step, *_ in at],
        [value for _, value, *_ in at],
        [batch * total for *_, total, _ in at],
        [seconds for *_, seconds in at],
    )


def learning_curves(
    courses: Mapping[str, Sequence[Course]],
    metric: str,
    *,
    higher_is_better: bool = False,
    levels: Mapping[str, float] | None = None,
    prefix: str = "",
) -> list[Chart]:
    """Validation curves, against each of `AXES`.

    Args:
        courses: the runs of each line. With several, the line is their mean, as far as all of them
            trained, and a band spans them.
        metric: its name.
        higher_is_better: of the metric.
        levels: baselines.
        prefix: of the names of the charts, if a page has several groups.

    Example:
        >>> course = course_of(open_run("runs/text-mlstm-1"))
        >>> charts = learning_curves({"mlstm": [course]}, "bits per character")
        >>> [chart.x_title for chart in charts]
        ['training step', 'gradient-equivalents', 'seconds of training']
    """
    several = any(len(runs) > 1 for runs in courses.values())
    band = " Lines are means over seeds, bands span all seeds." if several else ""
    better = "Higher" if higher_is_better else "Lower"
    values = [y for runs in courses.values() for one in runs for y in one.values if y is not None]
    return [
        Lines(
            name=_slug(f"{prefix} {axis.name}"),
            title=f"Validation {axis.title}",
            caption=f"{better} is better.{band}{axis.note}",
            series=[_line(name, runs, axis) for name, runs in courses.items() if runs],
            x_title=axis.x_title,
            y_title=metric,
            log_y=spans_decades(values),
            levels=dict(levels or {}),
        )
        for axis in AXES
    ]


def seed_points(
    values: Mapping[str, Sequence[float]], metric: str, prefix: str = ""
) -> list[Chart]:
    """The value of each seed as a point, by entry; no chart unless an entry has several.

    Args:
        values: of the seeds of each entry.
        metric: its name.
        prefix: of the name of the chart, if a page has several groups.

    Example:
        >>> (chart,) = seed_points({"lstm": [2.1, 2.3], "gru": [2.2, 2.2]}, "bits per character")
        >>> chart.places, chart.series[1].x
        (['lstm', 'gru'], [1, 1])
    """
    if all(len(own) < 2 for own in values.values()):
        return []
    return [
        Lines(
            name=_slug(f"{prefix} seeds"),
            title="Each seed",
            caption="A point is the value of one seed; the table has their means.",
            series=[
                Series(name, [place] * len(own), numbers(own))
                for place, (name, own) in enumerate(values.items())
            ],
            x_title="entry",
            y_title=metric,
            log_y=spans_decades([value for own in values.values() for value in own]),
            places=[*values],
        )
    ]


def curves_by_metric(
    courses: Mapping[str, Sequence[Course]], starts: Mapping[str, Opening]
) -> dict[str, list[Chart]]:
    """The validation curves of runs that may be of several tasks, a few charts for each metric.

    Args:
        courses: the runs of each line, as in `learning_curves`.
        starts: the first event of each line.
    """
    charts: dict[str, list[Chart]] = {}
    metrics = {name: start.get("metric", "metric") for name, start in starts.items()}
    for metric in dict.fromkeys(metrics.values()):
        own = [name for name in courses if metrics[name] == metric]
        levels = [starts[name].get("baselines", {}) for name in own]
        charts[metric] = learning_curves(
            {name: courses[name] for name in own},
            metric,
            higher_is_better=bool(starts[own[0]].get("higher_is_better")),
            levels=levels[0] if all(one == levels[0] for one in levels) else {},
            prefix=metric,
        )
    return charts


def differing(settings: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The settings in which some runs differ: the value of each, in words.

    Example:
        >>> differing([{"cell": "lstm", "units": 8}, {"cell": "gru", "units": 8}])
        {'cell': ['lstm', 'gru']}
    """
    values = {name: [one.get(name) for one in settings] for one in settings for name in one}
    words = {name: ["–" if x is None else str(x) for x in row] for name, row in values.items()}
    return {name: row for name, row in words.items() if len(set(row)) > 1}


def gradient_profiles(
    profiles: Mapping[str, Sequence[Profile]], prefix: str = "", measured: str = LAST_LOOK
) -> list[Chart]:
    """The gradient by lag of each line, relative to its peak; no chart if there are none.

    Args:
        profiles: those of the runs of each line.
        prefix: of the name of the chart, if a page has several groups.
        measured: which networks were measured, in words.

    Example:
        >>> (chart,) = gradient_profiles({"lstm": [Profile([0, 1], [2.0, 1.0])]})
        >>> chart.series[0].y
        [1.0, 0.5]
    """
    series = []
    for name, own in profiles.items():
        lags = min((one.lags for one in own), key=len, default=[])
        rows = np.array([one.gradient[: len(lags)] for one in own], float)
        if rows.size and np.all(rows.max(axis=1) > 0):
            rows = rows / rows.max(axis=1, keepdims=True)
            series.append(_of_rows(name, lags, rows))
    if not series:
        return []
    return [
        Lines(
            name=_slug(f"{prefix} gradient by lag"),
            title="Gradient by lag",
            caption=(
                "The gradient of the loss with respect to the states so many steps earlier, of all "
                f"cells together and relative to its peak, {measured}."
            ),
            series=series,
            x_title="lag (steps)",
            y_title="relative to the peak",
            log_y=True,
            levels={"1% of the peak": FADED},
        )
    ]


def profile(digest: Digest) -> Profile | None:
    """The gradient by lag of the last look through the lens; `None` without `--lens`."""
    look = digest.lens.last
    if look is None or not look["gradient"]:
        return None
    gradient = joint_gradient(look["gradient"])
    return Profile(look["lags"], gradient.tolist()) if np.all(np.isfinite(gradient)) else None


def _line(name: str, runs: Sequence[Course], axis: Axis) -> Series:
    """The mean of the runs at the validations that all of them reached."""
    shared = set(runs[0].steps).intersection(*(one.steps for one in runs))
    places = [[one.steps.index(step) for step in sorted(shared)] for one in runs]
    xs = [[axis.of(one)[i] for i in place] for one, place in zip(runs, places, strict=True)]
    ys = [[one.values[i] for i in place] for one, place in zip(runs, places, strict=True)]
    return _of_rows(name, np.mean(np.array(xs, float), axis=0).tolist(), np.array(ys, float))


def _of_rows(name: str, x: Sequence[float], rows: Any) -> Series:
    """The mean of the rows, with a band if there are several."""
    middle = numbers(rows.mean(axis=0))
    if len(rows) == 1:
        return Series(name, x, middle)
    return Series(name, x, middle, low=numbers(rows.min(axis=0)), high=numbers(rows.max(axis=0)))


def _slug(words: str) -> str:
    return "-".join(re.findall(r"\w+", words.lower()))
