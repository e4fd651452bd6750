"""Parts of forecasting: inputs and targets, how they are learned, sparklines."""

import numpy as np

from ...data.scaling import Scaler
from ..target_codec import TargetCodec
from ..windows import Stream
from .quantiles import fit_quantiles

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


def fit_forecasts(
    xs: list[np.ndarray],
    columns: list[int],
    horizon: int,
    scaler: Scaler,
    levels: tuple[float, ...] | None,
) -> TargetCodec:
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
    return TargetCodec(None, tiled, float(np.var(later, axis=0).mean()) if len(later) else 0.0)


def joined(streams: list[Stream], inputs: int, outputs: int | None) -> Stream:
    """Concatenate streams; `outputs` is `None` for classes."""
    if not streams:
        targets = np.zeros(0, np.int32) if outputs is None else np.zeros((0, outputs), np.float32)
        nothing = np.zeros(0, bool)
        return Stream(np.zeros((0, inputs), np.float32), targets, nothing, nothing)
    return Stream(*(np.concatenate(parts) for parts in zip(*streams, strict=True)))


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
    name: str, horizon: int, lines: dict[str, np.ndarray], there: np.ndarray
) -> str | None:
    """A column and its forecasts as sparklines on the same scale, that of the line `actual`.

    Args:
        name: of the column.
        horizon: how far ahead the forecasts are.
        lines: `(T,)` each, by name.
        there: `(T,)`, false where the actual value is missing.
    """
    actual = np.where(there, lines["actual"], np.nan)[:WIDEST]
    if not np.isfinite(actual).any():
        return None
    low, high = float(np.nanmin(actual)), float(np.nanmax(actual))
    ahead = "1 step ahead" if horizon == 1 else f"{horizon} steps ahead"
    drawn = {**lines, "actual": actual}
    return "\n".join(
        [
            f"{name}, {ahead}, from {low:.4g} to {high:.4g}",
            *(f"{key:<10}{sparkline(row[:WIDEST], low, high)}" for key, row in drawn.items()),
        ]
    )
