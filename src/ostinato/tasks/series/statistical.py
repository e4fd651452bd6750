"""Forecasts by exponential smoothing and by the theta method, as yardsticks; they need statsmodels.

    ets      additive errors, a damped additive trend, and an additive season if there is one
    theta    the theta method, by simple exponential smoothing with drift, without a season where a
             test does not find one

Both are fitted anew to all that is known at each origin, which is how they are used. Quantiles are
those of normally distributed errors, as statsmodels computes them.

Source: Hyndman et al. (2008), Forecasting with exponential smoothing; Assimakopoulos and
Nikolopoulos (2000), The theta model.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import BadInput, needing

NAMES = ("ets", "theta")
LONGEST = 1000  # steps that are fitted, the latest ones: the time to fit grows with them
SHORTEST = 10


def checked_names(words: str | Sequence[str]) -> tuple[str, ...]:
    """The names in a text such as `ets,theta`, or those that are given, checked.

    Example:
        >>> checked_names("theta,ets")
        ('theta', 'ets')
    """
    try:
        names = tuple(words.split(",") if isinstance(words, str) else words)
    except TypeError:
        raise BadInput(f"yardsticks must be names, got {words!r:.40}") from None
    names = tuple(x.strip() if isinstance(x, str) else x for x in names)
    for name in names:
        if name not in NAMES:
            raise BadInput(f"yardsticks are among {', '.join(NAMES)}, got {name!r:.40}")
    if len(set(names)) < len(names) or not names:
        raise BadInput(f"yardsticks must be different names among {', '.join(NAMES)}")
    return names


def statistical(
    name: str, known: np.ndarray, horizon: int, season: int | None, levels: Sequence[float | None]
) -> np.ndarray:
    """What a method forecasts after a series, `(horizon, levels)`.

    Args:
        name: one of `NAMES`.
        known: `(T,)`, without gaps; the last `LONGEST` steps of it are fitted.
        horizon: steps to forecast.
        season: steps of a season, or `None`; one that comes less than twice is left out.
        levels: of the quantiles; `None` is the mean.
    """
    with needing("a yardstick by ets or theta", "statsmodels", "stats"):
        import pandas  # statsmodels, which needs it, predicts from its series alone
        import statsmodels.api  # noqa: F401
    known = np.asarray(known, float)[-LONGEST:]
    if len(known) < SHORTEST:
        raise BadInput(f"{name} needs at least {SHORTEST} known steps, got {len(known)}")
    periods = season if season is not None and 1 < season <= len(known) // 2 else None
    if np.ptp(known) == 0:
        return np.full((horizon, len(levels)), known[-1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a fit that has not quite converged
        fit = _ets if name == "ets" else _theta
        mean, between = fit(pandas.Series(known), horizon, periods)
        columns = [mean if q is None or q == 0.5 else between(q) for q in levels]
    return np.stack([np.asarray(column, float) for column in columns], axis=1)


def _ets(known: Any, horizon: int, season: int | None) -> Any:
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel

    form = {"seasonal": "add", "seasonal_periods": season} if season else {}
    model = ETSModel(known, error="add", trend="add", damped_trend=True, **form)
    result = model.fit(disp=False, maxiter=200)
    made = result.get_prediction(start=len(known), end=len(known) + horizon - 1)
    return made.predicted_mean, lambda q: made.pred_int(2 * min(q, 1 - q)).iloc[:, int(q > 0.5)]


def _theta(known: Any, horizon: int, season: int | None) -> Any:
    from statsmodels.tsa.forecasting.theta import ThetaModel

    result = ThetaModel(known, period=season or 1, deseasonalize=season is not None).fit()
    return result.forecast(horizon), lambda q: result.prediction_intervals(
        horizon, alpha=2 * min(q, 1 - q)
    ).iloc[:, int(q > 0.5)]
