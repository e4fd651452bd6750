"""Several devices that share each batch."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ..data import Batch
from ..errors import BadInput

Spread = Callable[[Batch, Any], tuple[Batch, Any]]


def over_devices(count: int, batch: int) -> Spread:
    """A function that spreads the sequences of a batch, and their states, over `count` devices.

    The network is copied to all of them. Each does its own sequences; sums over the batch, such as
    the gradient, then go around by themselves, as the compiled step is one program for all.

    Example:
        >>> spread = over_devices(8, batch=1000)
        >>> batch, state = spread(batch, state)
    """
    if count > len(jax.devices()):
        raise BadInput(f"there are {len(jax.devices())} devices here, got --devices {count}")
    if batch % count:
        raise BadInput(f"{count} devices cannot share a batch of {batch} sequences equally")
    if count == 1:
        return lambda batch, state: (batch, state)
    mesh = Mesh(np.array(jax.devices()[:count]), ("batch",))

    def spread(batch, state):
        def put(tree, *axes):
            return jax.device_put(tree, NamedSharding(mesh, PartitionSpec(*axes)))

        def of(x, axis):
            return put(x, *(None,) * axis, "batch")

        return batch.over_sequences(of), put(state, "batch")

    return spread
