"""Damping of the quadratic model, and how it adapts from step to step.

    B = G + s (λ₀ I + μ₀ S)

λ₀ is the Tikhonov damping, μ₀ the structural damping (for S see `on_batch`), and one scale s ≥ 0
multiplies both; reports show λ = s λ₀ and μ = s μ₀. Martens and Sutskever (2011) use λ₀ and
μ₀ = λ₀ · their μ; Krause (2015) uses μ₀ alone, except for Wikipedia.

The scale follows the reduction ratio, the actual over the predicted change of the objective:

    ρ = (f(θ + δ) - f(θ)) / q(δ)          ρ < ¼:  s ← 3/2 s          ρ > ¾:  s ← 2/3 s

(Galvan, 2015, (2.20); Krause, 2015, section 4.1, prints the two factors the wrong way round). A
rejected step raises s, too. `ratio="damped"` uses `q(δ) = ½ δᵀ B δ + gᵀ δ`, the quadratic that
conjugate gradient minimised, as in Martens (2010); `"undamped"` uses `½ δᵀ G δ + gᵀ δ`, the model
of f itself, which predicts a larger decrease and so gives smaller ratios. If q is not negative,
which can happen on another batch than the gradient's, ρ is ∞ if the objective fell anyway, else -∞.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from ...errors import BadInput
from .conjugate_gradient import Taken
from .on_batch import FORMS

RATIOS = ("damped", "undamped")
ADAPTS = ("step", "iteration")
RAISE, LOWER = 3 / 2, 2 / 3
LOW, HIGH = 1 / 4, 3 / 4
TOO_MUCH = 3.0


def reduction_ratio(fell: jax.Array, promised: jax.Array) -> jax.Array:
    """ρ from the actual change `f(θ + δ) - f(θ)` and the predicted one, `q(δ)`."""
    unforeseen = jnp.where(fell < 0, jnp.inf, -jnp.inf)
    return jnp.where(promised < 0, fell / promised, unforeseen)


@dataclasses.dataclass(frozen=True)
class Damping:
    """The kinds of damping and their initial strengths.

    Attributes:
        tikhonov: λ₀.
        structural: μ₀.
        form: the form of structural damping, a name in `FORMS`.
        ratio: the quadratic that ρ compares with; see the module's docstring.
        min_scale, max_scale: bounds of the scale s. On a plateau ρ stays near 1 for a long time,
            and without a bound s would fall so low that the first step off the plateau fails.

    Example:
        >>> martens = Damping(tikhonov=0.1, structural=0.003)  # Martens and Sutskever (2011)
        >>> krause = Damping(tikhonov=0.0, structural=0.1)  # Krause (2015), for his mLSTM
        >>> krause.form
        'pre-activation'
    """

    tikhonov: float = 0.01
    structural: float = 0.003
    form: str = "pre-activation"
    ratio: str = "damped"
    min_scale: float = 1e-2
    max_scale: float = 1e4

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise BadInput(
                f"the form of structural damping must be one of {', '.join(FORMS)}; got {self.form}"
            )
        if self.ratio not in RATIOS:
            raise BadInput(f"ratio must be one of {', '.join(RATIOS)}; got {self.ratio}")
        if self.tikhonov < 0 or self.structural < 0:
            raise BadInput("damping cannot be negative")

    def next_scale(self, scale: jax.Array, ratio: jax.Array, refused: jax.Array) -> jax.Array:
        """s after a step with this ρ; NaN counts as a bad ρ."""
        good = ratio > HIGH
        bad = ~(ratio >= LOW) | refused
        new = scale * jnp.where(bad, RAISE, jnp.where(good, LOWER, 1.0))
        return jnp.clip(new, self.min_scale, self.max_scale).astype(scale.dtype)


class Adapted(NamedTuple):
    """The scale after some iterations, and the number of evaluations; see `by_iteration`."""

    scale: jax.Array
    evaluations: jax.Array


def by_iteration(
    damping: Damping,
    scale: jax.Array,
    value: Callable[[jax.Array], jax.Array],
    promised: Callable[[Taken], jax.Array],
) -> Callable[[Adapted, Taken], tuple[Adapted, jax.Array]]:
    """An observer of conjugate gradient that adapts the scale s after every iteration i.

    `ρ(i) = (f(i) - f(0)) / (q(i) - q(0))` adapts it by the rule above. Conjugate gradient stops
    when `s(i) ≥ 3 s(0)`: the iterate has left the region where the quadratic is valid. During the
    run the quadratic keeps its initial damping, because otherwise the directions would not be
    conjugate (the source does not say). The next run starts with the last s(i).

    Source: Krause (2015), section 4.1, with the factors of (4.1) the right way round.

    Args:
        damping: has the rule and its bounds.
        scale: s(0).
        value: `δ -> f(θ + δ) - f(θ)`.
        promised: gives q(i) - q(0).
    """

    def observe(now: Adapted, taken: Taken) -> tuple[Adapted, jax.Array]:
        ratio = reduction_ratio(value(taken.x), promised(taken))
        new = damping.next_scale(now.scale, ratio, jnp.asarray(False))
        return Adapted(new, now.evaluations + 1), new >= TOO_MUCH * scale

    return observe
