"""The course of a run: what its log says, and its charts. Neither JAX nor the network is needed."""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..names import state_name
from ..runs.folder.events import (
    Divergence,
    E,
    Event,
    Goal,
    Look,
    Opening,
    Train,
    Valid,
    logged_steps,
    of_form,
    opening,
)
from .charts import Chart, Heat, Lines, Series, numbers, spans_decades

STEP = "training step"
LAG = "lag (steps)"


@dataclasses.dataclass(frozen=True)
class Course:
    """The events of a run, and what is needed to draw them.

    Attributes:
        events: of the log, in order.
        goal: of the task.
        clip: the gradient norm above which steps are clipped, if it is fixed.
    """

    events: list[Event]
    goal: Goal
    clip: float | None

    @property
    def start(self) -> Opening:
        """The first `start` or `resume` event."""
        return opening(self.events)

    @property
    def in_nats(self) -> str:
        """The unit of the training loss and its derivatives, as a suffix for axis titles."""
        return " (nats)" if self.goal.in_nats else ""

    def of_form(self, form: type[E]) -> list[E]:
        return of_form(self.events, form)


def clipped_above(setting: Any) -> float | None:
    """The norm that the setting `clip` fixes; `None` for `auto`, `off` and multiples.

    Example:
        >>> clipped_above("1"), clipped_above("auto"), clipped_above("5x")
        (1.0, None, None)
    """
    try:
        norm = float(setting)
    except (TypeError, ValueError):
        return None
    return norm if math.isfinite(norm) else None


def weights_of(step: int) -> str:
    """Which weights something was measured with, in words."""
    return f"with the weights of step {step:,}"


def losses(course: Course) -> list[Chart]:
    """Training and validation loss by step: one chart if they share a unit, else two."""
    goal = course.goal
    metric, factor = goal.metric, goal.loss_factor
    training = _series(course, "loss", "training", factor or 1.0)
    valid = _validations(course)
    levels = dict(course.start.get("baselines", {}))
    unit = f"{metric} (share of answers)" if metric == "accuracy" else metric
    if goal.solved is not None:
        levels["solved"] = goal.solved
    better = "Higher" if goal.higher_is_better else "Lower"
    caption = f"{better} is better. {_baselines(course, levels)}"
    if factor is not None:
        both = [training, valid] if valid.x else [training]
        return [_learning("loss", metric.capitalize(), caption, both, metric, levels)]
    words = f"The loss that is minimised; the validation metric is {metric}."
    y_title = f"loss{course.in_nats}"
    charts: list[Chart] = [_learning("loss", "Training loss", words, [training], y_title, {})]
    if valid.x:
        title = f"Validation {metric}"
        charts.append(_learning("validation", title, caption, [valid], unit, levels))
    return charts


def gradient_maps(course: Course) -> list[Chart]:
    """The gradient by lag and step, one map per cell; empty without `--lens`."""
    charts: list[Chart] = []
    for name in _names(look["gradient"] for look in course.of_form(Look)):
        seen = [look for look in course.of_form(Look) if name in look["gradient"]]
        looks = [look for look in seen if _is_measured(look["gradient"][name])]
        if not looks:
            continue
        lags = max((look["lags"] for look in looks), key=lambda lags: lags[-1])
        words = state_name(name)
        charts.append(
            Heat(
                name=f"gradient-{_slug(words)}",
                title=f"Gradient by lag: {words}",
                caption=(
                    f"The gradient of one step's loss with respect to earlier states ({words}), by "
                    "how many steps earlier they are (the lag). A column that gets darker upwards "
                    "is a vanishing gradient; brighter, an exploding one."
                ),
                x=[look["step"] for look in looks],
                y=lags,
                values=_table([_at(lags, look["lags"], look["gradient"][name]) for look in looks]),
                x_title=STEP,
                y_title=LAG,
                z_title=f"gradient{course.in_nats}",
                log=True,
            )
        )
    return charts


def memory_over_training(course: Course) -> list[Chart]:
    """The memory length by the gradient, over training; empty without `--lens`."""
    looks = course.of_form(Look)
    if not looks:
        return []
    steps = [look["step"] for look in looks]
    series = [
        Series(state_name(name), steps, numbers(look["memory"].get(name) for look in looks))
        for name in _names(look["memory"] for look in looks)
    ]
    if not any(_is_measured(one.y) for one in series):
        return []
    levels = {"largest lag measured": float(max(look["lags"][-1] for look in looks))}
    words = ""
    if course.goal.lag is not None:
        levels["lag that the task needs"] = float(course.goal.lag)
        words = " Below the lag that the task needs, the gradient cannot teach all of it."
    return [
        Lines(
            name="memory",
            title="Memory length during training",
            caption=(
                "The largest lag at which the gradient is at least 1% of its peak, at the state of "
                f"each cell.{words}"
            ),
            series=series,
            x_title=STEP,
            y_title="memory length (steps)",
            from_zero=True,
            levels=levels,
        )
    ]


def steps_taken(course: Course) -> list[Chart]:
    """Gradient norm, clipping, and learning rate or damping."""
    mean = _series(course, "norm", "mean")
    largest = _series(course, "largest_norm", "largest")
    every_step = mean.y == largest.y
    logged = "mean and maximum over the steps between two log entries"
    levels = {}
    if course.clip is not None and not _damped(course):
        levels["clipped above"] = course.clip
    charts: list[Chart] = [
        Lines(
            name="norm",
            title="Gradient norm",
            caption=(
                f"The norm over all weights, before clipping: "
                f"{'of each step' if every_step else logged}. Spikes are exploding gradients."
            ),
            series=[mean] if every_step else [mean, largest],
            x_title=STEP,
            y_title=f"gradient norm{course.in_nats}",
            log_y=True,
            levels=levels,
        )
    ]
    return charts + (_damping(course) if _damped(course) else _rate(course))


def speed_over_training(course: Course) -> list[Chart]:
    """Symbols per second between two log entries; empty if the log does not say."""
    if not (speeds := speed_by_step(course)):
        return []
    steps, values = zip(*speeds, strict=True)
    return [
        Lines(
            name="speed",
            title="Speed",
            caption=(
                "Symbols per second of training, without validations. The first entry includes "
                "compiling."
            ),
            series=[Series("speed", steps, numbers(values))],
            x_title=STEP,
            y_title="symbols per second",
            from_zero=True,
        )
    ]


def speed_by_step(course: Course) -> list[tuple[int, float]]:
    """The step and the symbols per second of each entry of the log that says them."""
    return [
        (entry["step"], entry["symbols"] / entry["took"])
        for entry in course.of_form(Train)
        if "symbols" in entry and entry.get("took", 0.0) > 0
    ]


def _names(looks: Iterable[dict[str, Any]]) -> list[str]:
    """The cells that occur in looks, in order of appearance."""
    return list(dict.fromkeys(name for look in looks for name in look))


def _damped(course: Course) -> bool:
    return any("damping" in event for event in course.of_form(Train))


def _rate(course: Course) -> list[Chart]:
    """Clipping and learning rate, if the learner has a rate."""
    rates = _series(course, "rate", "rate")
    if not any(rates.y):
        return []
    clipped = Lines(
        name="clipped",
        title="Clipped steps",
        caption=(
            "The share of steps whose gradient was clipped. Near 1, the clipping threshold and not "
            "the gradient determines the step size."
        ),
        series=[_series(course, "clipped", "clipped")],
        x_title=STEP,
        y_title="share of steps",
        from_zero=True,
    )
    rate = Lines(
        name="rate",
        title="Learning rate",
        caption="The learning rate after warm-up, schedule and line search.",
        series=[rates],
        x_title=STEP,
        y_title="learning rate",
        from_zero=True,
    )
    return [clipped, rate]


def _damping(course: Course) -> list[Chart]:
    """Damping and reduction ratio of a second-order learner."""
    dampings = [
        _series(course, key, name)
        for key, name in (("damping", "λ, on the weights"), ("structural", "μ, on the states"))
    ]
    damping = Lines(
        name="damping",
        title="Damping",
        caption="Falls while the quadratic model predicts the loss well, rises when it does not.",
        series=[series for series in dampings if any(series.y)],
        x_title=STEP,
        y_title="damping",
        log_y=True,
    )
    ratio = Lines(
        name="ratio",
        title="Reduction ratio and step length",
        caption=(
            "ρ is the actual reduction of the loss over that predicted by the quadratic model: "
            "near 1 the model is right, at 0 or below the step gained nothing. A length of 0 is a "
            "rejected step."
        ),
        series=[
            _series(course, "ratio", "ρ"),
            _series(course, "rate", "length"),
        ],
        x_title=STEP,
        y_title="ratio",
    )
    return [damping, ratio]


def _series(course: Course, key: str, name: str, factor: float = 1.0) -> Series:
    """A number of the training steps."""
    entries = [entry for entry in logged_steps(course.events) if key in entry]
    values = (None if entry[key] is None else factor * entry[key] for entry in entries)
    return Series(name, [entry["step"] for entry in entries], numbers(values))


def _validations(course: Course) -> Series:
    events = course.of_form(Valid)
    values = numbers(event["value"] for event in events)
    return Series("validation", [event["step"] for event in events], values)


def _learning(
    name: str, title: str, caption: str, series: list[Series], y_title: str, levels: dict
) -> Lines:
    """A chart by step."""
    values = [y for one in series for y in one.y if y is not None] + list(levels.values())
    return Lines(
        name=name,
        title=title,
        caption=caption,
        series=series,
        x_title=STEP,
        y_title=y_title,
        log_y=spans_decades(values),
        levels=levels,
    )


def _baselines(course: Course, levels: dict[str, float]) -> str:
    words = "Chance is the best prediction that ignores the input."
    if "persistence" in levels:
        words += " Persistence repeats the last value."
    if "seasonal naive" in levels:
        words += " Seasonal naive repeats the value one season earlier."
    if "solved" in levels:
        words += " Past the line 'solved' the task counts as solved."
    if "bigram" in levels:
        words = (
            "Chance predicts from symbol frequencies alone; bigram and order 5 are count models "
            "that see the last symbol and the last five."
        )
    if course.of_form(Divergence):
        words += " The run diverged."
    return words


def _at(lags: list[int], own: list[int], values: list) -> np.ndarray:
    """Interpolate a profile to other lags; NaN past its end (a curriculum shortens early ones)."""
    profile = np.array(values, float)
    if lags == own:
        return profile
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.exp(np.interp(lags, own, np.log(profile), right=np.nan))


def _is_measured(values: list) -> bool:
    """Whether there is a number among the values; the log has `None` for what is not finite."""
    return any(value is not None for value in values)


def _table(columns: list[np.ndarray]) -> list[list[float | None]]:
    return [numbers(row) for row in np.stack(columns, axis=1)]


def _slug(name: str) -> str:
    """A name for a file: letters and digits joined by dashes."""
    return "-".join("".join(c if c.isalnum() else " " for c in name).split())
