"""Chaotic series to forecast: Mackey-Glass, Lorenz and the Santa Fe laser."""

import dataclasses
from typing import Any

import numpy as np

from ..cells import Model
from ..data import find_data, read_npy
from ..data.generated.dynamical import lorenz, mackey_glass
from ..data.locate import data_folders
from ..data.splits import shares
from ..errors import BadInput
from ..settings import setting
from .generated_series import GeneratedSeries

AHEAD = 84  # steps in a closed loop at which Mackey-Glass forecasts are compared
LYAPUNOV = 0.9056  # largest exponent of the Lorenz system, per unit of time
LASER = "timeseries/santafe_laser.npy"
INTERVAL = 0.02  # of the samples of the Lorenz system


class MackeyGlass(GeneratedSeries):
    """Forecast the Mackey-Glass equation (see `mackey_glass`) by a step.

    An evaluation also reports the NRMSE 84 steps ahead in a closed loop, from 100 places:
    `√(mean (x̂ - x)² / var x)`. Jaeger and Haas (2004) report 10^-4.2 with 1,000 units for τ = 17.

    Shapes: inputs and targets `(T, B, 1)`.

    Example:
        >>> task = MackeyGlass(samples=2000, washout=100, length=50)
        >>> task.batch(0, size=1).inputs.shape
        (50, 1, 1)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(GeneratedSeries.Settings):
        tau: int = setting(17, "delay of the Mackey-Glass equation", min=1, max=1000)

    name = "mackey-glass"

    def generate(self, settings: Any, seed: int) -> tuple[np.ndarray, None]:
        return mackey_glass(settings.samples, settings.tau, seed), None

    def scores(self, network: Model, part: str) -> dict[str, Any]:
        found = self.closed_loops(network, part, AHEAD)
        if found is None:
            return {}
        error = (found[0] - found[1])[-1]
        return {f"NRMSE{AHEAD}": float(np.sqrt(np.mean((error / self.deviation()) ** 2)))}


class Lorenz(GeneratedSeries):
    """Forecast the three variables of the Lorenz system (see `lorenz`) by 0.02 units of time.

    An evaluation also reports for how long a forecast in a closed loop holds, as the median over
    100 places, in Lyapunov times: until `‖x̂ - x‖ / √(mean ‖x - mean x‖²)` exceeds 0.4 (Pathak et
    al., 2018).

    Shapes: inputs and targets `(T, B, 3)`.

    Example:
        >>> task = Lorenz(samples=1000, washout=50, length=50)
        >>> task.batch(0, size=1).inputs.shape
        (50, 1, 3)
    """

    name = "lorenz"

    def generate(self, settings: Any, seed: int) -> tuple[np.ndarray, None]:
        return lorenz(settings.samples, seed, interval=INTERVAL), None

    def scores(self, network: Model, part: str) -> dict[str, Any]:
        steps = round(20 / LYAPUNOV / INTERVAL)
        found = self.closed_loops(network, part, steps)
        if found is None:
            return {}
        with np.errstate(over="ignore"):
            far = np.linalg.norm(found[0] - found[1], axis=-1)
        wrong = ~(far / np.linalg.norm(self.deviation()) <= 0.4)
        held = np.where(wrong.any(axis=0), wrong.argmax(axis=0), steps)
        return {"Lyapunov times forecast": float(np.median(held)) * INTERVAL * LYAPUNOV}


class SantaFe(GeneratedSeries):
    """Forecast the intensity of a chaotic laser by a step, from `timeseries/santafe_laser.npy`.

    10,093 values from 0 to 255 (Weigend and Gershenfeld, 1993). Put the file, an array of one
    column, into a folder `timeseries` of `$OSTINATO_DATA`; any other series is the task `series`.

    Shapes: inputs and targets `(T, B, 1)`.
    """

    @dataclasses.dataclass(frozen=True)
    class Settings:
        length: int = setting(100, "steps of a window", min=1)
        washout: int = setting(100, "steps after a beginning that do not count", min=0)
        split: str = setting("60/20/20", "percent for training, validation, test", read=shares)

    name = "santa-fe"

    def generate(self, settings: Any, seed: int) -> tuple[np.ndarray, None]:
        return _laser(), None


def _laser() -> np.ndarray:
    try:
        path = find_data(LASER)
    except BadInput:
        where = " or ".join(map(str, data_folders()))
        raise BadInput(
            f"there is no {LASER} in {where}; put the series there as an array of numbers (T,), or "
            "train on a file of your own: ostinato train FILE --washout 100"
        ) from None
    return read_npy(path).reshape(-1, 1)
