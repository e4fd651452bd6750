"""What a learner minimises: the loss of a network on a batch."""

import dataclasses
from typing import Any

import jax

from ..data import Batch
from ..tasks.losses import Loss, per_step
from ..wiring import outputs_of


@dataclasses.dataclass(frozen=True)
class Objective:
    """`f(network) = loss(outputs of the network on a batch)`.

    Attributes:
        loss: see `tasks.losses`.
        compute: dtype of the products' operands, or `None`.
        memory: what the gradient keeps; see `unroll`.
        backend, on_failure: how a GPU runs through time; see `unroll`.

    Example:
        >>> objective = Objective(CrossEntropy())
        >>> value, state = objective.value(network, batch, None)
    """

    loss: Loss
    compute: str | None = None
    memory: str | int = "all"
    backend: str | None = None
    on_failure: str = "scan"

    def outputs(
        self, network: Any, batch: Batch, state: Any, watch: str | None = None
    ) -> tuple[Any, Any]:
        """The outputs and the final state; for `watch` see `outputs_of`."""
        return outputs_of(
            network,
            batch,
            state,
            compute=self.compute,
            memory=self.memory,
            watch=watch,
            backend=self.backend,
            on_failure=self.on_failure,
        )

    def value(self, network: Any, batch: Batch, state: Any) -> tuple[jax.Array, Any]:
        """The loss and the final state."""
        outputs, state = self.outputs(network, batch, state)
        return self.loss(outputs, batch), state

    def per_step(self, batch: Batch, what: str) -> tuple[Any, Any]:
        """The loss as a sum over time: a function of an output and its target, and the targets.

        For the gradients of `through_time.gradients`, which go step by step; `what` names the one
        that needs it, for the message if the loss is not such a sum.
        """
        loss, total = per_step(self.loss, what), self.loss.weight(batch)

        def at(output: Any, of: Any) -> jax.Array:
            target, weight = of
            return (weight * loss.at(output, target)).sum() / total

        return at, (batch.targets, batch.counted)
