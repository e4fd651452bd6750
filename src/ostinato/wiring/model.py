"""How a network turns a batch into outputs."""

from typing import Any

from ..cells import Layer, Model
from ..data import Batch
from ..through_time import unroll


def outputs_of(network: Model, batch: Batch, state: Any = None, **options: Any) -> tuple[Any, Any]:
    """The outputs of a network on a batch, and its state afterwards.

    This is `unroll` over the steps of the batch, with its lengths and resets; see `Model.prepare`.

    Args:
        network: a cell, a layer, or any other model.
        batch: the sequences.
        state: before the first step; by default the network's initial state.
        options: `compute`, `memory`, `watch`, `backend` and `on_failure`; see `unroll`.

    Returns:
        Outputs `(T, B, outputs)` and the final state. With `watch` the first is a pair: the
        outputs, and a list of what was watched in all parts.

    Example:
        >>> xs = jnp.ones((5, 2, 3))
        >>> batch = Batch(xs, None, jnp.ones((5, 2)), lengths=jnp.array([5, 2]))
        >>> outputs, state = outputs_of(network, batch)
        >>> bool(jnp.all(outputs[2:, 1] == network.readout(jnp.zeros(network.cell.R.shape[0]))))
        True
    """
    seen: list = []
    watch = options.get("watch")

    def run(part: Layer, xs: Any, state: Any = None, **how: Any) -> tuple[Any, Any]:
        ys, state = unroll(part, xs, state, **how, **options)
        if watch is not None:
            ys, more = ys
            seen.extend(more)
        return ys, state

    layer, xs, begin = network.prepare(run, batch)
    ys, final = run(layer, xs, state if layer is network else begin, **batch.marks)
    return (ys if watch is None else (ys, seen)), (final if layer is network else ())
