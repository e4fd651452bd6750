"""Beam search: after a prompt, and for whole answers to another sequence, which are also sampled.

A model that answers has a method `read(run, source, lengths, copies)`, which gives its decoder and
the decoder's state (see `wiring.EncoderDecoder`). Symbol 0 starts and ends an answer.

    beam          the `width` most probable answers so far are kept after each symbol
    greedy        the most probable symbol at each step: a beam of width 1
    sampled       symbols drawn at random, as `sample` draws them

An answer that has ended stays in the beam as it is, so a beam as wide as there are answers finds
the most probable one. Answers are ranked by `log p / ((5 + length) / 6)^penalty` (Wu et al., 2016);
the length includes the end.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Layer, Model
from ..cells.building import parameter_dtype
from ..errors import BadInput
from ..memory import FLOAT, check_memory
from ..settings import MAX, checked_float, checked_int
from ..through_time import unroll
from ..weights import count_parameters
from ..wiring import EncoderDecoder
from .sampling import NotFinite, before_last, checked, choose, inputs_table, row, settings

END = 0


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
        >>> symbols, log_probability = beam(network, vocabulary.encode("The name"), 5, width=3)
        >>> len(vocabulary.decode(symbols)), log_probability < 0
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
    best, score = _search_on(layer, inputs_table(layer), state, symbol, count, width)
    if not np.isfinite(score):
        raise NotFinite
    return np.asarray(best), float(score)


@eqx.filter_jit
def _search_on(
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

    scores = _first_scores(width, parameter_dtype(network))
    start = (jax.tree.map(for_each_beam, state), for_each_beam(symbol), scores)
    (_, _, scores), (parents, symbols) = jax.lax.scan(extend, start, None, length=count)

    def back(beam: jax.Array, step: Any) -> tuple[jax.Array, jax.Array]:
        parents, symbols = step
        return parents[beam], symbols[beam]

    # `top_k` sorts the scores, so the best continuation ends in beam 0.
    first = jnp.zeros((), parents.dtype)
    return jax.lax.scan(back, first, (parents, symbols), reverse=True)[1], scores[0]


def _first_scores(width: int, dtype: Any) -> jax.Array:
    """Log probabilities of beams that all start out equal: all but the first have probability 0."""
    return jnp.where(jnp.arange(width) == 0, 0.0, -jnp.inf).astype(dtype)


def check_beam(network: Layer, count: int, width: int) -> None:
    """Raise if a beam search would not fit into memory."""
    state = eqx.filter_eval_shape(lambda: network.initial(()))
    each = count_parameters(state) + network.outputs
    check_memory(
        {"states": FLOAT * width * each, "texts": FLOAT * 2 * width * count},
        {"states": "a narrower beam", "texts": "a narrower beam or a shorter text"},
    )


class Answers(NamedTuple):
    """The n best answers to each of B sources, best first.

    Attributes:
        symbols: `(B, n, max_symbols)`, with 0 from the end on.
        lengths: `(B, n)`, the number of symbols, with the end if there is one.
        scores: `(B, n)`, the natural logarithm of the probability of each answer.
        ended: `(B, n)`, false where the answer was cut off.
    """

    symbols: np.ndarray
    lengths: np.ndarray
    scores: np.ndarray
    ended: np.ndarray


def beam_answers(
    network: EncoderDecoder,
    source: Any,
    lengths: Any,
    *,
    width: int,
    max_symbols: int,
    count: int = 1,
    penalty: float = 0.0,
) -> Answers:
    """The most probable answers to some sources, by beam search.

    Args:
        network: has `read`; see the module's docstring.
        source: `(S, B)`, or whatever the network reads.
        lengths: `(B,)`, the valid steps of each source.
        width: how many answers are kept after each symbol.
        max_symbols: the largest number of symbols of an answer.
        count: how many answers to return.
        penalty: of short answers; 0 ranks by probability alone.
    """
    width = checked_int("the width of a beam", width)
    if checked_int("the number of answers", count) > width:
        raise BadInput(f"a beam of width {width} has at most {width} answers, got {count}")
    max_symbols = checked_int("the number of symbols of an answer", max_symbols)
    penalty = checked_float("penalty", penalty)
    network = eqx.nn.inference_mode(network)
    width = min(width, network.outputs ** min(max_symbols, 32))
    answers = _search(
        network, source, jnp.asarray(lengths), width, max_symbols, min(count, width), penalty
    )
    return Answers(*map(np.asarray, answers))


@eqx.filter_jit
def _search(
    network: EncoderDecoder,
    source: Any,
    lengths: Any,
    width: int,
    max_symbols: int,
    count: int,
    penalty: float,
) -> tuple:
    decoder, state = network.read(unroll, source, lengths, copies=width)
    batch, size = lengths.shape[0], network.outputs
    rows = jnp.arange(batch)[:, None]

    def extend(carry: Any) -> Any:
        t, state, last, scores, ended, sizes, symbols = carry
        state, logits = decoder.step(state, decoder.inputs(last.reshape(-1)))
        steps = jax.nn.log_softmax(logits).reshape(batch, width, size)
        # An answer that has ended goes on in one way only, which costs nothing.
        stay = jnp.where(jnp.arange(size) == END, 0.0, -jnp.inf).astype(steps.dtype)
        steps = jnp.where(ended[..., None], stay, steps)
        totals = (scores[..., None] + steps).reshape(batch, -1)
        scores, places = jax.lax.top_k(totals, width)
        parents, last = places // size, (places % size).astype(jnp.int32)

        def follow(x: jax.Array) -> jax.Array:
            own = x.reshape(batch, width, *x.shape[1:])
            return own[rows, parents].reshape(x.shape)

        ended, sizes, symbols = ended[rows, parents], sizes[rows, parents], symbols[rows, parents]
        sizes = sizes + ~ended
        symbols = symbols.at[:, :, t].set(jnp.where(ended, END, last))
        ended |= last == END
        return t + 1, jax.tree.map(follow, state), last, scores, ended, sizes, symbols

    def goes_on(carry: Any) -> jax.Array:
        return (carry[0] < max_symbols) & ~jnp.all(carry[4])

    scores = _first_scores(width, network.dtype)
    start = (
        jnp.zeros((), jnp.int32),
        state,
        jnp.full((batch, width), END, jnp.int32),
        jnp.broadcast_to(scores, (batch, width)),
        jnp.zeros((batch, width), bool),
        jnp.zeros((batch, width), jnp.int32),
        jnp.full((batch, width, max_symbols), END, jnp.int32),
    )
    _, _, _, scores, ended, sizes, symbols = jax.lax.while_loop(goes_on, extend, start)
    ranked = scores / ((5 + sizes) / 6) ** penalty
    # Answers that were cut off come after all that ended.
    order = jnp.lexsort((-ranked, ~ended), axis=-1)[:, :count]
    return symbols[rows, order], sizes[rows, order], scores[rows, order], ended[rows, order]


def sampled_answers(
    network: EncoderDecoder,
    source: Any,
    lengths: Any,
    *,
    key: jax.Array,
    max_symbols: int,
    count: int = 1,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Answers:
    """Answers drawn at random, `count` for each source; for the options see `sample`."""
    count = checked_int("the number of answers", count)
    max_symbols = checked_int("the number of symbols of an answer", max_symbols)
    heat, limits = settings(network, temperature, top_k, top_p)
    network = eqx.nn.inference_mode(network)
    answers = _sample(network, source, jnp.asarray(lengths), key, heat, limits, max_symbols, count)
    return Answers(*map(np.asarray, answers))


@eqx.filter_jit
def _sample(
    network: EncoderDecoder,
    source: Any,
    lengths: Any,
    key: jax.Array,
    heat: jax.Array,
    limits: Any,
    max_symbols: int,
    count: int,
) -> tuple:
    decoder, state = network.read(unroll, source, lengths, copies=count)
    rows = lengths.shape[0] * count

    def step(carry: Any, t: jax.Array) -> Any:
        state, last, score, ended, sizes = carry
        state, logits = decoder.step(state, decoder.inputs(last))
        keys = jax.random.split(jax.random.fold_in(key, t), rows)
        drawn = jax.vmap(lambda o, k: choose(o, k, heat, *limits))(logits, keys)
        cost = jnp.take_along_axis(jax.nn.log_softmax(logits), drawn[:, None], axis=-1)[:, 0]
        score, sizes = score + jnp.where(ended, 0, cost), sizes + ~ended
        drawn = jnp.where(ended, END, drawn)
        return (state, drawn, score, ended | (drawn == END), sizes), drawn

    start = (
        state,
        jnp.full(rows, END, jnp.int32),
        jnp.zeros(rows, network.dtype),
        jnp.zeros(rows, bool),
        jnp.zeros(rows, jnp.int32),
    )
    (_, _, score, ended, sizes), symbols = jax.lax.scan(step, start, jnp.arange(max_symbols))
    shape = (lengths.shape[0], count)
    return symbols.T.reshape(*shape, max_symbols), *(
        x.reshape(shape) for x in (sizes, score, ended)
    )
