"""Series in a line of text each, for the preview of a run."""

import numpy as np

BARS = "▁▂▃▄▅▆▇█"
WIDEST = 72


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
