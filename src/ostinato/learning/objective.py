"""What a learner minimises: the loss of a network on a batch."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..tasks.losses import Loss, weighted_mean
from ..through_time import unroll


class Sequences(NamedTuple):
    """The arrays of a batch: inputs, targets and the weights of the loss, all time first."""

    xs: Any
    targets: Any
    weights: Any


@dataclasses.dataclass(frozen=True)
class Objective:
    """`f(network) = Σ w_t loss(o_t, target_t) / Σ w_t`, the outputs o_t by unrolling the network.

    Attributes:
        loss: a member of `tasks.losses`.
        compute: dtype of the products' operands, or `None`.
        memory: what the gradient keeps; see `unroll`.
        backend, on_failure: how a GPU runs through time; see `unroll`.

    Example:
        >>> objective = Objective(Softmax())
        >>> value, state = objective.value(network, Sequences(xs, targets, weights), None)
    """

    loss: Loss
    compute: str | None = None
    memory: str | int = "all"
    backend: str | None = None
    on_failure: str = "scan"

    def outputs(
        self, network: Any, xs: Any, state: Any, watch: str | None = None
    ) -> tuple[Any, Any]:
        """The outputs `(T, B, outputs)` and the final state; for `watch` see `unroll`."""
        return unroll(
            network,
            xs,
            state,
            compute=self.compute,
            memory=self.memory,
            watch=watch,
            backend=self.backend,
            on_failure=self.on_failure,
        )

    def of_outputs(self, outputs: jax.Array, batch: Sequences) -> jax.Array:
        """The loss of outputs that are already there."""
        return weighted_mean(self.loss(outputs, batch.targets), batch.weights)

    def value(self, network: Any, batch: Sequences, state: Any) -> tuple[jax.Array, Any]:
        """The loss and the final state."""
        outputs, state = self.outputs(network, batch.xs, state)
        return self.of_outputs(outputs, batch), state

    def per_step(self, batch: Sequences):
        """The loss as a sum over time: a function of an output and its target, and the targets.

        For the gradients of `through_time.gradients`, which go step by step.
        """
        total = jnp.sum(batch.weights)

        def loss(output, at):
            target, weight = at
            return jnp.sum(weight * self.loss(output, target)) / total

        return loss, (batch.targets, batch.weights)


def trained(network: Any) -> tuple[Any, Any]:
    """A network's parameters, and the rest of it."""
    return eqx.partition(network, eqx.is_inexact_array)
