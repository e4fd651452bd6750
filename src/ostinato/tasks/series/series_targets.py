"""What a network learns of a series: the values that follow each of its steps, scaled."""

import numpy as np

from ...data.scaling import Scaler
from ..target_codec import Numbers
from ..windows import Stream
from .quantiles import fit_quantiles


def pairs(values: np.ndarray, columns: list[int], horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """The inputs of a series `(T, all columns)` and the values that follow each of them.

    Returns:
        Inputs `(T - horizon, all columns)` and the next values `(T - horizon, horizon * columns)`,
        ordered by time, then by column.

    Example:
        >>> now, later = pairs(np.arange(5.0)[:, None], [0], 2)
        >>> now.ravel().tolist(), later.tolist()
        ([0.0, 1.0, 2.0], [[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]])
    """
    count = max(len(values) - horizon, 0)
    later = [values[k : k + count, columns] for k in range(1, horizon + 1)]
    return values[:count], np.concatenate(later, axis=1)


def fit_forecasts(
    xs: list[np.ndarray],
    columns: list[int],
    horizon: int,
    scaler: Scaler,
    levels: tuple[float, ...] | None,
) -> Numbers:
    """How the next values are learned, scaled like the inputs.

    Args:
        xs: the training part of every series, `(T, all columns)`.
        columns: those to forecast.
        horizon: steps to forecast.
        scaler: of all columns.
        levels: of the quantiles to forecast, or `None` for the mean.
    """
    shift, factor, means = (
        tuple(np.tile(np.array(x)[columns], horizon).tolist())
        for x in (scaler.shift, scaler.factor, scaler.means)
    )
    later = np.concatenate([pairs(x, columns, horizon)[1] for x in xs])
    later = later[~np.isnan(later).any(axis=1)]
    tiled = Scaler(shift, factor, means)
    if levels is not None:
        return fit_quantiles(later, tiled, levels)
    return Numbers(tiled, float(np.var(later, axis=0).mean()) if len(later) else 0.0)


def joined(streams: list[Stream], inputs: int, outputs: int | None) -> Stream:
    """Concatenate streams; `outputs` is `None` for classes."""
    if not streams:
        targets = np.zeros(0, np.int32) if outputs is None else np.zeros((0, outputs), np.float32)
        nothing = np.zeros(0, bool)
        return Stream(np.zeros((0, inputs), np.float32), targets, nothing, nothing)
    return Stream(*(np.concatenate(parts) for parts in zip(*streams, strict=True)))
