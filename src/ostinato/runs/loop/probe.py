"""Lens measurements during training."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from ...cells import Layer, Model
from ...data import Batch
from ...lens import gradient_by_lag, memory_length, saturation
from ...lens.perturbation import spread_lags
from ...tasks import Task
from ...tasks.losses import Loss
from ...through_time import unroll
from ...wiring import outputs_of

SEQUENCES = 8
BATCHES = 1000  # that may consist of washout


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
        try:
            self.errors = _errors_by(loss)
        except TypeError:  # a loss without a hash has a program of its own
            self.errors = _errors_by.__wrapped__(loss)

    def look(self, network: Model, batch: Batch, state: Any) -> dict[str, Any]:
        """The measurements, as plain numbers for the event log."""
        layer, few, state, at = looked_at(eqx.nn.inference_mode(network), batch, SEQUENCES, state)
        profiles = jax.device_get(self.errors(layer, few, state, at))
        lags = spread_lags(at)
        units = saturation(layer, few.inputs, state, **few.marks)
        return {
            "lags": lags.tolist(),
            "gradient": {name: profile[lags].tolist() for name, profile in profiles.items()},
            "memory": {name: memory_length(profile) for name, profile in profiles.items()},
            "saturated": {name: round(x.high + x.low, 4) for name, x in units.items()},
        }


@lru_cache(maxsize=16)
def _errors_by(loss: Loss) -> Callable:
    """The compiled function `(network, batch, state, at)` whose result is the gradient by lag."""

    @eqx.filter_jit
    def errors(network: Layer, batch: Batch, state: Any, at: int) -> dict[str, jax.Array]:
        outputs, _ = outputs_of(network, batch, state)

        def of_output(output: jax.Array) -> jax.Array:
            return loss.total(outputs.at[at].set(output), batch)

        return gradient_by_lag(network, batch.inputs, of_output, state, at=at, **batch.marks)

    return errors


def first_counted(task: Task, size: int) -> int:
    """The number of the first training batch in which something counts: not all is washout."""
    counted = (n for n in range(BATCHES) if np.any(task.batch(n, size).counted))
    return next(counted, 0)


class Probe(NamedTuple):
    """What is measured: a layer, a few sequences, the state before them, the step with the loss."""

    layer: Layer
    batch: Batch
    state: Any
    at: int


def looked_at(network: Model, batch: Batch, count: int, state: Any = None) -> Probe:
    """The layer that is unrolled over a few sequences that have a loss at the last counted step.

    Steps that are padding in all of them are left out. If targets are not per step, as in a
    transcript, the step is the last of the longest sequence.

    Args:
        network: any network; one that reads something else first, such as a source sentence, does
            so here, and what is measured is the layer that reads the steps (`Model.prepare`).
        batch: the sequences to choose from.
        count: how many to take, at most.
        state: the state before the batch, for networks that carry one.
    """
    some = np.arange(min(count, batch.sequences))
    counted, at = np.asarray(batch.counted)[:, some], None
    if len(counted) == batch.steps and counted.any():
        at = int(np.flatnonzero(counted.any(axis=1))[-1])
        some = some[counted[at] > 0]
    few = batch.arrays.take(some)
    layer, xs, begin = network.prepare(unroll, few)
    few = _trimmed(few._replace(inputs=xs))
    state = jax.tree.map(lambda x: x[some], state) if layer is network else begin
    return Probe(layer, few, state, few.steps - 1 if at is None else at)


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
