"""Generating text from a trained network: symbols in, symbols out.

At each step the last symbol goes in, `o` comes out, and the next symbol is drawn from

    p = softmax(o / temperature), restricted to the `top_k` most probable symbols, and of these,
    renormalised, to the smallest set of most probable ones that holds a share of `top_p`

(Holtzman et al., 2020, for `top_p`). `beam` looks for the most probable continuation instead.

Example:
    >>> prompt = vocabulary.encode("To be")
    >>> pieces = sample(network, prompt, 1000, key=jax.random.key(0), temperature=0.8, top_p=0.95)
    >>> for text in as_text(pieces, vocabulary):
    ...     print(text, end="", flush=True)
"""

import codecs
from collections.abc import Generator, Iterable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..errors import BadInput
from ..tasks import Vocabulary
from ..through_time import can_step, starting_state, unroll
from ..wiring import Network
from .fit import check_beam

MOST = 2**31 - 1  # symbols, which are counted in 32 bits

# Pieces grow from the first, which is to come at once, to the largest, where calls cost nothing.
FIRST, LARGEST = 16, 256


class NotFinite(BadInput):
    """A network whose outputs are not finite, so that no symbol is more probable than another."""

    def __init__(self):
        super().__init__(
            "the network's outputs are not finite numbers, so its weights are damaged or its "
            "training diverged"
        )


def sample(
    network: Network,
    prompt: Any,
    count: int,
    *,
    key: jax.Array,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    state: Any = None,
) -> Generator[np.ndarray, None, Any]:
    """Draw a continuation of a prompt, and yield it in pieces as they come.

    The noise of a symbol depends on the key and its place alone, and every piece is made by the
    same compiled loop, so the sizes of the pieces change nothing.

    Args:
        network: reads symbols and gives a logit for each.
        prompt: symbols `(T,)`, at least one; see `opening` where there is none.
        count: how many symbols to draw.
        key: random key.
        temperature: below 1 the probable becomes more so; 0 takes the most probable symbol.
        top_k: draw among this many most probable symbols.
        top_p: draw among the most probable symbols that together hold this share.
        state: the state before the prompt; by default the network's initial one.

    Returns:
        A generator of pieces, symbols `(n,)` in int32. What it returns at its end is the state
        before the last symbol went in: `sample(network, last, ..., state=state)` goes on there.
    """
    symbols = _checked(network, prompt, count)
    if not 0 <= temperature <= float(jnp.finfo(network.dtype).max):
        raise BadInput(f"temperature must be 0 or a positive number, got {temperature}")
    if top_k is not None and top_k < 1:
        raise BadInput(f"top_k must be at least 1, got {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise BadInput(f"top_p must be above 0 and at most 1, got {top_p}")
    limits = (
        None if top_k is None else jnp.asarray(min(top_k, _outputs(network)), jnp.int32),
        None if top_p is None or top_p == 1 else jnp.asarray(top_p, network.dtype),
    )
    heat = jnp.asarray(temperature, network.dtype)
    return _pieces(network, symbols, count, key, heat, limits, state)


def _pieces(network, symbols, count, key, temperature, limits, state):
    network = eqx.nn.inference_mode(network)
    state, symbol = _before_last(network, symbols, state)
    table = _table(network)
    done, size = 0, FIRST
    while done < count:
        size = min(size, count - done, LARGEST)
        begin, steps = jnp.asarray(done, jnp.int32), jnp.asarray(size, jnp.int32)
        state, symbol, out, finite = _draw(
            network, table, state, symbol, begin, steps, key, temperature, limits, LARGEST
        )
        if not finite:
            raise NotFinite
        yield np.asarray(out)[:size]
        done, size = done + size, 2 * size
    return state


@eqx.filter_jit
def _draw(network, table, state, symbol, begin, steps, key, temperature, limits, room: int):
    """`steps` symbols in a buffer of `room`, and whether all logits were finite.

    It is one compiled loop for any number of steps.
    """

    def body(i, carry):
        state, symbol, out, finite = carry
        state, logits = network.step(state, _row(table, symbol))
        symbol = choose(logits, jax.random.fold_in(key, begin + i), temperature, *limits)
        finite &= jnp.isfinite(jnp.max(logits))
        return state, symbol, out.at[i].set(symbol), finite

    start = state, symbol, jnp.zeros(room, jnp.int32), jnp.asarray(True)
    return jax.lax.fori_loop(0, steps, body, start)


def choose(
    logits: jax.Array,
    key: jax.Array,
    temperature: jax.Array,
    top_k: jax.Array | None = None,
    top_p: jax.Array | None = None,
) -> jax.Array:
    """One symbol drawn from logits `(symbols,)`, by the largest of logit and Gumbel noise."""
    cold = temperature == 0
    scaled = (logits - jnp.max(logits)) / jnp.where(cold, 1, temperature)
    noise = jnp.where(cold, 0, jax.random.gumbel(key, logits.shape, logits.dtype))
    if top_k is None and top_p is None:
        return jnp.argmax(scaled + noise).astype(jnp.int32)
    order = jnp.argsort(-scaled)
    ranked = scaled[order]
    kept = jnp.ones(ranked.shape, bool)
    if top_k is not None:
        kept = jnp.arange(ranked.size) < top_k
    if top_p is not None:
        shares = jax.nn.softmax(jnp.where(kept, ranked, -jnp.inf))
        # The share of all that are more probable: of the first it is exactly 0, so one is kept.
        kept &= jnp.cumsum(shares) - shares < top_p
    return order[jnp.argmax(jnp.where(kept, ranked + noise[order], -jnp.inf))].astype(jnp.int32)


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
    symbols = _checked(network, prompt, count)
    if width < 1:
        raise BadInput(f"the width of a beam must be at least 1, got {width}")
    if width * _outputs(network) > MOST:
        most = MOST // _outputs(network)
        raise BadInput(f"the width of a beam must be at most {most} for this network, got {width}")
    check_beam(network, count, width)
    network = eqx.nn.inference_mode(network)
    state, symbol = _before_last(network, symbols, state)
    found, score = _search(network, _table(network), state, symbol, count, width)
    if not np.isfinite(score):
        raise NotFinite
    return np.asarray(found), float(score)


@eqx.filter_jit
def _search(network, table, state, symbol, count: int, width: int):
    size = _outputs(network)

    def spread(x):
        return jnp.broadcast_to(x, (width, *jnp.shape(x)))

    def extend(carry, _):
        states, symbols, scores = carry
        states, logits = network.step(states, _row(table, symbols))
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


def opening(vocabulary: Vocabulary) -> np.ndarray:
    """What stands before a text without a prompt: a newline, else a space, else symbol 0."""
    for point in map(ord, "\n "):
        if point in vocabulary.points:
            return np.array([vocabulary.points.index(point)])
    return np.array([0])


def as_text(pieces: Iterable[np.ndarray], vocabulary: Vocabulary) -> Iterator[str]:
    """Pieces of symbols as pieces of text; a character of several bytes waits for its last."""
    if vocabulary.level == "characters":
        yield from map(vocabulary.decode, pieces)
        return
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for piece in pieces:
        yield decoder.decode(np.asarray(piece, np.uint8).tobytes())
    yield decoder.decode(b"", final=True)


def until(texts: Iterable[str], stop: str) -> Iterator[str]:
    """Pieces of text up to the first `stop`, which may span pieces and is left out."""
    held = ""
    for text in texts:
        held += text
        if stop in held:
            yield held[: held.index(stop)]
            return
        # What may be the beginning of the stop text has to wait.
        wait = next(n for n in range(len(stop) - 1, -1, -1) if held.endswith(stop[:n]))
        yield held[: len(held) - wait]
        held = held[len(held) - wait :]
    yield held


def _checked(network: Network, prompt: Any, count: int) -> jax.Array:
    if not can_step(network):
        raise ValueError("generating needs a network with a step, got one that reads both ways")
    given = np.asarray(prompt)
    if given.ndim != 1 or not given.size:
        raise BadInput(f"a prompt is at least one symbol, (T,), got shape {given.shape}")
    if not 1 <= count <= MOST:
        limit = "at least 1" if count < 1 else f"at most {MOST}"
        raise BadInput(f"the length to generate must be {limit}, got {count}")
    network.check_inputs(given)
    return jnp.asarray(given, jnp.int32)


def _before_last(network: Network, symbols: jax.Array, state: Any) -> tuple[Any, jax.Array]:
    """The state before the last symbol of a prompt, and that symbol."""
    if symbols.size > 1:
        _, state = unroll(network, symbols[:-1], state)
    return starting_state(network, symbols, state), symbols[-1]


@eqx.filter_jit
def _table(network: Network) -> Any:
    """What a step needs from each symbol, all in one product: a step then only looks it up."""
    return network.inputs(jnp.arange(_outputs(network)))


def _row(table: Any, symbol: jax.Array) -> Any:
    return jax.tree.map(lambda rows: rows[symbol], table)


def _outputs(network: Network) -> int:
    return network.outputs
