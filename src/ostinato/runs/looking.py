"""Lens measurements during training."""

from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..data import Batch
from ..lens import gradient_by_lag, memory_length, saturation, spread_lags
from ..tasks import Loss
from ..wiring import outputs_of

SEQUENCES = 8


class Lens:
    """Gradient by lag, memory length and saturation of a network, on a few sequences of a batch.

    The loss is that of the last step that has one. Noise is off.

    Example:
        >>> text = run.task()
        >>> seen = Lens(text.loss).look(run.network(), text.batch(0, 4), None)
        >>> seen["lags"]
        [0, 1, 2, 3, 4, 5, 6, 7, 9]
        >>> sorted(seen)
        ['gradient', 'lags', 'memory', 'saturated']
    """

    def __init__(self, loss: Loss):
        @eqx.filter_jit
        def errors(network: Any, batch: Batch, state: Any, at: int) -> dict[str, jax.Array]:
            outputs, _ = outputs_of(network, batch, state)

            def of_output(output: jax.Array) -> jax.Array:
                return loss.total(outputs.at[at].set(output), batch)

            return gradient_by_lag(network, batch.inputs, of_output, state, at=at, **batch.marks)

        self.errors = errors

    def look(self, network: Any, batch: Batch, state: Any) -> dict[str, Any]:
        """The measurements, as plain numbers for the event log."""
        network = eqx.nn.inference_mode(network)
        few, at, which = few_of(batch, SEQUENCES)
        state = jax.tree.map(lambda x: x[which], state)
        found = jax.device_get(self.errors(network, few, state, at))
        lags = spread_lags(at)
        units = saturation(network, few.inputs, state, **few.marks)
        return {
            "lags": lags.tolist(),
            "gradient": {name: profile[lags].tolist() for name, profile in found.items()},
            "memory": {name: memory_length(profile) for name, profile in found.items()},
            "saturated": {name: round(x.high + x.low, 4) for name, x in units.items()},
        }


def few_of(batch: Batch, count: int) -> tuple[Batch, int, np.ndarray]:
    """A few sequences that have a loss at the last counted step, that step, and their indices.

    Steps that are padding in all of them are left out. If targets are not per step, as in a
    transcript, the step is the last of the longest sequence.
    """
    some = np.arange(min(count, batch.sequences))
    counted = np.asarray(batch.counted)[:, some]
    if len(counted) != batch.steps:
        few = _trimmed(batch.arrays.take(some))
        return few, few.steps - 1, some
    at = int(np.flatnonzero(counted.any(axis=1))[-1])
    some = some[counted[at] > 0]
    return _trimmed(batch.arrays.take(some)), at, some


def _trimmed(batch: Batch) -> Batch:
    """The batch without the steps that are padding in all sequences."""
    if batch.lengths is None:
        return batch
    steps, longest = batch.steps, int(np.max(batch.lengths))
    times = batch.inputs, batch.targets, batch.weights, batch.resets
    inputs, targets, weights, resets = jax.tree.map(
        lambda x: x[:longest] if len(x) == steps else x, times
    )
    return batch._replace(inputs=inputs, targets=targets, weights=weights, resets=resets)
