"""Beam search: the most probable continuation of a prompt."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..errors import BadInput
from ..memory import FLOAT, check_memory
from ..weights import count_parameters
from ..wiring import Network
from .prompt import MOST, NotFinite, before_last, checked, inputs_table, row


def beam(
    network: Network, prompt: Any, count: int, width: int, *, state: Any = None
) -> tuple[np.ndarray, float]:
    """The most probable continuation that a beam search of some width finds.

    The `width` most probable continuations of each length are carried on; with a width of at
    least `symbols ** (count - 1)` the search is exhaustive, with a width of 1 it is greedy.

    Args:
        network: reads symbols and gives a logit for each.
        prompt: symbols `(T,)`, at least one.
        count: how many symbols to find.
        width: how many continuations are carried.
        state: the state before the prompt; by default the network's initial one.

    Returns:
        The symbols `(count,)`, and the natural logarithm of their probability.

    Example:
        >>> symbols, log_probability = beam(network, vocabulary.encode("To be"), 100, 8)
    """
    symbols = checked(network, prompt, count)
    if width < 1:
        raise BadInput(f"the width of a beam must be at least 1, got {width}")
    if width * network.outputs > MOST:
        most = MOST // network.outputs
        raise BadInput(f"the width of a beam must be at most {most} for this network, got {width}")
    check_beam(network, count, width)
    network = eqx.nn.inference_mode(network)
    state, symbol = before_last(network, symbols, state)
    found, score = _search(network, inputs_table(network), state, symbol, count, width)
    if not np.isfinite(score):
        raise NotFinite
    return np.asarray(found), float(score)


@eqx.filter_jit
def _search(network, table, state, symbol, count: int, width: int):
    size = network.outputs

    def spread(x):
        return jnp.broadcast_to(x, (width, *jnp.shape(x)))

    def extend(carry, _):
        states, symbols, scores = carry
        states, logits = network.step(states, row(table, symbols))
        totals = scores[:, None] + jax.nn.log_softmax(logits)
        scores, places = jax.lax.top_k(totals.reshape(-1), width)
        parents, symbols = places // size, (places % size).astype(jnp.int32)
        states = jax.tree.map(lambda x: x[parents], states)
        return (states, symbols, scores), (parents, symbols)

    # At first all beams are the same; all but one start at probability 0, so that one counts.
    scores = jnp.where(jnp.arange(width) == 0, 0.0, -jnp.inf).astype(network.dtype)
    start = (jax.tree.map(spread, state), spread(symbol), scores)
    (_, _, scores), (parents, symbols) = jax.lax.scan(extend, start, None, length=count)

    def back(place, step):
        parents, symbols = step
        return parents[place], symbols[place]

    # The scores come sorted, so the best continuation ends at place 0.
    first = jnp.zeros((), parents.dtype)
    return jax.lax.scan(back, first, (parents, symbols), reverse=True)[1], scores[0]


def check_beam(network: Network, count: int, width: int) -> None:
    """Refuse a beam search that needs more memory than there is."""
    state = eqx.filter_eval_shape(lambda: network.initial(()))
    each = count_parameters(state) + network.outputs
    check_memory(
        {"states": FLOAT * width * each, "texts": FLOAT * 2 * width * count},
        {"states": "a narrower beam", "texts": "a narrower beam or a shorter text"},
    )
