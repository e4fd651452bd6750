"""How a network turns a batch into outputs."""

from typing import Any

from ..data import Batch
from ..through_time import unroll


def outputs_of(network: Any, batch: Batch, state: Any = None, **options: Any) -> tuple[Any, Any]:
    """The outputs of a network on a batch, and its state afterwards.

    By default this is `unroll` over the inputs, with the batch's lengths and resets. A network that
    reads its batch in another way, such as an encoder with a decoder, has a method

        over_batch(run, batch, state) -> (outputs, state)

    and calls `run(part, xs, state, lengths=, resets=, reverse=)` for each of its parts; `run` is
    `unroll` with the options given here.

    Args:
        network: anything that `unroll` takes, or that has `over_batch`.
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

    if hasattr(network, "over_batch"):
        ys, state = network.over_batch(run, batch, state)
    else:
        ys, state = run(network, batch.inputs, state, **batch.marks)
    return (ys if watch is None else (ys, seen)), state
