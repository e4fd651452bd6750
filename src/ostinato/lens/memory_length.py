"""How long a network remembers: the lag at which an influence has faded."""

from typing import Any

import numpy as np


def memory_length(influence: Any, lags: Any = None, share: float = 0.01) -> int | None:
    """The largest lag at which the influence still is at least `share` of its largest value.

    Args:
        influence: by lag, however it was measured: `gradient_by_lag` (how far the error reaches
            back), `jacobian_by_lag` (how far the state depends on its past) or
            `influence_by_lag` (how far the output really does).
        lags: those of the influence; 0, 1, 2, … by default.
        share: what counts as faded.

    Returns:
        A lag; 0 where the influence is zero at every lag; `None` where it was not measured, because
        there are no values or they are not all finite.

    Example:
        >>> memory_length([1.0, 0.5, 0.1, 0.002, 0.001])
        2
    """
    influence = np.asarray(influence, float)
    lags = np.arange(len(influence)) if lags is None else np.asarray(lags)
    if not influence.size or not np.all(np.isfinite(influence)):
        return None
    peak = influence.max()
    if peak == 0:
        return 0
    return int(lags[influence >= share * peak].max())
