"""Damping: how much the quadratic is made steeper, and how that changes from step to step.

    B = G + s (λ₀ I + μ₀ S)

λ₀ is Tikhonov's damping, μ₀ structural damping (S: see `on_batch`), and one scale s ≥ 0 changes
both; λ = s λ₀ and μ = s μ₀ are what a report shows. Martens and Sutskever (2011) have λ₀ and
μ₀ = λ₀ · their μ; Krause (2015) has μ₀ alone, but for Wikipedia.

The scale follows the reduction ratio: what the objective fell, over what the quadratic foresaw.

    ρ = (f(θ + δ) - f(θ)) / q(δ)          ρ < ¼:  s ← 3/2 s          ρ > ¾:  s ← 2/3 s

(Galvan, 2015, (2.20); Krause, 2015, section 4.1 prints the two factors the wrong way round). A step
that is refused raises s too. Which q: `ratio="damped"` takes `½ δᵀ B δ + gᵀ δ`, the quadratic that
conjugate gradient minimised, as Martens does; `"undamped"` takes `½ δᵀ G δ + gᵀ δ`, the model of f
itself, which promises more and so gives smaller ratios. Where q is not negative, as it can be on
another batch than that of the gradient, ρ is ∞ if the objective fell all the same, else -∞.
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
    """ρ, of `f(θ + δ) - f(θ)` and `q(δ)`."""
    unforeseen = jnp.where(fell < 0, jnp.inf, -jnp.inf)
    return jnp.where(promised < 0, fell / promised, unforeseen)


@dataclasses.dataclass(frozen=True)
class Damping:
    """The kinds of damping and how strong they are at first.

    Attributes:
        tikhonov: λ₀.
        structural: μ₀.
        form: of structural damping, a name in `FORMS`.
        ratio: the quadratic that ρ compares with, see the module's docstring.
        least, most: bounds of the scale s. On a plateau ρ stays near one for long, and s would
            fall until the first step off the plateau goes astray.

    Example:
        >>> Damping(tikhonov=0.1, structural=0.003)  # as Martens and Sutskever
        >>> Damping(tikhonov=0.0, structural=0.1)    # as Krause (2015), for his mLSTM
    """

    tikhonov: float = 0.01
    structural: float = 0.003
    form: str = "pre-activation"
    ratio: str = "damped"
    least: float = 1e-2
    most: float = 1e4

    def __post_init__(self):
        if self.form not in FORMS:
            raise BadInput(
                f"the form of structural damping must be one of {', '.join(FORMS)}; got {self.form}"
            )
        if self.ratio not in RATIOS:
            raise BadInput(f"ratio must be one of {', '.join(RATIOS)}; got {self.ratio}")
        if self.tikhonov < 0 or self.structural < 0:
            raise BadInput("damping cannot be negative")

    def next_scale(self, scale: jax.Array, ratio: jax.Array, refused: jax.Array) -> jax.Array:
        """s after a step with this ρ; a ρ that is not a number counts as a bad one."""
        good = ratio > HIGH
        bad = ~(ratio >= LOW) | refused
        new = scale * jnp.where(bad, RAISE, jnp.where(good, LOWER, 1.0))
        return jnp.clip(new, self.least, self.most).astype(scale.dtype)


class Adapted(NamedTuple):
    """The scale as it is after some iterations; see `by_iteration`."""

    scale: jax.Array
    evaluations: jax.Array


def by_iteration(
    damping: Damping,
    scale: jax.Array,
    value: Callable[[jax.Array], jax.Array],
    promised: Callable[[Taken], jax.Array],
) -> Callable[[Adapted, Taken], tuple[Adapted, jax.Array]]:
    """An observer of conjugate gradient that moves the scale s after every iteration i.

    `ρ(i) = (f(i) - f(0)) / (q(i) - q(0))` moves it by the rule above, and the run ends when
    `s(i) ≥ 3 s(0)`: the quadratic is no longer right where conjugate gradient has come to. The
    quadratic of this run keeps the damping that it has begun with, for otherwise its directions
    would not be conjugate; the source does not say. The next run begins with the last s(i).

    Source: Krause (2015), section 4.1, with the factors of (4.1) the right way round.

    Args:
        damping: gives the rule and its bounds.
        scale: s(0).
        value: `δ -> f(θ + δ) - f(θ)`.
        promised: q(i) - q(0).
    """

    def observe(now: Adapted, taken: Taken) -> tuple[Adapted, jax.Array]:
        ratio = reduction_ratio(value(taken.x), promised(taken))
        new = damping.next_scale(now.scale, ratio, jnp.asarray(False))
        return Adapted(new, now.evaluations + 1), new >= TOO_MUCH * scale

    return observe
