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
from ..task import checked_count
from .forecast import Forecast
from .quantiles import sorted_quantiles
from .series_data import as_series

if TYPE_CHECKING:
    from .series import Series


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
    columns, width = task.columns, len(task.names)
    if problem := no_loop(network, task):
        raise BadInput(problem)
    series = as_series(history)
    if len(series) != 1 or series[0].shape[1] != columns.width:
        raise BadInput(f"the history must be (T, {columns.width}), got {np.shape(history)}")
    check_complete(
        series[0][:, :width],
        "mask" if task.scaler.masked else "refuse",
        lambda at: f"step {at[0]}, column {task.names[at[1]]!r} of the history",
        advise=False,
    )
    ahead = columns.ahead(series[0], future, steps + columns.horizon)
    ahead[:, task.targets] = np.array(task.scaler.means)[
        task.targets
    ]  # the loop puts its own there
    rows = jnp.asarray(columns(ahead[:steps], ahead[steps:])[:, None])
    inputs = jnp.asarray(columns(series[0], ahead)[:, None])
    layer = eqx.nn.inference_mode(network).as_layer()
    made = continued(layer, inputs, task.answers, rows, places_of(task.targets))
    scaled = np.asarray(made, float)[:, 0, :width]
    return scaled * np.array(task.scaler.factor) + np.array(task.scaler.shift)


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
    network: Layer, inputs: jax.Array, answers: Any, rows: jax.Array, places: jax.Array
) -> jax.Array:
    """The inputs that follow `(T, B, inputs)` in a closed loop, `(steps, B, inputs)`.

    Args:
        network: has a step.
        inputs: what it reads first.
        answers: how its outputs are to be read.
        rows: `(steps, B, inputs)`, the inputs after them but for what is forecast.
        places: see `places_of`.
    """
    outputs, state = outputs_of(network, Batch(inputs, None, jnp.ones(inputs.shape[:2])))
    into, which = places

    def step(carry: Any, row: jax.Array) -> Any:
        state, outputs = carry
        x = row.at[..., into].set(answers.centre(outputs)[..., which].astype(row.dtype))
        return network.step(state, network.inputs(x)), x

    return jax.lax.scan(step, (state, outputs[-1]), rows)[1]


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
    made = []
    for number, x in enumerate(task.series):
        future = task.future_of(number, count)
        if loop:
            values = closed_loop(network, task, x, count, future)[:, task.targets, None]
        else:
            values = forecasts_at_each(network, task, x, future)[-1, :count]
        made.append(values)
    return Forecast(
        series=task.series_names,
        targets=tuple(task.names[n] for n in task.targets),
        levels=() if loop else task.quantiles or (),
        values=np.stack(made),
        sequence=task.settings.sequence,
        notes=(*task.notes, *(_loop_notes(task) if loop else ())),
    )


def _loop_notes(task: "Series") -> Iterator[str]:
    """What a closed loop assumes, in sentences."""
    steady = [
        name
        for n, name in enumerate([*task.names, *task.columns.words])
        if n not in task.targets and name not in (*task.columns.known, *task.columns.static)
    ]
    far = "1 step" if task.horizon == 1 else f"{task.horizon} steps"
    if steady:
        stay = "stays at its" if len(steady) == 1 else "stay at their"
        yield f"after the last row {', '.join(steady[:20])} {stay} last value"
    if task.quantiles is not None:
        yield f"past the horizon of {far} there is one path, without an interval"


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
        `(T, horizon, target columns, levels)`; without quantiles there is one level.

    Example:
        >>> task = Series(np.sin(np.arange(200) / 5), horizon=3)
        >>> network = Network(LSTM(1, 8, key=key), Readout(8, 3, key=key))
        >>> forecasts_at_each(network, task, task.series[0][:20]).shape
        (20, 3, 1, 1)
    """
    inputs = task.columns(x, task.columns.ahead(x, future, task.horizon))[:, None]
    batch = Batch(inputs, None, np.ones(inputs.shape[:2], np.float32))
    with own_precision(network):
        outputs = outputs_on(network, batch.arrays)
    levels: tuple[Any, ...] = task.quantiles or (None,)
    scaler = task.answers.scaler
    assert scaler is not None
    scaled = sorted_quantiles(np.asarray(outputs, float)[:, 0], levels)
    values = scaled * np.array(scaler.factor)[:, None] + np.array(scaler.shift)[:, None]
    return values.reshape(len(x), task.horizon, len(task.targets), len(levels))
