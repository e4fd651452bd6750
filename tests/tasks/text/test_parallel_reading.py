"""A text read in streams against the same text read in one, by networks that forget and do not."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from ostinato.cells import LSTM, Cell, Simple
from ostinato.data import Vocabulary
from ostinato.errors import BadInput
from ostinato.lens import read
from ostinato.lens.reading import read_gates
from ostinato.tasks.text import parallel_reading
from ostinato.tasks.text.passages import TextPassage
from ostinato.through_time import unroll
from ostinato.wiring import Network, OneHot, Readout

WORDS = ["(a, b)", "[c]", "if a:\n", "b = (a [c] b)", "c", ", "]
TEXT = "".join(np.random.default_rng(0).choice(WORDS, 1400))[:4321]
VOCABULARY = Vocabulary.of_text(TEXT)
SIZE = len(VOCABULARY)


class Sum(Cell):
    """`h_t = h_{t-1} I + u_t`: it forgets nothing."""

    W: jax.Array
    R: jax.Array

    def initial(self, batch):
        return jnp.zeros((*batch, self.R.shape[0]), self.R.dtype)

    def inputs(self, x):
        return x @ self.W

    def step(self, h, u):
        h = h @ self.R + u
        return h, h


def network(cell, units):
    single = jax.tree.map(lambda x: x.astype(jnp.float32) if eqx.is_inexact_array(x) else x, cell)
    readout = Readout(units, SIZE, key=jax.random.key(1))
    return Network(single, jax.tree.map(lambda x: x.astype(jnp.float32), readout), OneHot(SIZE))


def trained(net, steps=60):
    """A network after a few steps of Adam, which is when a memory begins to last."""
    symbols = jnp.asarray(VOCABULARY.encode(TEXT[:4080])).reshape(24, -1).T
    optimiser = optax.adam(0.02)

    def loss(net):
        logs = jax.nn.log_softmax(unroll(net, symbols[:-1])[0])
        return -jnp.mean(jnp.take_along_axis(logs, symbols[1:, :, None], axis=-1))

    @eqx.filter_jit
    def step(net, memory):
        value, gradient = eqx.filter_value_and_grad(loss)(net)
        updates, memory = optimiser.update(gradient, memory)
        return eqx.apply_updates(net, updates), memory, value

    memory, values = optimiser.init(eqx.filter(net, eqx.is_inexact_array)), []
    for _ in range(steps):
        net, memory, value = step(net, memory)
        values.append(float(value))
    assert values[-1] < values[0] / 2
    return net


def passage(text=TEXT):
    return TextPassage(VOCABULARY.encode(text), VOCABULARY)


def read_both(net, monkeypatch, streams=8, chunk=25, text=TEXT):
    """The text in one, the text in streams, and how many rows were read each time."""
    monkeypatch.setattr(parallel_reading, "SHORTEST", 1 << 30)
    whole, rows = read(net, passage(text)), []
    for name, value in {"SHORTEST": 1, "STREAMS": streams, "CHUNK": chunk}.items():
        monkeypatch.setattr(parallel_reading, name, value)
    places = parallel_reading._places
    monkeypatch.setattr(
        parallel_reading, "_places", lambda now, n, size: (rows.append(n), places(now, n, size))[1]
    )
    return whole, read(net, passage(text)), rows


def assert_alike(found, whole, share=1e-4):
    """All states within a share of the largest value of each, and all outputs as closely."""
    assert np.all(np.abs(found.values - whole.values) <= share * np.abs(whole.values).max(axis=0))
    np.testing.assert_allclose(found.surprise, whole.surprise, atol=share)
    np.testing.assert_allclose(found.probabilities, whole.probabilities, atol=share)


@pytest.mark.parametrize("train", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_network_in_streams(monkeypatch, train):
    net = network(LSTM(SIZE, 12, key=jax.random.key(0)), 12)
    net = trained(net) if train else net
    whole, streams, rows = read_both(net, monkeypatch)
    assert rows[0] == 8 and len(rows) < 2 * 22  # 22 chunks each, and fewer to agree
    assert_alike(streams, whole)
    gates = read_gates(net, passage())  # in the same streams
    np.testing.assert_allclose(gates["output gate"] * gates["memory"], whole.states["h"], atol=1e-4)


def test_what_is_never_forgotten_is_read_one_after_the_other(monkeypatch):
    cell = Sum(jax.random.normal(jax.random.key(0), (SIZE, 3)), jnp.eye(3))
    whole, streams, rows = read_both(network(cell, 3), monkeypatch)
    chunks = -(-len(TEXT) // 25)
    assert rows == [8] * 88 + [1] * (chunks - 88)
    np.testing.assert_allclose(streams.values, whole.values, rtol=1e-5, atol=1e-4)


def test_a_latch_that_one_stream_alone_has_wrong(monkeypatch):
    # h = tanh(4 h + 8 [x is "("] - 8 [x is ")"]): set in the first half, and never used after it.
    text = "(" + "ab" * 1000
    W = jnp.zeros((SIZE, 1)).at[VOCABULARY.points.index(ord("("))].set(8.0)
    cell = Simple(SIZE, 1, key=jax.random.key(0))
    cell = eqx.tree_at(lambda c: (c.W, c.R, c.b), cell, (W, jnp.full((1, 1), 4.0), jnp.zeros(1)))
    whole, streams, _ = read_both(network(cell, 1), monkeypatch, text=text)
    assert whole.values.min() > 0.99
    assert_alike(streams, whole)


@pytest.mark.parametrize("size", [1, 25, 201])
def test_texts_of_any_length(monkeypatch, size):
    net = network(LSTM(SIZE, 4, key=jax.random.key(0)), 4)
    whole, streams, _ = read_both(net, monkeypatch, text=TEXT[:size])
    assert_alike(streams, whole)


def test_an_empty_text():
    with pytest.raises(BadInput, match="the text is empty"):
        passage("")


def test_numbers_that_are_not_finite_end(monkeypatch):
    cell = Sum(jnp.full((SIZE, 2), jnp.nan), jnp.eye(2))
    with pytest.raises(BadInput, match="not finite"):
        read_both(network(cell, 2), monkeypatch)
    one, other, size = (np.array([x]) for x in (np.inf, 1.0, 1.0))
    assert parallel_reading._close(one, one, size) and not parallel_reading._close(one, other, size)
    assert np.all(parallel_reading._largest(None, np.array([[np.inf], [2.0]])) == 2)
