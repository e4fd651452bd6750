"""Sample a continuation of a prompt from a trained network.

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

from collections.abc import Generator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..errors import BadInput
from ..wiring import Network
from .prompt import NotFinite, before_last, checked, inputs_table, row

# Start small for latency, then double.
FIRST, LARGEST = 16, 256


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
    symbols = checked(network, prompt, count)
    if not 0 <= temperature <= float(jnp.finfo(network.dtype).max):
        raise BadInput(f"temperature must be 0 or a positive number, got {temperature}")
    if top_k is not None and top_k < 1:
        raise BadInput(f"top_k must be at least 1, got {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise BadInput(f"top_p must be above 0 and at most 1, got {top_p}")
    limits = (
        None if top_k is None else jnp.asarray(min(top_k, network.outputs), jnp.int32),
        None if top_p is None or top_p == 1 else jnp.asarray(top_p, network.dtype),
    )
    heat = jnp.asarray(temperature, network.dtype)
    return _pieces(network, symbols, count, key, heat, limits, state)


def _pieces(network, symbols, count, key, temperature, limits, state):
    network = eqx.nn.inference_mode(network)
    state, symbol = before_last(network, symbols, state)
    table = inputs_table(network)
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
        state, logits = network.step(state, row(table, symbol))
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
