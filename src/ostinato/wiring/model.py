"""How a network turns a batch into outputs."""

from collections.abc import Callable
from typing import Any

from ..data import Batch
from ..through_time import unroll


def prepared(network: Any, batch: Batch, run: Callable[..., Any] = unroll) -> tuple[Any, Any, Any]:
    """What is unrolled over the steps of a batch: a layer, its inputs, and its initial state.

    By default these are the network itself, the inputs of the batch and `None`. A network that has
    to read something else first, such as a source sentence or a picture, has a method

        prepare(run, batch) -> (layer, inputs, state)

    and calls `run(part, xs, state, lengths=, resets=, reverse=)`, which is `unroll` with options,
    for each of its parts. Such a network carries no state from batch to batch: its `initial` is
    `()`. Training, evaluation, decoding and the lens all go through here.

    Example:
        >>> batch = Batch(jnp.ones((5, 2, 3)), None, jnp.ones((5, 2)))
        >>> layer, inputs, state = prepared(network, batch)
        >>> layer is network, inputs.shape, state
        (True, (5, 2, 3), None)
    """
    if hasattr(network, "prepare"):
        return network.prepare(run, batch)
    return network, batch.inputs, None


def outputs_of(network: Any, batch: Batch, state: Any = None, **options: Any) -> tuple[Any, Any]:
    """The outputs of a network on a batch, and its state afterwards.

    This is `unroll` over the steps of the batch, with its lengths and resets; see `prepared`.

    Args:
        network: anything that `unroll` takes, or that has `prepare`.
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

    def run(part: Any, xs: Any, state: Any = None, **how: Any) -> tuple[Any, Any]:
        ys, state = unroll(part, xs, state, **how, **options)
        if watch is not None:
            ys, more = ys
            seen.extend(more)
        return ys, state

    layer, xs, begin = prepared(network, batch, run)
    ys, final = run(layer, xs, state if layer is network else begin, **batch.marks)
    return (ys if watch is None else (ys, seen)), (final if layer is network else ())
