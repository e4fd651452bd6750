"""Forecasts of quantiles: intervals instead of single numbers.

For each target y the network outputs the quantiles o_q of the levels q, for example 0.1, 0.5 and
0.9. Outputs are ordered by time, then by column, then by level. The pinball loss

    Σ_q max(q (y - o_q), (q - 1) (y - o_q))

is smallest on average if each o_q is the quantile q of y given the inputs (Koenker and Bassett,
1978). Between the lowest and the highest level lies the *interval*; of 0.1 and 0.9 it should cover
80 % of the targets.

Outputs of different levels may cross, above all before training. The loss takes them as they are;
wherever they are shown or measured they are sorted, which brings none of them further from the
quantiles sought (Chernozhukov, Fernández-Val and Galichon, 2010).
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ...data.artefact_checks import kept_numbers
from ...data.scaling import Scaler
from ...errors import BadInput
from ...settings import as_words
from ..losses import Loss, Product, StepLoss
from ..metrics import NOT_NEGATIVE, SHARE, Metric, StepMean, wide
from ..target_codec import Numbers, TargetCodec

Levels = tuple[float, ...]


def levels_of(words: str | Sequence[float]) -> Levels:
    """The levels in a text, or those that are given, checked.

    Example:
        >>> levels_of("0.1,0.5,0.9")
        (0.1, 0.5, 0.9)
    """
    if not isinstance(words, str):
        return checked_levels(words)
    try:
        levels = [float(part) for part in words.split(",")]
    except ValueError:
        raise BadInput(f"quantiles must read like 0.1,0.5,0.9, got {as_words(words)}") from None
    return checked_levels(levels)


def in_text(levels: Sequence[float]) -> str:
    """Levels as the text of a setting.

    Example:
        >>> in_text((0.1, 0.5, 0.9))
        '0.1,0.5,0.9'
    """
    return ",".join(f"{level:.12g}" for level in levels)


def checked_levels(levels: Sequence[float]) -> Levels:
    """Levels between 0 and 1 that rise."""
    try:
        numbers = tuple(map(float, levels))
    except (TypeError, ValueError):
        raise BadInput(f"quantiles must be numbers like 0.1, 0.5, got {levels!r:.40}") from None
    rising = all(low < high for low, high in zip((0.0, *numbers), (*numbers, 1.0), strict=True))
    if not numbers or not rising:
        raise BadInput(f"quantiles must rise between 0 and 1, got {', '.join(map(str, numbers))}")
    return numbers


def _by_level(outputs: Any, levels: Levels) -> Any:
    """Outputs `(..., targets * levels)` as `(..., targets, levels)`."""
    targets = outputs.shape[-1] // len(levels)
    return outputs.reshape(*outputs.shape[:-1], targets, len(levels))


def middle_of(levels: Sequence[float | None]) -> int:
    """The place of the mean, `None`, among levels, or else of the level next to the median."""
    return min(range(len(levels)), key=lambda n: abs((levels[n] or 0.5) - 0.5))


def interval_name(share: float, calibrated: bool = False) -> str:
    """An interval in words, by the share of targets that it should cover: `the 0.8 interval`."""
    return f"the {'calibrated ' if calibrated else ''}{share:.3g} interval"


def sorted_quantiles(outputs: Any, levels: Levels) -> Any:
    """The quantiles `(..., targets, levels)`, from the lowest to the highest.

    Example:
        >>> sorted_quantiles(np.array([5.0, 1.0, 2.0, 3.0]), (0.1, 0.9)).tolist()
        [[1.0, 5.0], [2.0, 3.0]]
    """
    quantiles = _by_level(outputs, levels)
    return np.sort(quantiles) if isinstance(quantiles, np.ndarray) else jnp.sort(quantiles)


def pinball(outputs: jax.Array, targets: Any, levels: Levels) -> jax.Array:
    """The loss of each target and level, `(..., targets, levels)`.

    Example:
        >>> pinball(jnp.array([1.0, 5.0]), jnp.array([3.0]), (0.1, 0.9)).round(1)
        Array([[0.2, 0.2]], dtype=float32)
    """
    apart = jnp.asarray(targets)[..., None] - _by_level(outputs, levels)
    q = jnp.asarray(levels, apart.dtype)
    return jnp.maximum(q * apart, (q - 1) * apart)


@dataclasses.dataclass(frozen=True)
class Pinball(StepLoss):
    """The pinball loss, summed over targets and levels.

    It is piecewise linear, so its Hessian is zero: second-order learners see no curvature in it.
    """

    levels: Levels

    def at(self, outputs: jax.Array, targets: jax.Array) -> jax.Array:
        return jnp.sum(pinball(outputs, targets, self.levels), axis=(-2, -1))

    def hessian_at(self, outputs: jax.Array) -> Product:
        return jnp.zeros_like


@dataclasses.dataclass(frozen=True)
class PinballInUnits(StepMean):
    """The mean pinball loss over targets and levels, in the units of the data.

    Attributes:
        levels: of the quantiles.
        factors: by which each target was divided.
    """

    levels: Levels
    factors: tuple[float, ...]
    name = "pinball loss"
    bounds = NOT_NEGATIVE

    @property
    def loss_factor(self) -> float | None:  # type: ignore[override]
        """Loss and metric are proportional if all targets have the same factor."""
        if len(set(self.factors)) > 1:
            return None
        return self.factors[0] / (len(self.factors) * len(self.levels))

    def score(self, outputs: jax.Array, targets: Any) -> jax.Array:
        losses = jnp.mean(pinball(wide(outputs), wide(targets), self.levels), axis=-1)
        return jnp.mean(jnp.asarray(self.factors) * losses, axis=-1)


@dataclasses.dataclass(frozen=True)
class Coverage(StepMean):
    """The fraction of targets in the interval from the lowest to the highest level.

    Best is neither low nor high, but the difference of the two levels.

    Example:
        >>> Coverage((0.1, 0.9)).name
        'coverage of the 0.8 interval'
    """

    levels: Levels
    higher_is_better: ClassVar[bool] = True
    bounds = SHARE

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"coverage of {interval_name(self.levels[-1] - self.levels[0])}"

    def score(self, outputs: jax.Array, targets: Any) -> jax.Array:
        quantiles = sorted_quantiles(outputs, self.levels)
        inside = (quantiles[..., 0] <= targets) & (targets <= quantiles[..., -1])
        return jnp.mean(inside.astype(jnp.float32), axis=-1)


@dataclasses.dataclass(frozen=True)
class MedianError(StepMean):
    """The mean absolute error of the median, in the units of the data."""

    levels: Levels
    factors: tuple[float, ...]
    name = "mean absolute error"
    bounds = NOT_NEGATIVE

    def score(self, outputs: jax.Array, targets: Any) -> jax.Array:
        median = sorted_quantiles(outputs, self.levels)[..., self.levels.index(0.5)]
        apart = wide(median) - wide(targets)
        return jnp.mean(jnp.abs(apart * jnp.asarray(self.factors)), axis=-1)


@dataclasses.dataclass(frozen=True)
class QuantileAnswers(Numbers):
    """Numbers whose quantiles, of the `levels`, are learned."""

    levels: Levels = ()

    @property
    def outputs(self) -> int:
        return self.width * len(self.levels)

    @property
    def loss(self) -> Loss:  # type: ignore[override]
        return Pinball(self.levels)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        metrics: list[Metric] = [PinballInUnits(self.levels, self.scaler.factor)]
        if len(self.levels) > 1:
            metrics.append(Coverage(self.levels))
        if 0.5 in self.levels:
            metrics.append(MedianError(self.levels, self.scaler.factor))
        return tuple(metrics)

    def centre(self, outputs: Any) -> Any:
        """The level next to the median, `(..., targets)`."""
        return sorted_quantiles(outputs, self.levels)[..., middle_of(self.levels)]

    def drawn(self, outputs: jax.Array, chances: jax.Array) -> jax.Array:
        """The quantiles of other levels, `chances` `(..., targets)`.

        Between two levels they lie on a straight line, and beyond the last on the same line; of
        uniform chances they are draws from the forecast distribution.
        """
        known, levels = sorted_quantiles(outputs, self.levels), jnp.asarray(self.levels)
        n = jnp.clip(jnp.searchsorted(levels, chances) - 1, 0, len(self.levels) - 2)
        low, high = (jnp.take_along_axis(known, (n + k)[..., None], -1)[..., 0] for k in (0, 1))
        return low + (high - low) * (chances - levels[n]) / (levels[n + 1] - levels[n])

    def shown(self, outputs: np.ndarray, at: int) -> dict[str, np.ndarray]:
        quantiles = sorted_quantiles(outputs, self.levels)[:, at]
        return {f"{100 * level:g} %": quantiles[:, n] for n, level in enumerate(self.levels)}

    def as_json(self) -> dict[str, Any]:
        return {**super().as_json(), "levels": list(self.levels)}

    @classmethod
    def from_json(cls, kept: Any) -> "QuantileAnswers":
        plain = TargetCodec.from_json(kept)
        if plain.scaler is None:
            raise BadInput("its quantiles are not of numbers")
        levels = kept_numbers(kept["levels"], "levels")
        return cls(plain.scaler, plain.chance, checked_levels(levels))


def fit_quantiles(later: np.ndarray, scaler: Scaler, levels: Levels) -> QuantileAnswers:
    """The answers of forecasts; `chance` is the loss of the quantiles of the training targets.

    Args:
        later: the training targets `(M, targets)` in the units of the data, without gaps.
        scaler: of the targets.
        levels: of the quantiles.
    """
    chance = 0.0
    if len(later):
        constant = np.quantile(later, levels, axis=0)[:, None]  # (levels, 1, targets)
        apart, q = later - constant, np.array(levels)[:, None, None]
        chance = float(np.maximum(q * apart, (q - 1) * apart).mean())
    return QuantileAnswers(scaler, chance, levels)


def answers_from_json(kept: Any) -> TargetCodec:
    """The inverse of `as_json`, of quantiles or not, with validation."""
    return (QuantileAnswers if "levels" in kept else TargetCodec).from_json(kept)
