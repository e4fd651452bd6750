"""Data parallelism: each batch is split among several devices."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ...data import Batch

Spread = Callable[[Batch, Any], tuple[Batch, Any]]


def over_devices(count: int) -> Spread:
    """A function that splits the sequences of a batch, and their states, among `count` devices.

    Every device has a copy of the network and processes its own sequences. The compiled step is one
    program for all devices, so XLA adds the reductions over the batch, such as the gradient.

    Example:
        >>> count = len(jax.devices())
        >>> spread = over_devices(count)
        >>> batch, state = spread(task.batch(0, 4 * count), None)
        >>> batch.sequences == 4 * count
        True
    """
    if count == 1:
        return lambda batch, state: (batch, state)
    mesh = Mesh(np.array(jax.devices()[:count]), ("batch",))

    def spread(batch: Batch, state: Any) -> tuple[Batch, Any]:
        def put(tree: Any, *axes: str | None) -> Any:
            return jax.device_put(tree, NamedSharding(mesh, PartitionSpec(*axes)))

        def of(x: Any, axis: int) -> Any:
            return put(x, *(None,) * axis, "batch")

        return batch.over_sequences(of), put(state, "batch")

    return spread
