"""A network on a text: surprise, states, gates, reach and similar states, against plain loops."""

from itertools import chain

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from everyday import some
from ostinato.cells import GRU, LSTM, Simple
from ostinato.data import Vocabulary
from ostinato.data.words import Words
from ostinato.errors import BadInput
from ostinato.lens import find_unit, gradient_by_lag, reach, read, similar_states
from ostinato.lens.part_names import Unit, state_names
from ostinato.lens.patterns import pattern
from ostinato.lens.reading import read_gates
from ostinato.tasks.text import parallel_reading
from ostinato.tasks.text.passages import TaggedPassage, TextPassage
from ostinato.tasks.text.tagged import TagCode
from ostinato.wiring import Bidirectional, Embedding, Network, OneHot, Readout, Stack, Tagger

TEXT = "f(a) = g(b, c); h(x) and no (more)\n" * 3
VOCABULARY = Vocabulary.of_text(TEXT)
SIZE = len(VOCABULARY)


def network(make=LSTM, units=6, key=0):
    one, two = jax.random.split(jax.random.key(key))
    return Network(make(SIZE, units, key=one), Readout(units, SIZE, key=two), OneHot(SIZE))


def passage(text=TEXT):
    return TextPassage(VOCABULARY.encode(text), VOCABULARY)


def test_surprise_and_alternatives_are_those_of_a_loop():
    net, text = network(), passage(TEXT[:30])
    found = read(net, text, top=3)
    state, logs = net.initial((1,)), None
    assert np.isnan(found.surprise[0]) and np.all(found.expected[0] == -1)
    for at, symbol in enumerate(text.symbols):
        if logs is not None:
            np.testing.assert_allclose(found.surprise[at], -logs[symbol] / np.log(2), rtol=1e-10)
            best = np.argsort(-logs)[:3]
            np.testing.assert_array_equal(found.expected[at], best)
            np.testing.assert_allclose(found.probabilities[at], np.exp(logs[best]), rtol=1e-10)
        state, y = net.step(state, net.inputs(jnp.array([symbol])))
        logs = np.asarray(jax.nn.log_softmax(y[0]))
        for name, value in zip("hc", state, strict=True):
            np.testing.assert_allclose(found.states[name][at], value[0], rtol=1e-5, atol=1e-7)


def test_gates_make_the_states(monkeypatch):
    monkeypatch.setattr(parallel_reading, "CHUNK", 40)  # three of them, the last not full
    net, text = network(), passage()
    states, gates = read(net, text).states, read_gates(net, text)
    c = np.tanh(states["c"])
    np.testing.assert_allclose(gates["memory"], c, atol=1e-6)
    np.testing.assert_allclose(gates["output gate"] * c, states["h"], atol=1e-6)
    before = np.concatenate([np.zeros((1, 6)), states["c"][:-1]])
    new = gates["forget gate"] * before + gates["input gate"] * gates["block input"]
    np.testing.assert_allclose(new, states["c"], atol=1e-6)


def test_names_of_states():
    keys = jax.random.split(jax.random.key(0), 4)
    stack = Stack([LSTM(SIZE, 4, key=keys[0]), GRU(4, 3, key=keys[1])])
    net = Network(stack, Readout(3, SIZE, key=keys[2]), OneHot(SIZE))
    found = read(net, passage())
    assert [*found.states] == ["layer 1, h", "layer 1, c", "layer 2, h"]
    assert [x.shape[1] for x in found.states.values()] == [4, 4, 3]
    assert str(found.unit(8)) == "layer 2, h[0]" and found.unit(5) == Unit("layer 1, c", 1)
    both = Bidirectional(LSTM(3, 4, key=keys[0]), Simple(3, 4, key=keys[1]))
    assert state_names(both, jnp.ones((5, 2, 3))) == ["forward, h", "forward, c", "backward, h"]
    with pytest.raises(BadInput, match="there is no 'x' in this network; it has layer 1, h"):
        Unit.read("x[0]").of(found.states)
    with pytest.raises(BadInput, match=r"layer 2, h has 3 units, from 0 on.* no layer 2, h\[3\]"):
        Unit.read("layer 2, h[3]").of(found.states)
    with pytest.raises(BadInput, match="a unit is written as"):
        Unit.read("h12")


def test_a_unit_made_to_follow_brackets_is_found_in_the_network():
    net = network(Simple, units=12, key=3)
    opening, closing = (VOCABULARY.points.index(ord(mark)) for mark in "()")
    # h = tanh(4 h + 8 [x is an opening bracket] - 8 [x is a closing one] - 0.5): a latch.
    cell = net.cell
    W = cell.W.at[:, 5].set(0).at[opening, 5].set(8).at[closing, 5].set(-8)
    R = cell.R.at[:, 5].set(0).at[5, 5].set(4)
    cell = eqx.tree_at(lambda c: (c.W, c.R, c.b), cell, (W, R, cell.b.at[5].set(-0.5)))
    found = read(eqx.tree_at(lambda n: n.cell, net, cell), passage())
    ranking = find_unit(found.values, pattern("brackets", list(TEXT)).values)
    assert str(found.unit(ranking.units[0].unit)) == "h[5]"
    assert ranking.units[0].score == ranking.units[0].f1 == 1


@pytest.mark.parametrize("window", some([15, 200], [200]))
def test_reach_against_finite_differences(window):
    net, text, at = network(), passage(), 40
    found = reach(net, text, at, window=window)
    first = max(at - window, 0)
    assert found.places.tolist() == list(range(first, at)) and found.target == text.symbols[at]

    def loss(xs):
        def body(state, x):
            return net.cell.step(state, net.cell.inputs(x))

        _, hs = jax.lax.scan(body, net.initial(()), xs)
        return -jax.nn.log_softmax(net.readout(hs[-1]))[found.target]

    xs = jax.nn.one_hot(text.symbols[:at], SIZE, dtype=float)
    np.testing.assert_allclose(found.loss, loss(xs), rtol=1e-10)
    each, loss = 1e-5 * np.eye(SIZE), jax.jit(jax.vmap(loss))
    for place in (first, at - 7, at - 1):
        other = np.zeros((SIZE, *xs.shape))
        other[:, place] = each
        moved = (loss(xs + other) - loss(xs - other)) / 2e-5
        np.testing.assert_allclose(found.moved[place - first], np.linalg.norm(moved), rtol=1e-6)
    if first == 0:
        vectors = Network(net.cell, net.readout)
        own = gradient_by_lag(
            vectors, xs[:, None], lambda y: -jax.nn.log_softmax(y)[..., found.target]
        )
        np.testing.assert_allclose(found.by_lag["state"], own[".cell"], rtol=1e-9)
    assert {name: len(x) for name, x in found.by_lag.items()} == {"state": at - first}


def test_reach_of_bad_places():
    with pytest.raises(BadInput, match="nothing comes before the first piece"):
        reach(network(), passage(), 0)
    with pytest.raises(BadInput, match="has the pieces 0 to 104; there is no 105"):
        reach(network(), passage(), 105)


def test_similar_states_repeat_with_the_text():
    found = read(network(), passage())
    line = len(TEXT) // 3
    best = similar_states(found.values, 2 * line + 20, count=2, apart=10)
    assert [at for at, _ in best] == [line + 20, 20] and best[0][1] > 0.99
    places = [at for at, _ in similar_states(found.values, 50, count=99, apart=10)]
    assert all(abs(a - b) >= 10 for a in [50, *places] for b in places if a != b)


def tagger(seed=0):
    keys = jax.random.split(jax.random.key(seed), 7)
    code = TagCode(Words.of(["the", "cat", "sat"]), Words.of("thecats"), ("DET", "NOUN", "VERB"))
    spelling = Bidirectional(Simple(4, 3, key=keys[0]), Simple(4, 3, key=keys[1]))
    both = Bidirectional(Simple(5 + 6, 4, key=keys[2]), Simple(5 + 6, 4, key=keys[3]))
    net = Network(both, Readout(8, 3, key=keys[4]))
    words, letters = Embedding(4, 5, key=keys[5]), Embedding(7, 4, key=keys[6])
    return Tagger(words, letters, spelling, net, key=keys[0]), code


def test_tagged_sentences():
    net, code = tagger()
    sentences = [["The", "cat", "sat"], ["Cats", "sat"]]
    text = TaggedPassage(code, sentences, [["DET", "NOUN", "VERB"], ["NOUN", "_"]])
    found = read(net, text)
    assert [*found.states] == ["forward, h", "backward, h"]
    assert np.isnan(found.surprise).tolist() == [False] * 4 + [True]
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(
        [code.tags[n] for n in found.expected[:, 0]], [*chain(*code.tag(net, sentences))]
    )
    assert text.first(4).pieces == ["The ", "cat ", "sat\n"]


@pytest.mark.slow
def test_reach_in_both_directions_of_a_sentence():
    net, code = tagger()
    text = TaggedPassage(code, [["The", "cat", "sat"]], [["DET", "NOUN", "VERB"]])
    moved = reach(net, text, 1)
    assert moved.places.tolist() == [0, 1, 2] and np.all(moved.moved > 0)
    np.testing.assert_allclose(moved.loss, read(net, text).surprise[1] * np.log(2), rtol=1e-6)
