"""Series of known systems: Mackey-Glass, Lorenz, the Santa Fe laser, NARMA-10, delayed noise."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...cells import Model
from ...data import Batch, find_data, read_npy
from ...data.files import data_folders
from ...data.generated.dynamical import lorenz, mackey_glass, narma
from ...data.splits import in_percent, shares
from ...errors import BadInput
from ...settings import setting
from ..checks import checked_part
from ..metrics import NEGLIGIBLE, NOT_NEGATIVE, Metric, total, wide
from .forecast_scores import Hindcasts
from .generated_series import GeneratedSeries

AHEAD = 84  # steps in a closed loop at which Mackey-Glass forecasts are compared
LYAPUNOV = 0.9056  # largest exponent of the Lorenz system, per unit of time
LASER = "timeseries/santafe_laser.npy"
INTERVAL = 0.02  # of the samples of the Lorenz system
DELAYS = 40  # inputs that the delay line sees


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

    def scores_from(
        self, network: Model, part: str, made: Callable[[], Hindcasts]
    ) -> dict[str, Any]:
        loops = self.closed_loops(network, part, AHEAD)
        if loops is None:
            return {}
        error = (loops[0] - loops[1])[-1]
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

    def scores_from(
        self, network: Model, part: str, made: Callable[[], Hindcasts]
    ) -> dict[str, Any]:
        steps = round(20 / LYAPUNOV / INTERVAL)
        loops = self.closed_loops(network, part, steps)
        if loops is None:
            return {}
        with np.errstate(over="ignore"):
            far = np.linalg.norm(loops[0] - loops[1], axis=-1)
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
        split: str = setting(
            "60/20/20", "percent for training, validation, test", read=shares, write=in_percent
        )

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


class NARMA10(GeneratedSeries):
    """Learn `y_{t+1}` of the system `narma` from the inputs up to `u_t`.

    The metric is the NRMSE. The baseline `delay line` is a linear regression on the last 40 inputs:
    what a memory without nonlinearity can do.

    Sources: Atiya and Parlos (2000); Jaeger (2003).

    Shapes: inputs and targets `(T, B, 1)`.

    Example:
        >>> task = NARMA10(samples=2000, washout=100, length=50)
        >>> task.batch(0, size=1).targets.shape
        (50, 1, 1)
    """

    name = "narma10"
    apply_options = ()

    def generate(self, settings: Any, seed: int) -> tuple[np.ndarray, np.ndarray]:
        u, y = narma(settings.samples, 10, seed)
        return u, y[:, None]

    def yardsticks(self, part: str) -> dict[str, float]:
        train, held_out = self.parts["train"], self.parts[checked_part(part)]
        if not held_out.there.any():
            return {}
        solution, *_ = np.linalg.lstsq(*_delayed(train), rcond=None)
        x, y = _delayed(held_out)
        return {"delay line": float(np.sqrt(np.mean((x @ solution - y) ** 2) / y.var()))}


def _delayed(stream: Any) -> tuple[np.ndarray, np.ndarray]:
    """The last inputs before each step, with a one, and the targets."""
    u = np.concatenate([np.zeros(DELAYS - 1), stream.inputs[:, 0]])
    rows = np.lib.stride_tricks.sliding_window_view(u, DELAYS)
    rows = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
    return rows[stream.there], stream.targets[stream.there, 0].astype(float)


@dataclasses.dataclass(frozen=True)
class Capacity(Metric):
    """`Σ_k r_k²`: the squared correlation of each output with its target, summed over outputs.

    Example:
        >>> targets = jnp.array([[[0.0, 1.0], [2.0, 0.0]], [[4.0, 0.0], [6.0, 1.0]]])
        >>> metric, batch = Capacity(), Batch(None, targets, jnp.ones((2, 2)))
        >>> round(metric.value(metric.counts(3 * targets + 1, batch)), 6)
        2.0
    """

    name = "memory capacity"
    higher_is_better = True
    bounds = NOT_NEGATIVE

    def counts(self, outputs: jax.Array, batch: Batch) -> Any:
        weights, o, y = jnp.asarray(batch.counted)[..., None], wide(outputs), wide(batch.targets)
        axes = tuple(range(y.ndim - 1))
        sums = [total(weights * x, axes) for x in (o, y, o**2, y**2, o * y)]
        return jnp.stack([*sums, jnp.broadcast_to(total(weights), sums[0].shape)])

    def value(self, counts: Any) -> float | None:
        o, y, oo, yy, oy, n = np.asarray(counts, float)
        if not n.all():
            return None
        own, other = oo - o**2 / n, yy - y**2 / n
        together = oy - o * y / n
        varies = (own > NEGLIGIBLE * oo) & (other > NEGLIGIBLE * yy)
        return float(np.sum(together[varies] ** 2 / (own * other)[varies]))


class MemoryCapacity(GeneratedSeries):
    """Give back the inputs of 1, 2, …, K steps ago, which are drawn from U(-1, 1).

    The metric is the memory capacity `Σ_k r²(o_k, u_{t-k})`. It is at most the number of units of
    a network with a linear readout.

    Source: Jaeger (2002), Short term memory in echo state networks.

    Shapes: inputs `(T, B, 1)`, targets `(T, B, K)`.

    Example:
        >>> task = MemoryCapacity(samples=1000, delays=5, washout=20, length=50)
        >>> batch = task.batch(0, size=1)
        >>> batch.targets.shape
        (50, 1, 5)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(GeneratedSeries.Settings):
        delays: int = setting(100, "the longest delay to give back", min=1, max=10_000)

    name = "memory-capacity"
    apply_options = ()
    first_metric = Capacity()
    chance = 0.0

    def generate(self, settings: Any, seed: int) -> tuple[np.ndarray, np.ndarray]:
        delays = settings.delays
        u = np.random.default_rng([seed, 7]).uniform(-1, 1, settings.samples + delays)
        past = np.lib.stride_tricks.sliding_window_view(u[:-1], delays)[:, ::-1]
        return u[delays:], past
