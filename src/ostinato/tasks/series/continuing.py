"""Continue a series with a trained network: in a closed loop, or after the end of a file."""

import csv
import io
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
from .hindcasts import in_units
from .series_data import as_series

if TYPE_CHECKING:
    from .series import Series


def closed_loop(network: Model, task: "Series", history: Any, steps: int) -> np.ndarray:
    """The continuation of a series, in the units of the data.

    The network reads the history, and from then on its own forecast of the next step,
    `x_{t+1} = o_t`. Of a longer horizon only the first step is used, and of quantiles the one next
    to the median, so this is one path without an interval; for intervals forecast with a horizon.

    Args:
        network: trained on the task.
        task: a `Series` that forecasts all of its columns.
        history: `(T, columns)`, or `(T,)` for one column, with at least one step.
        steps: how many steps to forecast.

    Returns:
        `(steps, columns)`, in the order of `task.names`.

    Example:
        >>> task = Series(np.sin(np.arange(200) / 5))
        >>> network = Network(LSTM(1, 8, key=key), Readout(8, 1, key=key))
        >>> closed_loop(network, task, np.sin(np.arange(30) / 5), 12).shape
        (12, 1)
    """
    steps = checked_count(steps, "steps of a forecast")
    width = len(task.names)
    if problem := no_loop(network, task):
        raise BadInput(problem)
    series = as_series(history)
    if len(series) != 1 or series[0].shape[1] != width:
        raise BadInput(f"the history must be (T, {width}), got {np.shape(history)}")
    check_complete(
        series[0],
        "mask" if task.scaler.masked else "refuse",
        lambda at: f"step {at[0]}, column {task.names[at[1]]!r} of the history",
        advise=False,
    )
    places = np.array([task.targets.index(n) for n in range(width)])
    inputs = jnp.asarray(task.scaler(series[0])[:, None])
    gaps = jnp.zeros((1, len(task.scaler.masked)), inputs.dtype)
    layer = eqx.nn.inference_mode(network).as_layer()
    rows = continued(layer, inputs, task.answers, jnp.asarray(places), gaps, steps)
    scaled = np.asarray(rows, float)[:, 0, :width]
    return scaled * np.array(task.scaler.factor) + np.array(task.scaler.shift)


def no_loop(network: Model, task: "Series") -> str | None:
    """Why a network cannot read its own forecasts; `None` if it can."""
    if not task.forecasts or sorted(set(task.targets)) != list(range(len(task.names))):
        known = [task.names[n] for n in task.targets] if task.forecasts else []
        return (
            "a closed loop needs forecasts of all columns, because it reads them; this task "
            f"forecasts {', '.join(known[:20]) or 'none'} of {', '.join(task.names[:20])}"
        )
    if not network.can_step:
        return "a closed loop needs a network with a step, not one that sees the future"
    return None


@eqx.filter_jit
def continued(
    network: Layer, inputs: jax.Array, answers: Any, places: jax.Array, gaps: jax.Array, steps: int
) -> jax.Array:
    """The inputs that follow `(T, B, inputs)` in a closed loop, `(steps, B, inputs)`."""

    def read(outputs: jax.Array) -> jax.Array:
        return jnp.concatenate([answers.centre(outputs)[..., places], gaps], axis=-1)

    outputs, state = outputs_of(network, Batch(inputs, None, jnp.ones(inputs.shape[:2])))

    def step(carry: Any, _: None) -> Any:
        state, x = carry
        state, outputs = network.step(state, network.inputs(x))
        return (state, read(outputs)), x

    return jax.lax.scan(step, (state, read(outputs[-1])), None, length=steps)[1]


def continuations(network: Model, task: "Series", steps: int | None) -> Iterator[dict[str, Any]]:
    """The forecast after the last row of every series of a task, as JSON.

    Args:
        network: the trained network.
        task: a `Series` that forecasts.
        steps: how many to forecast in a closed loop, or `None` for the horizon of the task.

    Returns:
        A dictionary for each series: `columns`, `forecast` with a row per step, and `text`, the
        same as CSV. With quantiles a column is called `name 0.9`.
    """
    for number, x in enumerate(task.series):
        if steps is None:
            columns, rows = _ahead(network, task, x)
        else:
            columns, rows = task.names, closed_loop(network, task, x, steps)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["step", *columns])
        writer.writerows([k, *(f"{value:.6g}" for value in row)] for k, row in enumerate(rows, 1))
        yield {
            "series": number,
            "columns": columns,
            "forecast": rows.tolist(),
            "text": text.getvalue().rstrip(),
        }


def _ahead(network: Model, task: "Series", x: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The names and the values `(horizon, columns)` that the network forecasts at the last step."""
    names = [task.names[n] for n in task.targets]
    columns = [name if q is None else f"{name} {q:g}" for name in names for q in task.levels]
    return columns, forecasts_at_each(network, task, x)[-1].reshape(task.horizon, len(columns))


def forecasts_at_each(network: Model, task: "Series", x: np.ndarray) -> np.ndarray:
    """What the network forecasts at each step of a series, in the units of the data.

    Args:
        network: trained on the task.
        task: a `Series` that forecasts.
        x: `(T, columns)`.

    Returns:
        `(T, horizon, target columns, levels)`, with the levels `task.levels`.

    Example:
        >>> task = Series(np.sin(np.arange(200) / 5), horizon=3)
        >>> network = Network(LSTM(1, 8, key=key), Readout(8, 3, key=key))
        >>> forecasts_at_each(network, task, task.series[0][:20]).shape
        (20, 3, 1, 1)
    """
    inputs = task.scaler(x)[:, None]
    batch = Batch(inputs, None, np.ones(inputs.shape[:2], np.float32))
    with own_precision(network):
        outputs = outputs_on(network, batch.arrays)
    values = in_units(np.asarray(outputs)[:, 0], task)
    return values if task.calibration is None else task.calibration(values)
