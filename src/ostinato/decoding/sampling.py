"""Sample a continuation of a prompt from a trained network, alone or with what else could come.

The network reads the last symbol and outputs logits `o`. The next symbol is sampled from

    p = softmax(o / temperature)

restricted to the `top_k` most probable symbols and then, after renormalising, to the smallest set
of them with a total probability of at least `top_p` (Holtzman et al., 2020). `beam` finds the most
probable continuation instead, and `most_probable` the best label of each step.

Example:
    >>> from ostinato.decoding.text import as_text
    >>> network, vocabulary = run.network(), run.vocabulary
    >>> prompt = vocabulary.encode("The name")
    >>> pieces = sample(network, prompt, 40, key=jax.random.key(0), temperature=0.8, top_p=0.95)
    >>> len("".join(as_text(pieces, vocabulary)))
    40
"""

from collections.abc import Generator, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Layer, Model
from ..cells.building import parameter_dtype
from ..data import Batch
from ..errors import BadInput
from ..settings import checked_float, checked_int
from ..through_time import unroll
from ..through_time.running import starting_state
from ..wiring import outputs_of

# Start small for latency, then double.
FIRST, LARGEST = 16, 256
Limits = tuple[jax.Array | None, jax.Array | None]  # top_k and top_p


class Drawn(NamedTuple):
    """A sampled symbol.

    Attributes:
        symbol: its number.
        probability: with which it was drawn: after temperature, top-k and top-p.
        alternatives: the symbols of the largest probabilities, and these, the largest first; those
            of probability 0 are left out. With a temperature of 0, the probabilities are those of
            temperature 1.
    """

    symbol: int
    probability: float
    alternatives: list[tuple[int, float]]


def sample(
    network: Model,
    prompt: Any,
    count: int,
    *,
    key: jax.Array,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    state: Any = None,
) -> Generator[np.ndarray, None, Any]:
    """Sample a continuation of a prompt, and yield it piece by piece.

    The noise of a symbol depends only on the key and on its position, and one compiled loop makes
    all pieces, so their sizes do not affect the result.

    Args:
        network: reads symbols and outputs one logit per symbol.
        prompt: symbols `(T,)`, at least one; use `opening` if you have none.
        count: how many symbols to sample.
        key: random key.
        temperature: below 1 sharpens the distribution; 0 takes the most probable symbol.
        top_k: sample only from this many most probable symbols.
        top_p: sample only from the most probable symbols with this total probability.
        state: the state before the prompt; by default the network's initial state.

    Returns:
        A generator of pieces, symbols `(n,)` in int32. When exhausted, it returns the state before
        the last symbol was read: `sample(network, last, ..., state=state)` continues from there.
    """
    layer, symbols = checked(network, prompt, count)
    heat, limits = settings(network, temperature, top_k, top_p)
    return _pieces(layer, symbols, count, key, heat, limits, state)


def settings(
    network: Model, temperature: float, top_k: int | None, top_p: float | None
) -> tuple[jax.Array, Limits]:
    """The temperature and the limits as arrays, after checks; for all that draw symbols."""
    heat, dtype = checked_float("temperature", temperature, min=0), parameter_dtype(network)
    top_k = None if top_k is None else checked_int("top_k", top_k)
    if top_p is not None and not 0 < (top_p := checked_float("top_p", top_p)) <= 1:
        raise BadInput(f"top_p must be above 0 and at most 1, got {top_p}")
    limits = (
        None if top_k is None else jnp.asarray(min(top_k, network.outputs), jnp.int32),
        None if top_p is None or top_p == 1 else jnp.asarray(top_p, dtype),
    )
    return jnp.asarray(heat, dtype), limits


def play(
    network: Model,
    prompt: Any,
    count: int,
    *,
    key: jax.Array,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    alternatives: int = 5,
) -> Iterator[Drawn]:
    """Sample a continuation of a prompt, and yield each symbol with its alternatives.

    The symbols are those that `sample` gives for the same key.

    Args:
        network, prompt, count, key, temperature, top_k, top_p: as for `sample`.
        alternatives: how many to give, at most.

    Example:
        >>> prompt = run.vocabulary.encode("The name")
        >>> drawn = list(play(run.network(), prompt, 20, key=key, temperature=0.8, top_k=3))
        >>> len(drawn), max(len(one.alternatives) for one in drawn)
        (20, 3)
        >>> all(one.symbol in dict(one.alternatives) for one in drawn)
        True
    """
    layer, symbols = checked(network, prompt, count)
    checked_int("the number of alternatives", alternatives)
    heat, limits = settings(network, temperature, top_k, top_p)
    top = min(alternatives, network.outputs)
    return _drawn(_pieces(layer, symbols, count, key, heat, limits, None, top))


def _drawn(pieces: Iterator[list[np.ndarray]]) -> Iterator[Drawn]:
    for piece in pieces:
        for one, probability, others, shares in zip(*(x.tolist() for x in piece), strict=True):
            some = [(n, p) for n, p in zip(others, shares, strict=True) if p > 0]
            yield Drawn(one, probability, some)


def _pieces(
    network: Layer,
    symbols: jax.Array,
    count: int,
    key: jax.Array,
    temperature: jax.Array,
    limits: Limits,
    state: Any,
    top: int | None = None,
) -> Generator[Any, None, Any]:
    """Pieces of symbols `(n,)`; with `top`, lists of these, probabilities and alternatives."""
    network = eqx.nn.inference_mode(network)
    state, symbol = before_last(network, symbols, state)
    table = inputs_table(network)
    done, size = 0, FIRST
    while done < count:
        size = min(size, count - done, LARGEST)
        begin, steps = jnp.asarray(done, jnp.int32), jnp.asarray(size, jnp.int32)
        state, symbol, out, finite = _draw(
            network, table, state, symbol, begin, steps, key, temperature, limits, top
        )
        if not finite:
            raise NotFinite
        piece = [np.asarray(x)[:size] for x in out]
        yield piece[0] if top is None else piece
        done, size = done + size, 2 * size
    return state


@eqx.filter_jit
def _draw(
    network: Layer,
    table: Any,
    state: Any,
    symbol: jax.Array,
    begin: jax.Array,
    steps: jax.Array,
    key: jax.Array,
    temperature: jax.Array,
    limits: Limits,
    top: int | None,
) -> tuple[Any, jax.Array, list[jax.Array], jax.Array]:
    """Sample `steps` symbols into buffers of `LARGEST`, with one compiled loop for any number.

    Returns:
        The state, the last symbol, the buffers, and whether all logits were finite. There is a
        buffer of symbols and, with `top`, those of probabilities and of so many alternatives.
    """

    def body(i: jax.Array, carry: Any) -> Any:
        state, symbol, out, finite = carry
        state, logits = network.step(state, row(table, symbol))
        symbol = choose(logits, jax.random.fold_in(key, begin + i), temperature, *limits)
        new = [symbol]
        if top is not None:
            shares = jax.nn.softmax(weighed(logits, temperature, *limits))
            best, which = jax.lax.top_k(shares, top)
            new += [shares[symbol], which, best]
        out = [buffer.at[i].set(x) for buffer, x in zip(out, new, strict=True)]
        return state, symbol, out, finite & jnp.isfinite(jnp.max(logits))

    buffers, real = [jnp.zeros(LARGEST, jnp.int32)], parameter_dtype(network)
    if top is not None:
        buffers += [
            jnp.zeros(LARGEST, real),
            jnp.zeros((LARGEST, top), jnp.int32),
            jnp.zeros((LARGEST, top), real),
        ]
    start = state, symbol, buffers, jnp.asarray(True)
    return jax.lax.fori_loop(0, steps, body, start)


def choose(
    logits: jax.Array,
    key: jax.Array,
    temperature: jax.Array,
    top_k: jax.Array | None = None,
    top_p: jax.Array | None = None,
) -> jax.Array:
    """Sample one symbol from logits `(symbols,)`, by the Gumbel-max trick."""
    noise = jax.random.gumbel(key, logits.shape, logits.dtype)
    noise = jnp.where(temperature == 0, 0, noise)
    return jnp.argmax(weighed(logits, temperature, top_k, top_p) + noise).astype(jnp.int32)


def weighed(
    logits: jax.Array, temperature: jax.Array, top_k: jax.Array | None, top_p: jax.Array | None
) -> jax.Array:
    """Logits `(symbols,)` of the distribution that is sampled from: `-inf` for what is left out.

    A temperature of 0 leaves them as they are; the most probable symbol is then taken.
    """
    scaled = (logits - jnp.max(logits)) / jnp.where(temperature == 0, 1, temperature)
    if top_k is None and top_p is None:
        return scaled
    order = jnp.argsort(-scaled)
    ranked = scaled[order]
    kept = jnp.ones(ranked.shape, bool)
    if top_k is not None:
        kept = jnp.arange(ranked.size) < top_k
    if top_p is not None:
        shares = jax.nn.softmax(jnp.where(kept, ranked, -jnp.inf))
        # The total of all more probable symbols is exactly 0 for the first, so one is always kept.
        kept &= jnp.cumsum(shares) - shares < top_p
    return jnp.where(jnp.zeros_like(kept).at[order].set(kept), scaled, -jnp.inf)


class NotFinite(BadInput):
    """The outputs of a network are not finite, so symbols have no probabilities."""

    def __init__(self) -> None:
        super().__init__(
            "the network's outputs are not finite numbers, so its weights are damaged or its "
            "training diverged"
        )


def checked(network: Model, prompt: Any, count: int) -> tuple[Layer, jax.Array]:
    """What is stepped, and the prompt `(T,)` in int32, after checks of both and the count."""
    if not network.can_step:
        raise BadInput("generating needs a network with a step, got one that reads both ways")
    given = np.asarray(prompt)
    if given.ndim != 1 or not given.size:
        raise BadInput(f"a prompt is at least one symbol, (T,), got shape {given.shape}")
    checked_int("the length to generate", count)
    layer = network.as_layer()
    layer.check_inputs(given)
    return layer, jnp.asarray(given, jnp.int32)


def before_last(network: Layer, symbols: jax.Array, state: Any) -> tuple[Any, jax.Array]:
    """The state before the last symbol of a prompt, and that symbol."""
    if symbols.size > 1:
        _, state = unroll(network, symbols[:-1], state)
    return starting_state(network, symbols, state), symbols[-1]


@eqx.filter_jit
def inputs_table(network: Layer) -> Any:
    """`network.inputs` of every symbol as one product; a step then looks up its row."""
    return network.inputs(jnp.arange(network.outputs))


def row(table: Any, symbol: jax.Array) -> Any:
    """The inputs of some symbols, from `inputs_table`."""
    return jax.tree.map(lambda rows: rows[symbol], table)


@eqx.filter_jit
def most_probable(network: Model, batch: Batch) -> jax.Array:
    """The label with the largest output at each step, `(T, B)`. Noise is off.

    Example:
        >>> from ostinato.decoding.sampling import most_probable
        >>> most_probable(network, Batch(xs, None, jnp.ones((10, 4)))).shape
        (10, 4)
    """
    outputs, _ = outputs_of(eqx.nn.inference_mode(network), batch)
    return jnp.argmax(outputs, axis=-1)
