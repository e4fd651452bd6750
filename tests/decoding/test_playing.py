"""Sampling with alternatives: the same symbols as `sample`, and the probabilities of each."""

import jax
import numpy as np
import pytest

from ostinato.cells import GRU
from ostinato.cells.initialisers import normal
from ostinato.decoding import play, sample
from ostinato.errors import BadInput
from ostinato.wiring import Network, OneHot, Readout

SIZE = 9


@pytest.fixture(scope="module")
def network():
    one, two = jax.random.split(jax.random.key(0))
    readout = Readout(5, SIZE, key=two, init=normal(3.0))
    return Network(GRU(SIZE, 5, key=one), readout, OneHot(SIZE))


def shares(logits, temperature, top_k, top_p):
    """By sorting, in NumPy."""
    p = np.exp((logits - logits.max()) / temperature)
    order = np.argsort(-p, kind="stable")
    kept = order[: top_k or SIZE]
    q = p[kept] / p[kept].sum()
    if top_p is not None:
        kept = kept[: int(np.searchsorted(np.cumsum(q), top_p)) + 1]
    found = np.zeros(SIZE)
    found[kept] = p[kept]
    return found / found.sum()


@pytest.mark.parametrize(
    "how",
    [
        {"temperature": 0.7},
        {"temperature": 1.3, "top_k": 4, "top_p": 0.8},
    ],
)
def test_symbols_of_sample_with_their_probabilities(network, how):
    key, prompt = jax.random.key(5), np.array([1, 2])
    drawn = list(play(network, prompt, 40, key=key, alternatives=3, **how))
    same = np.concatenate(list(sample(network, prompt, 40, key=key, **how)))
    assert [one.symbol for one in drawn] == same.tolist()
    step = jax.jit(lambda state, symbol: network.step(state, network.inputs(symbol)))
    (state, _), symbol = step(network.initial(()), 1), 2
    for one in drawn:
        state, logits = step(state, symbol)
        p = shares(np.asarray(logits), how["temperature"], how.get("top_k"), how.get("top_p"))
        assert p[one.symbol] > 0
        np.testing.assert_allclose(one.probability, p[one.symbol], rtol=1e-8)
        best = [n for n in np.argsort(-p, kind="stable")[:3] if p[n] > 0]
        assert [n for n, _ in one.alternatives] == best
        np.testing.assert_allclose([x for _, x in one.alternatives], p[best], rtol=1e-8)
        symbol = one.symbol


def test_comes_as_it_is_made(network):
    drawn = play(network, [1], 2**30, key=jax.random.key(0), temperature=0)
    first = next(drawn)
    assert first.symbol == first.alternatives[0][0]  # the most probable one
    with pytest.raises(BadInput, match="alternatives must be at least 1"):
        play(network, [1], 5, key=jax.random.key(0), alternatives=0)
