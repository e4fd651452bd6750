"""Losses on a network's outputs, one value for each step and sequence, in nats.

    Softmax    `-log softmax(o)[target]`                 targets: symbols `(...)`
    Sigmoid    `Σ_k softplus(o_k) - target_k o_k`        targets: `(..., outputs)` of 0 and 1
    Squared    `½ ‖o - target‖²`                         targets: `(..., outputs)`

Each maps outputs `(..., outputs)` to `(...)`. The mean over a batch is weighted: a weight of one
where the loss stands, of zero elsewhere. Each also gives the product of its Hessian, with respect
to the outputs of one step and sequence, with a vector; the matrix is never formed:

    Softmax    `p ⊙ v - p (p · v)`,  p = softmax(o)
    Sigmoid    `s ⊙ (1 - s) ⊙ v`,    s = sigmoid(o)
    Squared    `v`

Sources: Krause (2015) (2.22) and, for the Hessians, (3.23).
"""

from collections.abc import Callable
from typing import Protocol

import jax
import jax.numpy as jnp


class Loss(Protocol):
    """A loss: `loss(outputs, targets) -> (...)`, and its Hessian at the outputs as a function."""

    def __call__(self, outputs: jax.Array, targets: jax.Array) -> jax.Array: ...

    def hessian(self, outputs: jax.Array) -> Callable[[jax.Array], jax.Array]: ...


class Softmax:
    """Cross-entropy with one right symbol.

    Example:
        >>> Softmax()(jnp.zeros((5, 4)), jnp.arange(5) % 4)  # log 4 each
    """

    def __call__(self, outputs: jax.Array, targets: jax.Array) -> jax.Array:
        right = jnp.take_along_axis(outputs, targets[..., None], axis=-1)[..., 0]
        return jax.nn.logsumexp(outputs, axis=-1) - right

    def hessian(self, outputs: jax.Array) -> Callable[[jax.Array], jax.Array]:
        p = jax.nn.softmax(outputs, axis=-1)
        return lambda v: p * (v - jnp.sum(p * v, axis=-1, keepdims=True))


class Sigmoid:
    """Cross-entropy with any number of independent labels, summed over them."""

    def __call__(self, outputs: jax.Array, targets: jax.Array) -> jax.Array:
        return jnp.sum(jax.nn.softplus(outputs) - targets * outputs, axis=-1)

    def hessian(self, outputs: jax.Array) -> Callable[[jax.Array], jax.Array]:
        s = jax.nn.sigmoid(outputs)
        return lambda v: s * (1 - s) * v


class Squared:
    """Half the squared error, summed over the outputs."""

    def __call__(self, outputs: jax.Array, targets: jax.Array) -> jax.Array:
        return 0.5 * jnp.sum((outputs - targets) ** 2, axis=-1)

    def hessian(self, outputs: jax.Array) -> Callable[[jax.Array], jax.Array]:
        return lambda v: v


def bits(outputs: jax.Array, targets: jax.Array) -> jax.Array:
    """`Softmax` in bits, `-log₂ softmax(o)[target]`: the metric of texts."""
    return Softmax()(outputs, targets) / jnp.log(2.0)


def weighted_mean(values: jax.Array, weights: jax.Array) -> jax.Array:
    """`Σ w v / Σ w`: the mean where the weights are one."""
    return jnp.sum(values * weights) / jnp.sum(weights)
