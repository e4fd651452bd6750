"""Short-term memory capacity: how many past inputs a network can give back."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..data import Batch
from ..settings import setting
from .generated_series import GeneratedSeries
from .metrics import Metric, total, wide
from .regression import NEGLIGIBLE


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

    def __init__(self, *, seed: int = 0, **given: Any):
        super().__init__(seed=seed, **given)
        self.metrics = (Capacity(), *self.answers.metrics)
        self.chance = 0.0

    def generate(self, settings: Any, seed: int) -> tuple[np.ndarray, np.ndarray]:
        delays = settings.delays
        u = np.random.default_rng([seed, 7]).uniform(-1, 1, settings.samples + delays)
        past = np.lib.stride_tricks.sliding_window_view(u[:-1], delays)[:, ::-1]
        return u[delays:], past
