"""Metrics: how good a network is, from counts that add up over batches.

A metric turns the outputs on a batch into counts, and the sum of all counts into one number, so the
result does not depend on how the sequences are divided into batches. Counts are made and added in
float64, whatever the network computes in (`counted` and `values_of`): sums over a million steps,
or of squares that nearly cancel (101,325 ± 10), lose nothing.

    Bits                `Σ w (-log₂ softmax(o)[target]) / Σ w`
    Perplexity          `2^bits`
    NatsPerStep         `Σ w loss(o, target) / Σ w`
    Accuracy            the fraction of steps at which the largest output is the target
    ExactMatch          the fraction of sequences that are right at every step
    MeanSquaredError    `Σ w ‖o - target‖² / Σ w`
    FrameError          `Σ w ‖σ(o) - target‖² / Σ w`, for pixels
    OfSteps             another one of these, of some of the steps

Metrics of regression are in the original units of the data. With scaled outputs o and targets y,
and the factor s by which each was divided:

    ErrorInUnits       mean of `(s (o - y))²` over outputs, steps and sequences
    AbsoluteError      mean of `|s (o - y)|`
    RSquared           `1 - Σ (o - y)² / Σ (y - mean y)²`, averaged over the outputs
    NormalisedError    `√(1 - R²)`, the error in units of the deviation, called NRMSE
"""

import abc
import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..data import Batch
from .losses import CrossEntropy, StepLoss

SHARE = (0.0, 1.0)
NOT_NEGATIVE = (0.0, math.inf)
NEGLIGIBLE = 1e-12  # of the power of a target: a variance of rounding errors


class Metric(abc.ABC):
    """A number that says how good a network is.

    Attributes:
        name: its name with the unit, for example "bits per character".
        higher_is_better: false for an error.
        loss_factor: the task's loss times this is the metric; `None` if they measure different
            things, such as an accuracy and a cross-entropy.
        bounds: the least and the largest value that it can have, for confidence intervals.

    Example:
        >>> batch = Batch(None, np.array([[0, 1]]), np.ones((1, 2)))
        >>> metric = Accuracy()
        >>> metric.value(jax.jit(metric.counts)(np.array([[[2.0, 1.0], [3.0, 1.0]]]), batch))
        0.5
    """

    name: str
    higher_is_better: ClassVar[bool] = False
    loss_factor: ClassVar[float | None] = None
    bounds: ClassVar[tuple[float, float]] = (-math.inf, math.inf)

    @abc.abstractmethod
    def counts(self, outputs: jax.Array, batch: Batch) -> Any:
        """A pytree of arrays that add up over batches. Padding must not count.

        It is compiled where float64 is available; `total` and `wide` use it.
        """

    @abc.abstractmethod
    def value(self, counts: Any) -> float | None:
        """The metric from the sum of all counts, or `None` if nothing was counted."""


@eqx.filter_jit
def counts_of(metrics: tuple[Metric, ...], outputs: jax.Array, batch: Batch) -> list[Any]:
    """The counts of some metrics on a batch, without `first`; compiled."""
    return [metric.counts(outputs, batch) for metric in metrics]


def counted(
    metrics: tuple[Metric, ...], outputs: Any, batch: Batch, count: Callable = counts_of
) -> list[Any]:
    """The counts of some metrics on a batch, with sums in float64.

    The result stays on the device; `values_of` takes it. `count` does what `counts_of` does, for
    example on several devices.
    """
    with jax.enable_x64(True):
        return count(metrics, outputs, batch.arrays)


def counted_together(metrics: tuple[Metric, ...], outputs: jax.Array, batches: Batch) -> list[Any]:
    """`counted` for several networks at once: all arrays have a row for each."""
    with jax.enable_x64(True):
        return _counted_together(metrics, outputs, batches.arrays)


@eqx.filter_jit
def _counted_together(metrics: tuple[Metric, ...], outputs: jax.Array, batches: Batch) -> list:
    return jax.vmap(lambda *one: [metric.counts(*one) for metric in metrics])(outputs, batches)


def values_of(metrics: tuple[Metric, ...], counts: Sequence[list[Any]]) -> list[float | None]:
    """The metrics from their counts on all batches; `None` for one that counted nothing.

    Example:
        >>> batch = Batch(None, np.array([[0, 1]]), np.ones((1, 2)))
        >>> metrics = (Accuracy(),)
        >>> values_of(metrics, [counted(metrics, np.ones((1, 2, 2)), batch)])
        [0.5]
    """
    if not counts:
        return [None for _ in metrics]
    sums = jax.tree.map(lambda *x: sum(np.asarray(y, np.float64) for y in x), *counts)
    return [metric.value(summed) for metric, summed in zip(metrics, sums, strict=True)]


def total(values: Any, axis: Any = None) -> jax.Array:
    """The sum of an array, in float64 within `counted`."""
    return jnp.sum(values, axis, dtype=jnp.result_type(float))


def wide(values: Any) -> jax.Array:
    """An array in float64 within `counted`: for numbers whose squares or differences are taken."""
    return jnp.asarray(values, jnp.result_type(float))


class Ratio(Metric):
    """A metric whose counts are two sums, and which is the first divided by the second."""

    def value(self, counts: Any) -> float | None:
        above, below = counts
        return float(above / below) if below else None


@dataclasses.dataclass(frozen=True)
class StepMean(Ratio):
    """The weighted mean of a score at each step and sequence, `Σ w score / Σ w`."""

    @abc.abstractmethod
    def score(self, outputs: jax.Array, targets: Any) -> jax.Array:
        """The score at each step and sequence: `(..., outputs)` to `(...)`."""

    def counts(self, outputs: jax.Array, batch: Batch) -> Any:
        weights = jnp.asarray(batch.counted)
        return total(self.score(outputs, batch.targets) * weights), total(weights)


@dataclasses.dataclass(frozen=True)
class Bits(StepMean):
    """Cross-entropy in bits per `unit`: the metric of language models."""

    unit: str = "symbol"
    loss_factor: ClassVar[float | None] = 1 / math.log(2)
    bounds = NOT_NEGATIVE

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"bits per {self.unit}"

    def score(self, outputs: jax.Array, targets: Any) -> jax.Array:
        return CrossEntropy().at(outputs, targets) / jnp.log(2.0)


@dataclasses.dataclass(frozen=True)
class Perplexity(Bits):
    """`2^bits`: as uncertain as a choice among that many equally probable symbols.

    It is per symbol; for characters it is not comparable with the usual perplexity per word.
    """

    loss_factor = None
    bounds = (1.0, math.inf)

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"perplexity per {self.unit}"

    def value(self, counts: Any) -> float | None:
        bits = super().value(counts)
        return None if bits is None else perplexity(bits)


def perplexity(bits: float) -> float:
    """`2^bits`; infinity where that overflows."""
    with np.errstate(over="ignore"):
        return float(np.exp2(bits))


@dataclasses.dataclass(frozen=True)
class NatsPerStep(StepMean):
    """The loss itself, if it is in nats."""

    loss: StepLoss
    name = "nats per step"
    loss_factor = 1.0

    def score(self, outputs: jax.Array, targets: Any) -> jax.Array:
        return self.loss.at(outputs, targets)


@dataclasses.dataclass(frozen=True)
class Accuracy(StepMean):
    """The fraction of steps at which the largest output is the target.

    Attributes:
        unknown: the symbol that stands for whatever a vocabulary does not know, if there is one.
            To predict it is never right, because it is not what the text says.
    """

    unknown: int | None = None
    name = "accuracy"
    higher_is_better = True
    bounds = SHARE

    def score(self, outputs: jax.Array, targets: Any) -> jax.Array:
        return _right(outputs, targets, self.unknown).astype(jnp.float32)


def _right(outputs: jax.Array, targets: Any, unknown: int | None) -> jax.Array:
    right = jnp.argmax(outputs, axis=-1) == targets
    return right if unknown is None else right & (jnp.asarray(targets) != unknown)


@dataclasses.dataclass(frozen=True)
class ExactMatch(Ratio):
    """The fraction of sequences that are right at every step.

    For a decoder that is given the right symbols so far, this is also how often it would write
    the whole sequence right on its own, always choosing the most probable symbol.

    Attributes:
        unknown: see `Accuracy`; a sequence with it is never right.
    """

    unknown: int | None = None
    name = "exact match"
    higher_is_better = True
    bounds = SHARE

    def counts(self, outputs: jax.Array, batch: Batch) -> Any:
        counted = jnp.asarray(batch.counted) > 0
        right = _right(outputs, batch.targets, self.unknown) | ~counted
        there = jnp.any(counted, axis=0)
        return jnp.sum(there & jnp.all(right, axis=0)), jnp.sum(there)


@dataclasses.dataclass(frozen=True)
class MeanSquaredError(StepMean):
    """The squared error, summed over the outputs and averaged over steps and sequences."""

    name = "mean squared error"
    bounds = NOT_NEGATIVE
    loss_factor = 2.0

    def score(self, outputs: jax.Array, targets: Any) -> jax.Array:
        return jnp.sum((wide(outputs) - wide(targets)) ** 2, axis=-1)


@dataclasses.dataclass(frozen=True)
class FrameError(StepMean):
    """The squared error of a frame: summed over its pixels, averaged over frames.

    Outputs are the logits of pixels, targets pixels from 0 to 1.
    """

    name = "squared error per frame"
    bounds = NOT_NEGATIVE

    def score(self, outputs: jax.Array, targets: jax.Array) -> jax.Array:
        return jnp.sum((jax.nn.sigmoid(outputs) - targets) ** 2, axis=-1)


@dataclasses.dataclass(frozen=True)
class OfSteps(Metric):
    """Another metric, an error, of some of the steps alone; for batches without `lengths`.

    Attributes:
        metric: the other one.
        name: what it is called here.
        begin, end: the first of the steps, and that after the last.
    """

    metric: Metric
    name: str
    begin: int
    end: int

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return self.metric.bounds

    def counts(self, outputs: jax.Array, batch: Batch) -> Any:
        some = slice(self.begin, self.end)
        part = batch._replace(targets=batch.targets[some], weights=batch.weights[some])
        return self.metric.counts(outputs[some], part)

    def value(self, counts: Any) -> float | None:
        return self.metric.value(counts)


@dataclasses.dataclass(frozen=True)
class ErrorInUnits(StepMean):
    """The mean squared error in the units of the data.

    Attributes:
        factors: s of each output.

    Example:
        >>> batch = Batch(None, np.zeros((3, 2, 1)), np.ones((3, 2)))
        >>> metric = ErrorInUnits((10.0,))
        >>> metric.value(jax.jit(metric.counts)(np.ones((3, 2, 1)), batch))
        100.0
    """

    factors: tuple[float, ...]
    name = "mean squared error"
    bounds = NOT_NEGATIVE

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
    bounds = NOT_NEGATIVE

    def score(self, outputs: jax.Array, targets: Any) -> jax.Array:
        return jnp.mean(jnp.abs(_apart(outputs, targets) * jnp.asarray(self.factors)), axis=-1)


def _apart(outputs: jax.Array, targets: Any) -> jax.Array:
    return wide(outputs) - wide(targets)


@dataclasses.dataclass(frozen=True)
class RSquared(Metric):
    """The fraction of the variance explained: 1 is perfect, 0 is as good as the mean.

    It is averaged over the outputs that vary, each with the same weight whatever its units.

    Example:
        >>> targets = np.array([[[0.0], [2.0]], [[4.0], [6.0]]])
        >>> metric, batch = RSquared(), Batch(None, targets, np.ones((2, 2)))
        >>> metric.value(jax.jit(metric.counts)(targets + 1, batch))  # 1 - 4 / 20
        0.8
    """

    name = "R²"
    higher_is_better = True
    bounds = (-math.inf, 1.0)

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
        >>> targets = np.array([[[0.0], [2.0]], [[4.0], [6.0]]])
        >>> metric, batch = NormalisedError(), Batch(None, targets, np.ones((2, 2)))
        >>> round(metric.value(jax.jit(metric.counts)(targets + 1, batch)), 4)  # √(4 / 20)
        0.4472
    """

    name = "NRMSE"
    higher_is_better = False
    bounds = NOT_NEGATIVE

    def value(self, counts: Any) -> float | None:
        explained = super().value(counts)
        return None if explained is None else float(np.sqrt(max(1 - explained, 0)))
