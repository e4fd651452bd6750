"""Beam search: the most probable continuation of a prompt."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Layer, Model
from ..cells.building import parameter_dtype
from ..errors import BadInput
from ..memory import FLOAT, check_memory
from ..settings import checked_int
from ..weights import count_parameters
from .sampling import MAX, NotFinite, before_last, checked, inputs_table, row


def beam(
    network: Model, prompt: Any, count: int, width: int, *, state: Any = None
) -> tuple[np.ndarray, float]:
    """The most probable continuation of a prompt, by beam search.

    After each symbol the search keeps the `width` most probable continuations. With a width of at
    least `symbols ** (count - 1)` it is exhaustive, with a width of 1 it is greedy.

    Args:
        network: reads symbols and outputs one logit per symbol.
        prompt: symbols `(T,)`, at least one.
        count: how many symbols to generate.
        width: how many continuations to keep.
        state: the state before the prompt; by default the network's initial state.

    Returns:
        The symbols `(count,)`, and the natural logarithm of their probability.

    Example:
        >>> network, vocabulary = run.network(), run.vocabulary
        >>> found, log_probability = beam(network, vocabulary.encode("The name"), 5, width=3)
        >>> len(vocabulary.decode(found)), log_probability < 0
        (5, True)
    """
    layer, symbols = checked(network, prompt, count)
    width = checked_int("the width of a beam", width)
    if width * network.outputs > MAX:
        limit = MAX // network.outputs
        raise BadInput(f"the width of a beam must be at most {limit} for this network, got {width}")
    check_beam(layer, count, width)
    layer = eqx.nn.inference_mode(layer)
    state, symbol = before_last(layer, symbols, state)
    found, score = _search(layer, inputs_table(layer), state, symbol, count, width)
    if not np.isfinite(score):
        raise NotFinite
    return np.asarray(found), float(score)


@eqx.filter_jit
def _search(
    network: Layer, table: Any, state: Any, symbol: jax.Array, count: int, width: int
) -> tuple[jax.Array, jax.Array]:
    """The best continuation `(count,)` and its log probability."""
    size = network.outputs

    def for_each_beam(x: jax.Array) -> jax.Array:
        return jnp.broadcast_to(x, (width, *jnp.shape(x)))

    def extend(carry: Any, _: None) -> tuple[Any, Any]:
        states, symbols, scores = carry
        states, logits = network.step(states, row(table, symbols))
        totals = scores[:, None] + jax.nn.log_softmax(logits)
        scores, places = jax.lax.top_k(totals.reshape(-1), width)
        parents, symbols = places // size, (places % size).astype(jnp.int32)
        states = jax.tree.map(lambda x: x[parents], states)
        return (states, symbols, scores), (parents, symbols)

    # All beams start out equal, so all but the first get probability 0.
    scores = jnp.where(jnp.arange(width) == 0, 0.0, -jnp.inf).astype(parameter_dtype(network))
    start = (jax.tree.map(for_each_beam, state), for_each_beam(symbol), scores)
    (_, _, scores), (parents, symbols) = jax.lax.scan(extend, start, None, length=count)

    def back(beam: jax.Array, step: Any) -> tuple[jax.Array, jax.Array]:
        parents, symbols = step
        return parents[beam], symbols[beam]

    # `top_k` sorts the scores, so the best continuation ends in beam 0.
    first = jnp.zeros((), parents.dtype)
    return jax.lax.scan(back, first, (parents, symbols), reverse=True)[1], scores[0]


def check_beam(network: Layer, count: int, width: int) -> None:
    """Raise if a beam search would not fit into memory."""
    state = eqx.filter_eval_shape(lambda: network.initial(()))
    each = count_parameters(state) + network.outputs
    check_memory(
        {"states": FLOAT * width * each, "texts": FLOAT * 2 * width * count},
        {"states": "a narrower beam", "texts": "a narrower beam or a shorter text"},
    )
