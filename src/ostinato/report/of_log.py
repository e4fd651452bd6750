"""Charts of how a run went, from its events."""

import re

import numpy as np

from ..lens.names import plain_name, weight_name
from ..runs.trouble import logged_steps
from .charts import Chart, Heat, Lines, Series, numbers
from .subject import Course, Subject

STEP = "training step"
LAG = "lag (steps)"


def losses(course: Course) -> list[Chart]:
    """Training and validation by step: one chart where both have a unit in common, else two."""
    task, metric = course.task, course.task.metric
    factor = metric.loss_factor
    training = _series(course, "train", "loss", "training", factor or 1.0)
    valid = _series(course, "valid", "value", "validation")
    levels = dict(course.start.get("baselines", {}))
    unit = f"{metric.name} (share of answers)" if metric.name == "accuracy" else metric.name
    if task.solved is not None:
        levels["solved"] = task.solved
    better = "Higher" if metric.higher_is_better else "Lower"
    caption = f"{better} is better. {_baselines(course, levels)}"
    if factor is not None:
        both = [training, valid] if valid.x else [training]
        return [_learning("loss", metric.name.capitalize(), caption, both, metric.name, levels)]
    words = f"What is minimised; it is not the {metric.name} that counts in the end."
    y_title = f"loss{course.in_nats}"
    found: list[Chart] = [_learning("loss", "Training loss", words, [training], y_title, {})]
    if valid.x:
        title = f"Validation {metric.name}"
        found.append(_learning("validation", title, caption, [valid], unit, levels))
    return found


def gradient_maps(course: Course) -> list[Chart]:
    """The gradient by lag and step, one map for each recurrent weight; none without `--lens`."""
    found: list[Chart] = []
    for name in _names(course, "gradient"):
        looks = [look for look in course.of_kind("lens") if name in look["gradient"]]
        lags = max((look["lags"] for look in looks), key=lambda lags: lags[-1])
        words = words_for(course, name)
        found.append(
            Heat(
                name=f"gradient-{_slug(name)}",
                title=f"Gradient by lag: {words}",
                caption=(
                    "The error that the loss of one step sends back to the pre-activations: "
                    f"{words}, by how many steps it has come (the lag). A column that darkens "
                    "upwards is a gradient that vanishes; one that brightens, one that explodes."
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
    return found


def memory_over_training(course: Course) -> list[Chart]:
    """The memory length that the gradient gives, by step; none without `--lens`."""
    looks = course.of_kind("lens")
    if not looks:
        return []
    steps = [look["step"] for look in looks]
    series = [
        Series(words_for(course, name), steps, numbers(look["memory"].get(name) for look in looks))
        for name in _names(course, "memory")
    ]
    levels = {"the farthest that was looked at": float(max(look["lags"][-1] for look in looks))}
    words = ""
    if course.task.lag is not None:
        levels["the task needs"] = float(course.task.lag)
        words = " Below what the task needs, the gradient cannot teach it all."
    return [
        Lines(
            name="memory",
            title="Memory length while learning",
            caption=(
                "The largest lag at which the gradient is still a hundredth of its peak, at each "
                f"recurrent weight.{words}"
            ),
            series=series,
            x_title=STEP,
            y_title="memory length (steps)",
            from_zero=True,
            levels=levels,
        )
    ]


def steps_taken(course: Course) -> list[Chart]:
    """The gradient's norm, how often it was clipped, and the rate or the damping."""
    mean = _series(course, "train", "norm", "mean")
    largest = _series(course, "train", "largest_norm", "largest")
    levels = {}
    clip = getattr(course.run.config, "clip", "off")
    if clip not in ("auto", "off") and not clip.endswith("x") and not _damped(course):
        levels["clipped above"] = float(clip)
    found: list[Chart] = [
        Lines(
            name="norm",
            title="Gradient norm",
            caption=(
                "Over all weights, before clipping: the mean of the steps between two entries of "
                "the log, and the largest of them. Spikes are gradients that explode."
            ),
            series=[mean] if mean.y == largest.y else [mean, largest],
            x_title=STEP,
            y_title=f"gradient norm{course.in_nats}",
            log_y=True,
            levels=levels,
        )
    ]
    return found + (_damping(course) if _damped(course) else _rate(course))


def words_for(course: Course, name: str) -> str:
    """A recurrent weight in words: by its cell, where the network is there."""
    if isinstance(course, Subject):
        return weight_name(name, course.network)
    return plain_name(name)


def _names(course: Course, what: str) -> list[str]:
    """The weights of which the looks tell something, in the order in which they came."""
    return list(dict.fromkeys(name for look in course.of_kind("lens") for name in look[what]))


def _damped(course: Course) -> bool:
    return any("damping" in event for event in course.of_kind("train"))


def _rate(course: Course) -> list[Chart]:
    clipped = Lines(
        name="clipped",
        title="Clipped steps",
        caption=(
            "The share of steps whose gradient was shortened. Near 1 it is the clipping, and not "
            "the gradient, that decides how long a step is."
        ),
        series=[_series(course, "train", "clipped", "clipped")],
        x_title=STEP,
        y_title="share of steps",
        from_zero=True,
    )
    rate = Lines(
        name="rate",
        title="Learning rate",
        caption="As the schedule has it, after warm-up, decay and line search.",
        series=[_series(course, "train", "rate", "rate")],
        x_title=STEP,
        y_title="learning rate",
        from_zero=True,
    )
    return [clipped, rate]


def _damping(course: Course) -> list[Chart]:
    """What a learner that uses the curvature did."""
    dampings = [
        _series(course, "train", key, name)
        for key, name in (("damping", "λ, on the weights"), ("structural", "μ, on the states"))
    ]
    damping = Lines(
        name="damping",
        title="Damping",
        caption="How far the quadratic is distrusted; it falls while steps keep their promise.",
        series=[series for series in dampings if any(series.y)],
        x_title=STEP,
        y_title="damping",
        log_y=True,
    )
    ratio = Lines(
        name="ratio",
        title="Reduction ratio and length of step",
        caption=(
            "ρ is what a step gained over what the quadratic promised: near 1 it is right, at 0 or "
            "below nothing was gained. A length of 0 is a step that was refused."
        ),
        series=[
            _series(course, "train", "ratio", "ρ"),
            _series(course, "train", "rate", "length"),
        ],
        x_title=STEP,
        y_title="ratio",
    )
    return [damping, ratio]


def _series(course: Course, kind: str, key: str, name: str, factor: float = 1.0) -> Series:
    found = logged_steps(course.events) if kind == "train" else course.of_kind(kind)
    events = [event for event in found if key in event]
    values = (None if event[key] is None else factor * event[key] for event in events)
    return Series(name, [event["step"] for event in events], numbers(values))


def _learning(
    name: str, title: str, caption: str, series: list[Series], y_title: str, levels: dict
) -> Lines:
    """A chart by step, with a logarithmic axis where the numbers differ much."""
    values = [y for one in series for y in one.y if y is not None] + list(levels.values())
    wide = bool(values) and min(values) > 0 and max(values) > 20 * min(values)
    return Lines(
        name=name,
        title=title,
        caption=caption,
        series=series,
        x_title=STEP,
        y_title=y_title,
        log_y=wide,
        levels=levels,
    )


def _baselines(course: Course, levels: dict[str, float]) -> str:
    words = "Chance is the best answer that ignores the input."
    if "solved" in levels:
        words += " From the line of solved on, the task counts as done."
    if "bigram" in levels:
        words = (
            "Chance knows how often each symbol occurs, bigram and order 5 count what follows the "
            "last symbol and the last five."
        )
    if course.of_kind("trouble"):
        words += " The run diverged at the end."
    return words


def _at(lags: list[int], own: list[int], values: list) -> np.ndarray:
    """A profile at other lags than its own, which a curriculum makes shorter; NaN past its end."""
    found = np.array(values, float)
    if lags == own:
        return found
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.exp(np.interp(lags, own, np.log(found), right=np.nan))


def _table(columns: list[np.ndarray]) -> list[list[float | None]]:
    return [numbers(row) for row in np.stack(columns, axis=1)]


def _slug(name: str) -> str:
    """A name for a file: letters and digits, with dashes between."""
    path = re.sub(r"\.cell(?=[. ])", "", name)
    return "-".join("".join(c if c.isalnum() else " " for c in path).split())
