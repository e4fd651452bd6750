"""How far a sound is from another one: the error-to-signal ratio, as a loss and as a metric.

With the sound y that is right and the error e of what a network makes of it, and the pre-emphasis
`(H x)_t = x_t - 0.95 x_{t-1}`, which weighs high frequencies as the ear does,

    ErrorToSignal    `(Σ (H e)² + Σ_b n_b mean_b(e)²) / Σ ((H y)² + ε)`, the loss
    Ratio            `Σ e² / Σ y²`, or the same of H e and H y

The second sum of the loss is over sequences of n steps: pre-emphasis hardly sees a constant error.
Wright et al. have a ratio of its own for it, over `Σ y²`; here all sums have one denominator, so
that the loss of a batch in pieces is exactly that of the batch. It is a quadratic function of the
outputs, so that its Gauss-Newton matrix is positive semidefinite. The first step of a window has
no step before it, and no pre-emphasis.

Source: Wright, Damskägg and Välimäki (2019), Real-time black-box modelling with recurrent neural
networks, section 3.3.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from ...data import Batch
from ..losses import Loss, check_rows
from ..metrics import NOT_NEGATIVE, Ratio, total, wide

EMPHASIS = 0.95
SILENCE = 1e-5  # ε, the power of what counts as silence


def emphasised(x: jax.Array) -> jax.Array:
    """`H x`, `(T, B, 1)` to `(T - 1, B, 1)`."""
    return x[1:] - EMPHASIS * x[:-1]


@dataclasses.dataclass(frozen=True)
class ErrorToSignal(Loss):
    """The error-to-signal ratio after pre-emphasis, with that of the mean; see the module.

    Attributes:
        residual: whether the targets are what is to be added to the inputs.

    Example:
        >>> y = np.sin(np.arange(100.0))[:, None, None]
        >>> batch = Batch(np.zeros_like(y), y, np.ones((100, 1)))
        >>> round(float(jax.jit(ErrorToSignal())(0.9 * y, batch)), 3)  # a tenth is missing
        0.01
    """

    residual: bool = False

    def total(self, outputs: jax.Array, batch: Batch) -> jax.Array:
        check_rows(outputs, batch)
        error, weights = outputs - batch.targets, jnp.asarray(batch.counted)[..., None]
        steps = jnp.maximum(jnp.sum(weights, axis=0), 1)
        constant = jnp.sum(weights * error, axis=0) ** 2 / steps
        return jnp.sum(weights[1:] * emphasised(error) ** 2) + jnp.sum(constant)

    def weight(self, batch: Batch) -> jax.Array:
        power = emphasised(signal(batch, self.residual)) ** 2 + SILENCE
        energy = jnp.sum(jnp.asarray(batch.counted)[1:, :, None] * power)
        return jnp.where(energy > 0, energy, 1)


@dataclasses.dataclass(frozen=True)
class ErrorToSignalRatio(Ratio):
    """`Σ e² / Σ y²`: 0 is perfect, and silence has 1.

    Attributes:
        residual: see `ErrorToSignal`.
        emphasis: whether both sums are after pre-emphasis.
    """

    residual: bool = False
    emphasis: bool = False
    bounds = NOT_NEGATIVE

    @property
    def name(self) -> str:  # type: ignore[override]
        return "ESR emphasised" if self.emphasis else "ESR"

    def counts(self, outputs: jax.Array, batch: Batch) -> Any:
        weights = jnp.asarray(batch.counted)[..., None]
        error, right = wide(outputs) - wide(batch.targets), wide(signal(batch, self.residual))
        if self.emphasis:
            error, right, weights = emphasised(error), emphasised(right), weights[1:]
        return total(weights * error**2), total(weights * right**2)


def signal(batch: Batch, residual: bool) -> jax.Array:
    """The sound that is right."""
    targets = jnp.asarray(batch.targets)
    return targets + batch.inputs if residual else targets
