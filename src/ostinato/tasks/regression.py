"""Metrics of regression on scaled targets, in the original units of the data.

With scaled outputs o and targets y, and the factor s by which each was divided:

    ErrorInUnits       mean of `(s (o - y))²` over outputs, steps and sequences
    AbsoluteError      mean of `|s (o - y)|`
    RSquared           `1 - Σ (o - y)² / Σ (y - mean y)²`, averaged over the outputs
    NormalisedError    `√(1 - R²)`, the error in units of the deviation, called NRMSE
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..data import Batch
from .metrics import Metric, StepMean, total, wide

NEGLIGIBLE = 1e-12  # of the power of a target: a variance of rounding errors


@dataclasses.dataclass(frozen=True)
class ErrorInUnits(StepMean):
    """The mean squared error in the units of the data.

    Attributes:
        factors: s of each output.

    Example:
        >>> batch = Batch(None, jnp.zeros((3, 2, 1)), jnp.ones((3, 2)))
        >>> metric = ErrorInUnits((10.0,))
        >>> metric.value(metric.counts(jnp.ones((3, 2, 1)), batch))
        100.0
    """

    factors: tuple[float, ...]
    name = "mean squared error"

    @property
    def loss_factor(self) -> float | None:  # type: ignore[override]
        """Loss and metric are proportional if all outputs have the same factor."""
        if len(set(self.factors)) > 1:
            return None
        return 2 * self.factors[0] ** 2 / len(self.factors)

    def score(self, outputs: jax.Array, targets: Any) -> jax.Array:
        return jnp.mean((_apart(outputs, targets) * jnp.asarray(self.factors)) ** 2, axis=-1)


@dataclasses.dataclass(frozen=True)
class AbsoluteError(StepMean):
    """The mean absolute error in the units of the data."""

    factors: tuple[float, ...]
    name = "mean absolute error"

    def score(self, outputs: jax.Array, targets: Any) -> jax.Array:
        return jnp.mean(jnp.abs(_apart(outputs, targets) * jnp.asarray(self.factors)), axis=-1)


def _apart(outputs: jax.Array, targets: Any) -> jax.Array:
    return wide(outputs) - wide(targets)


@dataclasses.dataclass(frozen=True)
class RSquared(Metric):
    """The fraction of the variance explained: 1 is perfect, 0 is as good as the mean.

    It is averaged over the outputs that vary, each with the same weight whatever its units.

    Example:
        >>> targets = jnp.array([[[0.0], [2.0]], [[4.0], [6.0]]])
        >>> metric, batch = RSquared(), Batch(None, targets, jnp.ones((2, 2)))
        >>> metric.value(metric.counts(targets + 1, batch))  # 1 - 4 / 20
        0.8
    """

    name = "R²"
    higher_is_better = True

    def counts(self, outputs: jax.Array, batch: Batch) -> Any:
        weights, y = jnp.asarray(batch.counted)[..., None], wide(batch.targets)
        axes = tuple(range(y.ndim - 1))
        sums = [total(weights * x, axes) for x in (_apart(outputs, y) ** 2, y, y**2)]
        return jnp.stack([*sums, jnp.broadcast_to(total(weights), sums[0].shape)])

    def value(self, counts: Any) -> float | None:
        error, first, second, weight = np.asarray(counts, float)
        if not weight.all():
            return None
        spread = second - first**2 / weight
        varies = spread > NEGLIGIBLE * second
        return float(np.mean(1 - error[varies] / spread[varies])) if varies.any() else None


@dataclasses.dataclass(frozen=True)
class NormalisedError(RSquared):
    """The root mean squared error divided by the deviation of the targets: 1 for their mean.

    Example:
        >>> targets = jnp.array([[[0.0], [2.0]], [[4.0], [6.0]]])
        >>> metric, batch = NormalisedError(), Batch(None, targets, jnp.ones((2, 2)))
        >>> round(metric.value(metric.counts(targets + 1, batch)), 4)  # √(4 / 20)
        0.4472
    """

    name = "NRMSE"
    higher_is_better = False

    def value(self, counts: Any) -> float | None:
        found = super().value(counts)
        return None if found is None else float(np.sqrt(max(1 - found, 0)))
