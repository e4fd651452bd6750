"""Sample a continuation symbol by symbol, with what else could have come."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Layer, Model
from ..cells.building import parameter_dtype
from ..settings import checked_int
from .sampling import (
    FIRST,
    LARGEST,
    NotFinite,
    before_last,
    checked,
    choose,
    inputs_table,
    row,
    settings,
    weighed,
)


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
    how = settings(network, temperature, top_k, top_p)
    return _drawn(layer, symbols, count, key, *how, min(alternatives, network.outputs))


def _drawn(
    network: Layer,
    symbols: jax.Array,
    count: int,
    key: jax.Array,
    heat: jax.Array,
    limits: Any,
    top: int,
) -> Iterator[Drawn]:
    network = eqx.nn.inference_mode(network)
    state, symbol = before_last(network, symbols, None)
    table = inputs_table(network)
    done, size = 0, FIRST
    while done < count:
        size = min(size, count - done, LARGEST)
        begin, steps = jnp.asarray(done, jnp.int32), jnp.asarray(size, jnp.int32)
        (state, symbol, *out), finite = _play(
            network, table, state, symbol, begin, steps, key, heat, limits, top
        )
        if not finite:
            raise NotFinite
        for one, probability, others, shares in zip(
            *(np.asarray(x)[:size].tolist() for x in out), strict=True
        ):
            some = [(n, p) for n, p in zip(others, shares, strict=True) if p > 0]
            yield Drawn(one, probability, some)
        done, size = done + size, 2 * size


@eqx.filter_jit
def _play(
    network: Layer,
    table: Any,
    state: Any,
    symbol: jax.Array,
    begin: jax.Array,
    steps: jax.Array,
    key: jax.Array,
    heat: jax.Array,
    limits: Any,
    top: int,
) -> tuple[Any, jax.Array]:
    """State, last symbol, and symbols, probabilities and alternatives in buffers; all finite?"""

    def body(i: jax.Array, carry: Any) -> Any:
        (state, symbol, *out), finite = carry
        state, logits = network.step(state, row(table, symbol))
        symbol = choose(logits, jax.random.fold_in(key, begin + i), heat, *limits)
        shares = jax.nn.softmax(weighed(logits, heat, *limits))
        best, which = jax.lax.top_k(shares, top)
        new = (symbol, shares[symbol], which, best)
        out = [buffer.at[i].set(x) for buffer, x in zip(out, new, strict=True)]
        return (state, symbol, *out), finite & jnp.isfinite(jnp.max(logits))

    real, whole = parameter_dtype(network), jnp.int32
    buffers = (
        jnp.zeros(LARGEST, whole),
        jnp.zeros(LARGEST, real),
        jnp.zeros((LARGEST, top), whole),
        jnp.zeros((LARGEST, top), real),
    )
    start = (state, symbol, *buffers), jnp.asarray(True)
    return jax.lax.fori_loop(0, steps, body, start)
