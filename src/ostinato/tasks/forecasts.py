"""Parts of forecasting: inputs and targets, the persistence baseline, sparklines."""

import numpy as np

from ..data.scaling import Scaler
from .windows import Stream

BARS = "▁▂▃▄▅▆▇█"
WIDEST = 72


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


def joined(streams: list[Stream], inputs: int, outputs: int | None) -> Stream:
    """Concatenate streams; `outputs` is `None` for classes."""
    if not streams:
        targets = np.zeros(0, np.int32) if outputs is None else np.zeros((0, outputs), np.float32)
        nothing = np.zeros(0, bool)
        return Stream(np.zeros((0, inputs), np.float32), targets, nothing, nothing)
    return Stream(*(np.concatenate(parts) for parts in zip(*streams, strict=True)))


def persistence(stream: Stream, scaler: Scaler, columns: list[int], horizon: int) -> float:
    """The mean squared error of repeating the last value, in the units of the data.

    Missing values are replaced by the last one before them, or by the mean if there is none.
    """
    values = stream.inputs[:, columns].astype(float)
    for n, column in enumerate(columns):
        if column in scaler.masked:
            there = stream.inputs[:, len(scaler.shift) + scaler.masked.index(column)] == 0
            last = np.maximum.accumulate(np.where(there | stream.starts, np.arange(len(there)), 0))
            values[:, n] = values[last, n]
    factors = np.tile(np.array(scaler.factor)[columns], horizon)
    apart = (np.tile(values, horizon) - stream.targets) * factors
    return float(np.mean(apart[stream.there] ** 2))


def sparkline(values: np.ndarray, low: float, high: float) -> str:
    """Values as bars of eight heights, with a blank for a value that is not finite.

    Example:
        >>> sparkline(np.array([0.0, 1.0, 2.0]), 0.0, 2.0)
        '▁▅█'
    """
    span = high - low or 1.0
    return "".join(
        BARS[round(min(max((x - low) / span, 0), 1) * (len(BARS) - 1))] if np.isfinite(x) else " "
        for x in values.tolist()
    )


def sparklines(
    name: str, horizon: int, actual: np.ndarray, forecast: np.ndarray, there: np.ndarray
) -> str | None:
    """A column and its forecast as two sparklines on the same scale."""
    actual = np.where(there, actual, np.nan)[:WIDEST]
    if not np.isfinite(actual).any():
        return None
    low, high = float(np.nanmin(actual)), float(np.nanmax(actual))
    ahead = "1 step ahead" if horizon == 1 else f"{horizon} steps ahead"
    return "\n".join(
        [
            f"{name}, {ahead}, from {low:.4g} to {high:.4g}",
            f"actual    {sparkline(actual, low, high)}",
            f"forecast  {sparkline(forecast[:WIDEST], low, high)}",
        ]
    )
