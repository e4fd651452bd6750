"""The objective that a learner minimises: the loss of a network on a batch."""

import dataclasses
from typing import Any

import jax

from ..cells import Model
from ..data import Batch
from ..tasks.losses import Loss, per_step
from ..wiring import outputs_of


@dataclasses.dataclass(frozen=True)
class Objective:
    """`f(network) = loss(outputs of the network on a batch)`.

    Attributes:
        loss: see `tasks.losses`.
        compute: dtype of the operands of matrix products; `None` for that of the parameters.
        memory: which states the forward scan keeps for the gradient; see `unroll`.
        backend, on_failure: the backend, and what to do if a kernel launch fails; see `unroll`.

    Example:
        >>> from ostinato.losses import SquaredError
        >>> batch = Batch(xs, ys, jnp.ones((10, 4)))
        >>> value, state = Objective(SquaredError()).value(network, batch, None)
        >>> value.shape
        ()
    """

    loss: Loss
    compute: str | None = None
    memory: str | int = "all"
    backend: str | None = None
    on_failure: str = "scan"

    def outputs(
        self, network: Model, batch: Batch, state: Any, watch: str | None = None
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

    def value(self, network: Model, batch: Batch, state: Any) -> tuple[jax.Array, Any]:
        """The loss and the final state."""
        outputs, state = self.outputs(network, batch, state)
        return self.loss(outputs, batch), state

    def per_step(self, batch: Batch, what: str) -> tuple[Any, Any]:
        """The loss as a sum over steps: a function of an output and its target, and the targets.

        The gradients of `through_time.gradients` need it. `what` names the caller in the message
        for a loss that is not such a sum.
        """
        loss, total = per_step(self.loss, what), self.loss.weight(batch)

        def at(output: Any, of: Any) -> jax.Array:
            target, weight = of
            return (weight * loss.at(output, target)).sum() / total

        return at, (batch.targets, batch.counted)
