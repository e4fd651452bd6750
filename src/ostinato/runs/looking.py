"""A look through the lens while a network learns."""

from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..learning import Sequences
from ..lens import gradient_by_lag, memory_length, saturation, spread_lags
from ..tasks.losses import Loss

SEQUENCES = 8


class Lens:
    """Gradient by lag, memory length and saturation of a network, on a few sequences of a batch.

    The loss is that of the last step which has one. Noise is off.

    Example:
        >>> lens = Lens(task.loss)
        >>> lens.look(network, sequences, state)
        {'lags': [0, 1, 2, …], 'gradient': {'.cell.R': [0.2, 0.1, 0.07, …]}, 'memory': …}
    """

    def __init__(self, loss: Loss):
        @eqx.filter_jit
        def errors(network, xs, targets, state, at: int):
            return gradient_by_lag(network, xs, lambda o: loss(o, targets), state, at=at)

        self.errors = errors

    def look(self, network: Any, batch: Sequences, state: Any) -> dict[str, Any]:
        """What is seen, as plain numbers for the event log."""
        network = eqx.nn.inference_mode(network)
        few = jax.tree.map(lambda x: np.asarray(x)[:, :SEQUENCES], batch)
        state = jax.tree.map(lambda x: x[:SEQUENCES], state)
        at = int(np.flatnonzero(few.weights.any(axis=1))[-1])
        found = jax.device_get(self.errors(network, few.xs, few.targets[at], state, at))
        lags = spread_lags(at)
        units = saturation(network, few.xs, state)
        return {
            "lags": lags.tolist(),
            "gradient": {name: profile[lags].tolist() for name, profile in found.items()},
            "memory": {name: memory_length(profile) for name, profile in found.items()},
            "saturated": {name: round(x.high + x.low, 4) for name, x in units.items()},
        }
