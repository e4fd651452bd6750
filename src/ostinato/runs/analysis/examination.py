"""Gather what the doctor needs to know about a run, from its log, data and network."""

from collections.abc import Iterator

import equinox as eqx
import jax
import numpy as np

from ...cells import Model
from ...data import Batch
from ...errors import BadInput
from ...lens import ignored_before, saturation
from ...lens.doctor import Evidence, Finding, Forecasts, Goal, History, diagnose
from ...lens.doctor import Network as Measured
from ...lens.doctor.evidence import look_at_batches
from ...progress import Report, silent
from ...tasks import Task
from ...tasks.series.forecast_scores import hindcasts
from ...tasks.series.series import Series
from ..build import build_learner
from ..folder.events import Divergence, Event, Opening, Valid, logged_steps, of_form, opening
from ..folder.run import RunFolder, Saved, checked_run
from ..loop.devices import ONE, Devices
from ..loop.probe import Lens, first_counted, looked_at
from ..loop.processes import all_or_none, facts, shared_devices
from .evaluation import measured

SEQUENCES = 64
SYMBOLS_SCORED = 20_000
EPOCHS_SCORED = 100  # of data that are few
# The fields that an entry of the log needs to be part of the history, and their names there.
COURSE = {
    "loss": "losses",
    "norm": "norms",
    "largest_norm": "largest",
    "rate": "rates",
    "clipped": "clipped",
    "moved": "moved",
    "largest_moved": "farthest",
}


def examine(
    run: RunFolder,
    task: Task | None = None,
    like: Model | None = None,
    report: Report = silent,
    devices: int = 1,
) -> list[Finding]:
    """What the doctor finds wrong with a run, causes before their effects.

    Args:
        run: the run, finished or not.
        task, like: the task and network given to `train`, if any.
        report: hears what is measured now.
        devices: how many share the batches that are scored; all of them, if several processes work
            together (`join_processes`). What is measured on a few sequences, each does.

    Example:
        >>> for finding in examine(open_run("runs/text-mlstm-1")):
        ...     print(finding.words)
    """
    return diagnose(gather(run, task, like, report, shared_devices(devices)))


def gather(
    run: RunFolder,
    task: Task | None = None,
    like: Model | None = None,
    report: Report = silent,
    devices: Devices = ONE,
) -> Evidence:
    """The evidence for `diagnose`. The arguments are those of `examine`."""
    checked_run(run)
    report(0, None, "reading the log and the data")
    with all_or_none() as known:
        task = run.task(task)
        saved = finite_checkpoint(run, "last", like) if run.steps() else None
        if saved is not None:
            known |= facts("lens", task, saved.network, trained=True)
    size = run.config.batch_size
    first = first_counted(task, size)
    one, two = task.batch(first, size), task.batch(first + 1, size)
    events, kind = run.events(), run.config.learner.kind
    start = opening(events)
    with run.precision():
        network = None if saved is None else _measured(saved, task, one, size, report, devices)
        forecasts = _forecasts(run, like, task, start, report) if run.steps() else None
    return Evidence(
        goal=_goal(task, start),
        settings=run.config.non_default(),
        history=_history(events),
        data=look_at_batches(task, one, two, size, start.get("parameters"), start.get("epochs")),
        network=network,
        first_order=not (kind.exact or kind.epochs),  # a learner that fits once has no rate
        remedy=build_learner(run.config, task).advice(0.0) if kind.epochs else None,
        forecasts=forecasts,
    )


def finite_checkpoint(run: RunFolder, which: str, like: Model | None = None) -> Saved:
    """A checkpoint as `Run.saved` gives it, with noise off; its weights must be finite."""
    saved = run.saved(which, like)
    for path, weight in jax.tree_util.tree_leaves_with_path(saved.network):
        if eqx.is_inexact_array(weight) and not np.all(np.isfinite(weight)):
            name = jax.tree_util.keystr(path).lstrip(".")
            raise BadInput(
                f"the {which} checkpoint of {run.path}, at step {saved.step}, has weights that are "
                f"not finite ({name}); there is nothing to measure. Train again"
            )
    return saved._replace(network=eqx.nn.inference_mode(saved.network))


def _goal(task: Task, start: Opening) -> Goal:
    return Goal(
        metric=task.metric.name,
        chance=task.chance,
        higher_is_better=task.metric.higher_is_better,
        solved=task.solved,
        lag=task.lag,
        baselines={n: x for n, x in start.get("baselines", {}).items() if n != "chance"},
        loss_factor=task.metric.loss_factor,
    )


def _history(events: list[Event]) -> History:
    logged = [entry for entry in logged_steps(events) if COURSE.keys() <= entry.keys()]
    valid = ((event["step"], event["value"]) for event in of_form(events, Valid))
    return History(
        steps=[entry["step"] for entry in logged],
        **{name: [_number(entry[key]) for entry in logged] for key, name in COURSE.items()},
        validations=[(step, value) for step, value in valid if value is not None],
        trouble=next((e["words"] for e in reversed(of_form(events, Divergence))), None),
    )


def _forecasts(
    run: RunFolder, like: Model | None, task: Task, start: Opening, report: Report
) -> Forecasts | None:
    """How good the forecasts of the best checkpoint are on the validation part."""
    series = task.ability(Series)
    if series is None or not series.parts["valid"].there.any():
        return None
    report(0, None, "comparing forecasts with what came")
    made = hindcasts(finite_checkpoint(run, "best", like).network, series, "valid")
    baselines = start.get("baselines", {})
    naive = {name: baselines[name] for name in series.seasons if name in baselines}
    if made.interval is None:
        return Forecasts(naive)
    low, high = made.levels[0], made.levels[-1]
    assert low is not None and high is not None
    apart = int(series.parts["valid"].there.sum()) // series.horizon
    covered = made.metrics()[f"coverage of {made.interval}"]
    return Forecasts(naive, high - low, covered, apart)


def _number(value: float | None) -> float:
    """A number of the log, which has `None` in place of NaN and infinity."""
    return float("nan") if value is None else float(value)


def _measured(
    saved: Saved, task: Task, batch: Batch, size: int, report: Report, devices: Devices
) -> Measured:
    network = saved.network
    layer, few, state, at = looked_at(network, batch, SEQUENCES)
    report(0, None, "measuring the gradient by lag")
    errors = Lens(task.loss).errors(layer, few, state, at)
    memory = None
    if few.sequences > 1:
        report(0, None, "measuring how far back the network looks")
        memory = at - (ignored_before(layer, few.inputs, state, at=at) or 0)
    report(0, None, "measuring saturation")
    units = saturation(layer, few.inputs, state, **few.marks)
    report(0, None, "scoring training batches")
    kept = "kind", "high", "low", "always_high", "always_low"
    return Measured(
        step=saved.step,
        score=_score(network, task, size, devices),
        gradient={name: np.asarray(profile).tolist() for name, profile in errors.items()},
        memory=memory,
        gates={name: {key: getattr(x, key) for key in kept} for name, x in units.items()},
    )


def _score(network: Model, task: Task, size: int, devices: Devices) -> float:
    """The metric on the first training batches."""

    def batches() -> Iterator[Batch]:
        seen = index = 0
        while seen < SYMBOLS_SCORED and (task.epochs(index, size) or 0.0) < EPOCHS_SCORED:
            batch = task.batch(index, size)
            yield batch
            seen, index = seen + batch.size, index + 1

    (value,) = measured(devices.place_all(network), batches(), (task.metric,), devices)
    assert value is not None
    return value
