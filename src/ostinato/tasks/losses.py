"""Losses: what training minimises.

A loss is a sum over sequences divided by the sum of their weights, so a batch can be processed in
pieces, exactly. Most losses are themselves a sum over steps:

    CrossEntropy          `-log softmax(o)[target]`             targets: symbols `(...)`
    SmoothedCrossEntropy  the same with label smoothing         targets: symbols `(...)`
    BinaryCrossEntropy    `Σ_k softplus(o_k) - target_k o_k`    targets: `(..., outputs)` of 0 and 1
    SquaredError          `½ ‖o - target‖²`                     targets: `(..., outputs)`

The first two are in nats. Hessian-free learning also needs products of a vector with the Hessian
with respect to the outputs of one step; the matrix is never formed:

    CrossEntropy          `p ⊙ v - p (p · v)`,  p = softmax(o)
    BinaryCrossEntropy    `s ⊙ (1 - s) ⊙ v`,    s = sigmoid(o)
    SquaredError          `v`

Sources: Krause (2015), (2.22) and, for the Hessians, (3.23).
"""

import abc
import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp

from ..data import Batch
from ..errors import BadInput

Product = Callable[[jax.Array], jax.Array]


class Loss(abc.ABC):
    """The loss of a batch: `loss(outputs, batch) = total / weight`.

    Attributes:
        in_nats: whether the loss is a negative log likelihood in nats.
        of_classes: whether a target is the number of the right class.

    Example:
        >>> class Mean(Loss):
        ...     "The squared difference between a label per sequence and the mean output over time."
        ...     def total(self, outputs, batch):
        ...         return jnp.sum((jnp.mean(outputs, axis=0) - batch.targets[0]) ** 2)
        >>> batch = Batch(np.zeros((5, 2, 3)), np.ones((1, 2, 1)), np.ones((1, 2)))
        >>> float(jax.jit(Mean())(np.zeros((5, 2, 1)), batch))
        1.0
    """

    in_nats: bool = False
    of_classes: bool = False

    @abc.abstractmethod
    def total(self, outputs: jax.Array, batch: Batch) -> jax.Array:
        """The weighted sum over all sequences: a number. Padding must not count."""

    def weight(self, batch: Batch) -> jax.Array:
        """What the total is divided by: the sum of the weights, or 1 if nothing counts."""
        total = jnp.sum(jnp.asarray(batch.counted))
        return jnp.where(total > 0, total, 1)

    def __call__(self, outputs: jax.Array, batch: Batch) -> jax.Array:
        return self.total(outputs, batch) / self.weight(batch)

    def hessian(self, outputs: jax.Array, batch: Batch) -> Product:
        """The function `v -> H v`, with H the Hessian of `total` with respect to the outputs.

        By default it is derived by automatic differentiation. If the loss is not convex in the
        outputs, its Gauss-Newton matrix is not positive semidefinite.
        """
        return jax.linearize(jax.grad(lambda outputs: self.total(outputs, batch)), outputs)[1]

    def regressed(self, targets: jax.Array, outputs: int) -> jax.Array:
        """The outputs `(..., outputs)` that least squares should aim at, for given targets.

        Symbols become vectors of zeros with a single one; numbers stay as they are.
        """
        if jnp.issubdtype(targets.dtype, jnp.integer):
            return jax.nn.one_hot(targets, outputs)
        return targets


@dataclasses.dataclass(frozen=True)
class StepLoss(Loss):
    """A loss that is a sum over steps, `Σ_t w_t at(o_t, target_t)`.

    Outputs `(T, B, outputs)`; targets and weights with one row per step.
    """

    @abc.abstractmethod
    def at(self, outputs: jax.Array, targets: jax.Array) -> jax.Array:
        """The loss at each step and sequence: `(..., outputs)` to `(...)`."""

    @abc.abstractmethod
    def hessian_at(self, outputs: jax.Array) -> Product:
        """The function `v -> H v`, with H the Hessian of `at`, at each step and sequence."""

    def total(self, outputs: jax.Array, batch: Batch) -> jax.Array:
        check_rows(outputs, batch)
        return jnp.sum(self.at(outputs, batch.targets) * batch.counted)

    def hessian(self, outputs: jax.Array, batch: Batch) -> Product:
        product, weights = self.hessian_at(outputs), jnp.asarray(batch.counted)[..., None]
        return lambda v: weights * product(v)


@dataclasses.dataclass(frozen=True)
class CrossEntropy(StepLoss):
    """Cross-entropy with one correct symbol.

    Example:
        >>> jax.jit(CrossEntropy().at)(np.zeros((2, 4)), np.array([0, 3]))  # log 4 each
        Array([1.3862944, 1.3862944], dtype=float...)
    """

    in_nats = True
    of_classes = True

    def at(self, outputs: jax.Array, targets: jax.Array) -> jax.Array:
        right = jnp.take_along_axis(outputs, targets[..., None], axis=-1)[..., 0]
        return jax.nn.logsumexp(outputs, axis=-1) - right

    def hessian_at(self, outputs: jax.Array) -> Product:
        p = jax.nn.softmax(outputs, axis=-1)
        return lambda v: p * (v - jnp.sum(p * v, axis=-1, keepdims=True))


@dataclasses.dataclass(frozen=True)
class SmoothedCrossEntropy(CrossEntropy):
    """`(1 - ε) CE(target) + ε Σ_k CE(k) / K`: part of the weight is on all K symbols alike.

    Source: Szegedy et al. (2016), label smoothing.

    Attributes:
        smoothing: ε, from 0 to below 1.
    """

    smoothing: float = 0.1

    def at(self, outputs: jax.Array, targets: jax.Array) -> jax.Array:
        right = super().at(outputs, targets)
        every = jax.nn.logsumexp(outputs, axis=-1) - jnp.mean(outputs, axis=-1)
        return (1 - self.smoothing) * right + self.smoothing * every


@dataclasses.dataclass(frozen=True)
class BinaryCrossEntropy(StepLoss):
    """Cross-entropy with any number of independent labels, summed over them."""

    in_nats = True

    def at(self, outputs: jax.Array, targets: jax.Array) -> jax.Array:
        return jnp.sum(jax.nn.softplus(outputs) - targets * outputs, axis=-1)

    def hessian_at(self, outputs: jax.Array) -> Product:
        s = jax.nn.sigmoid(outputs)
        return lambda v: s * (1 - s) * v

    def regressed(self, targets: jax.Array, outputs: int) -> jax.Array:
        return 2 * targets - 1  # an output is a logit, which is negative for 0


@dataclasses.dataclass(frozen=True)
class SquaredError(StepLoss):
    """Half the squared error, summed over the outputs."""

    def at(self, outputs: jax.Array, targets: jax.Array) -> jax.Array:
        if jnp.shape(outputs) != jnp.shape(targets):
            raise BadInput(
                f"the squared error needs outputs and targets of one shape, got "
                f"{jnp.shape(outputs)} and {jnp.shape(targets)}"
            )
        if jnp.iscomplexobj(outputs) or jnp.iscomplexobj(targets):
            raise BadInput(
                f"the squared error needs real outputs and targets, got {outputs.dtype} and "
                f"{targets.dtype}; give real and imaginary parts as outputs of their own"
            )
        return 0.5 * jnp.sum((outputs - targets) ** 2, axis=-1)

    def hessian_at(self, outputs: jax.Array) -> Product:
        return lambda v: v


def check_rows(outputs: jax.Array, batch: Batch) -> None:
    """Refuse a batch that does not have a target and a weight for each step and sequence."""
    rows, targets, weights = map(jnp.shape, (outputs, batch.targets, batch.weights))
    if not rows[:2] == targets[:2] == weights:
        raise BadInput(
            f"a loss per step needs a target and a weight for each of {rows[0]} steps and "
            f"{rows[1]} sequences, got targets {targets} and weights {weights}"
        )


def per_step(loss: Loss, what: str) -> StepLoss:
    """The loss itself; raises if it is not a sum over steps, which `what` needs."""
    if not isinstance(loss, StepLoss):
        raise BadInput(f"{what} needs a loss that is a sum over steps, got {type(loss).__name__}")
    return loss
