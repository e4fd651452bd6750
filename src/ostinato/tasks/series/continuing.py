"""Continue a series with a trained network: in a closed loop, or after the end of a file."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...cells import Layer, Model
from ...data import Batch
from ...data.scaling import check_complete
from ...errors import BadInput
from ...weights import own_precision
from ...wiring import outputs_of
from ..applying import outputs_on
from ..checks import checked_count
from .forecast import Forecast
from .forecast_scores import in_units
from .series_data import as_series

if TYPE_CHECKING:
    from .series import Series

TOGETHER = 64  # series that are forecast at once
LENGTHENED = 1 << 14  # steps


def closed_loop(
    network: Model, task: "Series", history: Any, steps: int, future: np.ndarray | None = None
) -> np.ndarray:
    """The continuation of a series, in the units of the data.

    The network reads the history, and from then on its own forecast of the next step,
    `x_{t+1} = o_t`. Of a longer horizon only the first step is used, and of quantiles the one next
    to the median, so this is one path without an interval; for intervals forecast with a horizon.
    Columns that are not forecast stay at their last value, unless their future is given.

    Args:
        network: trained on the task.
        task: a `Series` that forecasts.
        history: `(T, columns)`, or `(T,)` for one column, with at least one step; a row is one of
            `task.series`.
        steps: how many steps to forecast.
        future: the rows after the history, of which only what is known ahead counts.

    Returns:
        `(steps, columns)`, in the order of `task.names`.

    Example:
        >>> task = Series(np.sin(np.arange(200) / 5))
        >>> network = Network(LSTM(1, 8, key=key), Readout(8, 1, key=key))
        >>> closed_loop(network, task, np.sin(np.arange(30) / 5), 12).shape
        (12, 1)
    """
    steps = checked_count(steps, "steps of a forecast")
    return _loops(network, task, [_history(network, task, history)], steps, [future])[0]


def drawn_paths(
    network: Model,
    task: "Series",
    history: Any,
    steps: int,
    future: np.ndarray | None = None,
    *,
    paths: int = 500,
    seed: int = 0,
) -> np.ndarray:
    """Continuations of a series by closed loops that read draws from their own forecasts.

    Their quantiles are intervals past the horizon. On the validation part of the yearly sunspots
    the error of their median varied a tenth as much over seeds as that of one path, about the same
    mean. The task must have two quantiles or more; a draw lies between them on straight lines, see
    `QuantileAnswers.drawn`.

    Returns:
        `(paths, steps, columns)`; the other arguments are those of `closed_loop`.

    Example:
        >>> task = Series(np.sin(np.arange(200) / 5), quantiles=(0.1, 0.5, 0.9))
        >>> network = Network(LSTM(1, 8, key=key), Readout(8, 3, key=key))
        >>> drawn_paths(network, task, np.sin(np.arange(30) / 5), 12, paths=50).shape
        (50, 12, 1)
    """
    steps, paths = checked_count(steps, "steps of a forecast"), checked_count(paths, "paths")
    if len(task.levels) < 2:
        raise BadInput("paths are drawn from quantiles; train with two of them or more")
    x = _history(network, task, history)
    shape = steps, paths, task.answers.outputs // len(task.levels)
    chances = np.random.default_rng(seed).random(shape, np.float32)
    return np.stack(_loops(network, task, [x], steps, [future], chances))


def _history(network: Model, task: "Series", history: Any) -> np.ndarray:
    """The series `(T, columns)` that a closed loop goes on from, checked."""
    width = task.columns.width
    if problem := no_loop(network, task):
        raise BadInput(problem)
    series = as_series(history)
    if len(series) != 1 or series[0].shape[1] != width:
        raise BadInput(f"the history must be (T, {width}), got {np.shape(history)}")
    check_complete(
        series[0][:, : len(task.names)],
        "mask" if task.scaler.masked else "refuse",
        lambda at: f"step {at[0]}, column {task.names[at[1]]!r} of the history",
        mask="",
    )
    return series[0]


def _loops(
    network: Model,
    task: "Series",
    xs: list,
    steps: int,
    futures: list,
    chances: np.ndarray | None = None,
) -> list[np.ndarray]:
    """The closed loop after each of several series, `(steps, columns)`, all at once.

    With `chances`, for which see `continued`, there is one series and a loop for each path.
    """
    columns, width = task.columns, len(task.names)
    histories, rows = [], []
    for x, future in zip(xs, futures, strict=True):
        ahead = columns.ahead(x, future, steps + columns.horizon)
        # The loop puts its own forecasts there.
        ahead[:, task.targets] = np.array(task.scaler.means)[task.targets]
        histories.append(columns(x, ahead))
        rows.append(columns(ahead[:steps], ahead[steps:]))
    layer, batch = eqx.nn.inference_mode(network).as_layer(), _side_by_side(histories).arrays
    later = jnp.asarray(np.stack(rows, axis=1))
    made = continued(layer, batch, task.answers, later, places_of(task.targets), chances)
    scaled = np.asarray(made, float)[..., :width]
    units = scaled * np.array(task.scaler.factor) + np.array(task.scaler.shift)
    return [*np.moveaxis(units, 1, 0)]


def _side_by_side(series: list[np.ndarray]) -> Batch:
    """What a network reads of several series, each `(T, inputs)`, with zeros after their ends."""
    lengths = np.array([len(x) for x in series])
    steps = _compiled_steps(int(lengths.max()))
    inputs = np.zeros((steps, len(series), series[0].shape[1]), series[0].dtype)
    for n, x in enumerate(series):
        inputs[: len(x), n] = x
    alike = bool((lengths == steps).all())
    weights = np.ones(inputs.shape[:2], np.float32)
    return Batch(inputs, None, weights, lengths=None if alike else lengths)


def _compiled_steps(steps: int) -> int:
    """The next 2ⁿ or 3·2ⁿ, so that forecasts from growing series compile few programs.

    A long series is not lengthened, because its steps take longer than a compilation.
    """
    if steps > LENGTHENED:
        return steps
    whole = 1 << (steps - 1).bit_length()
    return whole if steps > 3 * whole // 4 else 3 * whole // 4


def no_loop(network: Model, task: "Series") -> str | None:
    """Why a network cannot read its own forecasts; `None` if it can."""
    if not task.forecasts:
        return "a closed loop needs forecasts, because it reads them; this task makes none"
    if not network.can_step:
        return "a closed loop needs a network with a step, not one that sees the future"
    return None


def places_of(targets: list[int]) -> jax.Array:
    """`(2, n)`: the inputs that are forecast, and for each the number of its first forecast."""
    columns = sorted(set(targets))
    return jnp.asarray([columns, [targets.index(column) for column in columns]])


@eqx.filter_jit
def continued(
    network: Layer,
    batch: Batch,
    answers: Any,
    rows: jax.Array,
    places: jax.Array,
    chances: Any = None,
) -> jax.Array:
    """The inputs that follow a batch in a closed loop, `(steps, B, inputs)`.

    Args:
        network: has a step.
        batch: what it reads first, numbers `(T, B, inputs)`.
        answers: how its outputs are to be read.
        rows: `(steps, B, inputs)`, the inputs after them but for what is forecast.
        places: see `places_of`.
        chances: `(steps, paths, targets)`, the levels of the quantiles that are read; then there is
            one sequence, which is read once and goes on along so many paths. By default it is the
            quantile next to the median.
    """
    outputs, state = outputs_of(network, batch)
    into, which = places
    last = outputs[-1]
    if batch.lengths is not None:
        last = outputs[batch.lengths - 1, jnp.arange(len(batch.lengths))]
    if chances is not None:
        paths = chances.shape[1]
        state, last = jax.tree.map(lambda x: jnp.repeat(x, paths, axis=0), (state, last))
        rows = jnp.repeat(rows, paths, axis=1)

    def step(carry: Any, at: Any) -> Any:
        (state, outputs), (row, chance) = carry, at
        made = answers.centre(outputs) if chance is None else answers.drawn(outputs, chance)
        x = row.at[..., into].set(made[..., which].astype(row.dtype))
        return network.step(state, network.inputs(x)), x

    return jax.lax.scan(step, (state, last), (rows, chances))[1]


def forecast_after(network: Model, task: "Series", steps: int | None = None) -> Forecast:
    """What comes after the last row of every series of a task.

    Args:
        network: the trained network.
        task: a `Series` that forecasts.
        steps: how many to forecast; by default the horizon of the task. Past the horizon the
            network goes on from its own forecasts, in a closed loop without intervals.
    """
    loop = steps is not None and steps > task.horizon
    count = task.horizon if steps is None else checked_count(steps, "steps of a forecast")
    if loop and (problem := no_loop(network, task)):
        raise BadInput(problem)
    futures = [task.future_of(number, count) for number in range(len(task.series))]
    made: list[np.ndarray] = []
    for begin in range(0, len(task.series), TOGETHER):
        some = slice(begin, begin + TOGETHER)
        xs, later = task.series[some], futures[some]
        if loop:
            loops = _loops(network, task, xs, count, later)
            made += [path[:, task.targets, None] for path in loops]
        else:
            made += [x[-1, :count] for x in forecasts_of_each(network, task, xs, later)]
    stamps = [task.rows.stamps_from(n, len(x), count) for n, x in enumerate(task.series)]
    known = [x for x in stamps if x is not None]
    times: dict[str, Any] = {}
    if task.rows.timelines is not None and len(known) == len(stamps):
        line = task.rows.timelines[0]
        times = {"stamps": np.stack(known), "zone": line.zone, "time": line.column}
        times |= {"years": line.years}
    return Forecast(
        series=task.series_names,
        targets=tuple(task.names[n] for n in task.targets),
        levels=(None,) if loop else task.levels,
        values=np.stack(made),
        sequence=task.settings.sequence,
        **times,
        notes=(*task.notes, *(_loop_notes(task) if loop else ())),
    )


def _loop_notes(task: "Series") -> Iterator[str]:
    """What a closed loop assumes, in sentences."""
    for note in steady_columns(task):
        yield f"after the last row {note}"
    far = "1 step" if task.horizon == 1 else f"{task.horizon} steps"
    if len(task.levels) > 1:
        yield f"past the horizon of {far} there is one path, without an interval"


def steady_columns(task: "Series") -> list[str]:
    """Which columns stay at their last value in a closed loop, in words; empty if none does."""
    names = [name for n, name in enumerate(task.names) if n not in task.targets]
    others = {*task.columns.known, *task.columns.static}
    steady = [name for name in [*names, *task.columns.words] if name not in others]
    stay = "stays at its" if len(steady) == 1 else "stay at their"
    return [f"{', '.join(steady[:20])} {stay} last value"] if steady else []


def forecasts_at_each(
    network: Model, task: "Series", x: np.ndarray, future: np.ndarray | None = None
) -> np.ndarray:
    """What the network forecasts at each step of a series, in the units of the data.

    Args:
        network: trained on the task.
        task: a `Series` that forecasts.
        x: `(T, columns)`.
        future: the rows after them, of which only what is known ahead counts; where they end, it
            stays at its last value.

    Returns:
        `(T, horizon, target columns, levels)`, with the levels `task.levels`.

    Example:
        >>> task = Series(np.sin(np.arange(200) / 5), horizon=3)
        >>> network = Network(LSTM(1, 8, key=key), Readout(8, 3, key=key))
        >>> forecasts_at_each(network, task, task.series[0][:20]).shape
        (20, 3, 1, 1)
    """
    return forecasts_of_each(network, task, [x], [future])[0]


def forecasts_of_each(network: Model, task: "Series", xs: list, futures: list) -> list[np.ndarray]:
    """The same as `forecasts_at_each` for several series, all at once."""
    columns = task.columns
    inputs = [
        columns(x, columns.ahead(x, future, task.horizon))
        for x, future in zip(xs, futures, strict=True)
    ]
    with own_precision(network):
        outputs = np.asarray(outputs_on(network, _side_by_side(inputs).arrays))
    scaler, levels = task.answers.scaler, task.learned_levels
    assert scaler is not None
    count = len(task.targets)
    values = [in_units(outputs[: len(x), n], scaler, levels, count) for n, x in enumerate(xs)]
    return values if task.calibration is None else [task.calibration(x) for x in values]
