"""Forecast what comes after the end of a file, with a trained network."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np

from ..data import Batch
from ..errors import BadInput
from ..wiring import outputs_of
from .closed_loop import closed_loop
from .series import Series


def continuations(
    network: Any, file: Path | None, settings: Any, artefacts: dict[str, Any], steps: int | None
) -> Iterator[dict[str, Any]]:
    """The forecast after the last row of every series of a file, as JSON.

    Args:
        network: the trained network.
        file: a table or an array with the columns that the network reads.
        settings, artefacts: those of the run.
        steps: forecast so many steps in a closed loop; `None` for the horizon of the run.

    Returns:
        A dictionary for each series: `columns`, `forecast` with a row per step, and `text`, the
        same as CSV. With quantiles a column is called `name 0.9`.
    """
    if file is None or str(file) == "-":
        raise BadInput("a forecast needs a file: data.csv, .npy or .parquet")
    if settings.kind is not None:
        raise BadInput("this run learns a column from the others; it forecasts nothing")
    task = Series.on_file(file, settings, artefacts)
    for number, x in enumerate(task.series):
        if steps is None:
            columns, rows = _ahead(network, task, x)
        else:
            columns, rows = task.names, closed_loop(network, task, x, steps)
        lines = [[str(k), *(f"{value:.6g}" for value in row)] for k, row in enumerate(rows, 1)]
        text = "\n".join(",".join(line) for line in [["step", *columns], *lines])
        yield {"series": number, "columns": columns, "forecast": rows.tolist(), "text": text}


def _ahead(network: Any, task: Series, x: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The names and the values `(horizon, columns)` that the network forecasts at the last step."""
    inputs = task.scaler(x)[:, None]
    batch = Batch(inputs, None, np.ones(inputs.shape[:2], np.float32))
    outputs, _ = _outputs(eqx.nn.inference_mode(network), batch.arrays)
    levels = task.quantiles or (None,)
    scaler, names = task.answers.scaler, [task.names[n] for n in task.targets]
    assert scaler is not None
    scaled = np.asarray(outputs, float)[-1, 0].reshape(-1, len(levels))
    values = scaled * np.array(scaler.factor)[:, None] + np.array(scaler.shift)[:, None]
    columns = [name if q is None else f"{name} {q:g}" for name in names for q in levels]
    return columns, values.reshape(task.horizon, len(columns))


@eqx.filter_jit
def _outputs(network: Any, batch: Batch) -> Any:
    return outputs_of(network, batch)
