"""What a learner minimises: the loss of a network on a batch, which devices may share."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.sharding import PartitionSpec

from ..cells import Model
from ..data import Batch
from ..tasks.losses import Loss, per_step
from ..wiring import outputs_of

AXIS = "devices"  # of the mesh over which the sequences of a batch are split


@dataclasses.dataclass(frozen=True)
class Objective:
    """`f(network) = loss(outputs of the network on a batch)`.

    Attributes:
        loss: see `tasks.losses`.
        compute: dtype of the operands of matrix products; `None` for that of the parameters.
        memory: which states the forward scan keeps for the gradient; see `unroll`.
        backend, on_failure: the backend, and what to do if a kernel launch fails; see `unroll`.
        by_symbol: whether devices share outputs by the symbols of a vocabulary: a batch is whole,
            and the compiler divides the work; within a context of a mesh.
        axis: the axis of a mesh of devices, within `jax.shard_map`, where a batch is what one of
            them has of the sequences; `None` if it is whole. What is said to be over all sequences
            is then the same on all devices, and takes one reduction.

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
    axis: str | None = None
    by_symbol: bool = False

    def outputs(
        self, network: Model, batch: Batch, state: Any, watch: str | None = None
    ) -> tuple[Any, Any]:
        """The outputs and the final state; for `watch` see `outputs_of`."""
        outputs, final = outputs_of(
            network,
            batch,
            state,
            compute=self.compute,
            memory=self.memory,
            watch=watch,
            backend=self.backend,
            on_failure=self.on_failure,
        )
        if self.by_symbol:
            outputs = jax.lax.with_sharding_constraint(outputs, PartitionSpec(None, None, AXIS))
        return outputs, final

    def value(self, network: Model, batch: Batch, state: Any) -> tuple[jax.Array, Any]:
        """The loss over all sequences, and the final state."""
        value, state = self.own_value(network, batch, state)
        return self.joined(batch, value), state

    def own_value(self, network: Model, batch: Batch, state: Any) -> tuple[jax.Array, Any]:
        """The loss over the sequences of this device, and the final state."""
        outputs, state = self.outputs(network, batch, state)
        return self.loss(outputs, batch), state

    @property
    def devices(self) -> int:
        """How many devices share a batch."""
        return 1 if self.axis is None else jax.lax.axis_size(self.axis)

    def summed(self, sums: Any) -> Any:
        """Sums over all sequences, from a tree of sums over those of each device."""
        return sums if self.axis is None else sum_over_devices(sums, self.axis)

    def joined(self, batch: Batch, means: Any) -> Any:
        """Weighted means over all sequences, from a tree of means over those of each device."""
        if self.axis is None:
            return means
        every = np.size(batch.weights)  # so that a batch in which all steps count has the share 1
        share = self.loss.weight(batch) / every
        totals = jax.tree.map(lambda x: (share * x).astype(x.dtype), means)
        totals, whole = self.summed((totals, self._own_weight(batch) / every))
        return jax.tree.map(lambda x: (x / jnp.where(whole > 0, whole, 1)).astype(x.dtype), totals)

    def unweighted(self, batch: Batch, mean: jax.Array) -> jax.Array:
        """A mean over the sequences of this device, of which `joined` makes a plain mean."""
        if self.axis is None:
            return mean
        even = self.summed(self._own_weight(batch)) / self.devices
        return mean * (even / self.loss.weight(batch)).astype(mean.dtype)

    def weights(self, *batches: Batch) -> list[jax.Array | None]:
        """What totals over all sequences are divided by, for some batches in one reduction.

        `None` where a batch is whole, and has a weight of its own.
        """
        if self.axis is None:
            return [None] * len(batches)
        wholes = self.summed([self._own_weight(batch) for batch in batches])
        return [jnp.where(whole > 0, whole, 1) for whole in wholes]

    def _own_weight(self, batch: Batch) -> jax.Array:
        """The weight of the sequences of this device, 0 if nothing counts in them."""
        return jnp.where(jnp.any(jnp.asarray(batch.counted) > 0), self.loss.weight(batch), 0)

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


def sum_over_devices(sums: Any, axis: str = AXIS) -> Any:
    """The sums of a tree of arrays over the devices of a mesh, in one reduction.

    On CPUs numbers of float32 are added in float64, where a few of them have the same sum in any
    order: so it does not matter how devices are divided among processes, which add in other orders.
    """
    if jax.default_backend() != "cpu":
        return jax.lax.psum(sums, axis)  # which XLA combines without a copy
    flat, tree = ravel_pytree(sums)
    with jax.enable_x64(True):
        wide = jax.lax.convert_element_type(flat, jnp.promote_types(flat.dtype, jnp.float64))
        return tree(jax.lax.convert_element_type(jax.lax.psum(wide, axis), flat.dtype))
