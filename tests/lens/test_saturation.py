"""Saturation of nets whose activations are known, and of every cell and wiring."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.random import key

from everyday import some
from members import CELLS, WIRINGS
from ostinato import unroll
from ostinato.cells import GRU, LSTM, LSTM1997, MLSTM, Cell, KrauseLSTM, PeepholeLSTM, Simple
from ostinato.errors import BadInput
from ostinato.lens.saturation import dead_units, saturation
from ostinato.wiring import Bidirectional, LayerNorm, Network, OneHot, Readout, Stack, Zoneout

ONE, TWO, THREE = jax.random.split(key(3), 3)
UNITS = 4
XS = jnp.asarray(np.random.default_rng(0).normal(size=(6, 2, 3)))
LSTM_NAMES = [".input gate", ".forget gate", ".output gate", ".block input", ".memory"]
GRU_NAMES = [".update gate", ".reset gate", ".candidate"]
KRAUSE_NAMES = [*LSTM_NAMES[:3], ".output"]
GATES = [f".gate {i} to {j}" for j in (0, 1) for i in (0, 1)]


def of(path, names):
    return [path + name for name in names]


# The names for every member: what is squashed, and how often.
EXPECTED = {
    "simple tanh": ["tanh 0"],
    "simple sigmoid": ["sigmoid 0"],
    "simple relu": ["relu 0"],
    "simple identity": [],
    "simple step": [],
    "jordan": ["tanh 0"],
    "lstm": LSTM_NAMES,
    "peephole lstm": LSTM_NAMES,
    "lstm 1997": [".input gate", ".block input", ".output gate", ".memory"],
    "krause lstm": KRAUSE_NAMES,
    "mlstm": KRAUSE_NAMES,
    "mrnn": ["tanh 0"],
    "gru": GRU_NAMES,
    "gru, reset after": GRU_NAMES,
    "leaky": ["tanh 0"],
    "delay": ["tanh 0"],
    "stack": of(".layers[0]", LSTM_NAMES) + of(".layers[1]", GRU_NAMES),
    "stack, skip": [".layers[0] tanh 0", ".layers[1] tanh 0"],
    "bidirectional": [*of(".forward", LSTM_NAMES), ".backward tanh 0"],
    "stack of bidirectional": of(".layers[0].forward", GRU_NAMES)
    + of(".layers[0].backward", GRU_NAMES)
    + of(".layers[1]", LSTM_NAMES),
    "gated feedback, tanh": [*GATES, ".layers[0] tanh 0", ".layers[1] tanh 0"],
    "gated feedback, lstm": GATES + of(".layers[0]", LSTM_NAMES) + of(".layers[1]", LSTM_NAMES),
    "gated feedback, gru": GATES + of(".layers[0]", GRU_NAMES) + of(".layers[1]", GRU_NAMES),
    "zoneout": of(".cell", LSTM_NAMES),
    "zoneout, inference": of(".cell", LSTM_NAMES),
    "dropout": of(".cell", GRU_NAMES),
    "weight noise": of(".cell", GRU_NAMES),
    "layer norm": of(".cell", LSTM_NAMES),
    "layer norm, mlstm": of(".cell", KRAUSE_NAMES),
    "network, raw": of(".cell", LSTM_NAMES),
    "network, one-hot": of(".cell", KRAUSE_NAMES),
    "network, embedding": of(".cell.layers[0]", LSTM_NAMES) + of(".cell.layers[1]", LSTM_NAMES),
}


@pytest.mark.parametrize("member", some({**CELLS, **WIRINGS}, ["lstm", "gru", "stack"]))
def test_every_member(member):
    """Runs, and finds what its equations squash; the shares are shares."""
    case = {**CELLS, **WIRINGS}[member]()
    found = saturation(case.cell, case.xs, case.state)
    if member in EXPECTED:  # a new member must run; its names are its own
        assert sorted(found) == sorted(EXPECTED[member])
    for one in found.values():
        for share in (one.high, one.low, one.always_high, one.always_low, one.always):
            assert 0 <= share <= 1
        assert one.always_high + one.always_low <= one.always <= one.high + one.low + 1e-12
        assert one.unit_mean.shape == one.unit_high.shape == one.unit_low.shape
        assert np.isclose(one.unit_mean.mean(), one.mean)


def pinned(cell, block, bias, blocks=4):
    """The cell with one gate held by its bias, through the input weights of a constant input."""
    held = slice(block * UNITS, (block + 1) * UNITS)
    cell = eqx.tree_at(lambda c: c.W, cell, 0.1 * cell.W.at[0, held].set(10 * bias))
    assert cell.W.shape[1] == blocks * UNITS
    return cell


CONSTANT = XS.at[..., 0].set(1.0)

# A cell, the number of blocks, and which block is what.
BLOCKS = {
    "lstm": (LSTM, 4, {0: ".input gate", 1: ".forget gate", 3: ".output gate"}),
    "peephole": (PeepholeLSTM, 4, {0: ".input gate", 1: ".forget gate", 3: ".output gate"}),
    "1997": (LSTM1997, 3, {0: ".input gate", 1: ".block input", 2: ".output gate"}),
    "lipton, no forget gate": (
        partial(LSTM1997, variant="lipton"),
        3,
        {0: ".input gate", 2: ".output gate"},
    ),
    "krause, no forget gate": (
        partial(LSTM1997, variant="krause"),
        3,
        {0: ".input gate", 2: ".output gate"},
    ),
    "krause": (KrauseLSTM, 4, {0: ".input gate", 1: ".forget gate", 3: ".output gate"}),
    "mlstm": (MLSTM, 4, {0: ".input gate", 1: ".forget gate", 3: ".output gate"}),
    "gru": (GRU, 3, {0: ".update gate", 1: ".reset gate"}),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_gate_that_is_pinned(name):
    """A gate with a bias of ±20 is open or shut for good, and it alone, by its right name."""
    make, blocks, gates = BLOCKS[name]
    for block, gate in gates.items():
        for bias in (20.0, -20.0):
            cell = pinned(make(3, UNITS, key=ONE), block, bias, blocks)
            found = saturation(cell, CONSTANT)
            one = found.pop(gate)
            open_, shut = (1.0, 0.0) if bias > 0 else (0.0, 1.0)
            assert one[2:7] == (open_, shut, open_, shut, 1)
            assert abs(one.mean - open_) < 1e-6
            others = [s for s in found.values() if s.kind == "sigmoid"]
            assert others
            assert all(s.high == s.low == s.always == 0 for s in others)


def test_block_input_and_memory():
    """The two tanhs of an LSTM: g at its upper end, and c = Σ i g grows until it is there too."""
    cell = pinned(pinned(LSTM(3, UNITS, key=ONE), 1, 20.0), 2, -20.0)
    found = saturation(cell, jnp.repeat(CONSTANT, 4, axis=0))
    assert found[".block input"].always_low == found[".block input"].low == 1
    assert found[".block input"].mean == pytest.approx(-1)
    assert 0 < found[".memory"].low < 1
    assert found[".memory"].always == 0


def test_values_against_the_equations():
    """The gates of a peephole LSTM, once more from its states."""
    cell = PeepholeLSTM(3, UNITS, key=ONE)
    cell = jax.tree.map(lambda x: 4 * x, cell)
    (_, (hs, cs)), _ = unroll(cell, XS, watch="states")
    h, c = (jnp.concatenate([jnp.zeros_like(x[:1]), x[:-1]]) for x in (hs, cs))
    a = jnp.split(cell.inputs(XS) + h @ cell.R, 4, axis=-1)
    expected = {
        ".input gate": jax.nn.sigmoid(a[0] + cell.p[0] * c),
        ".forget gate": jax.nn.sigmoid(a[1] + cell.p[1] * c),
        ".output gate": jax.nn.sigmoid(a[3] + cell.p[2] * cs),
        ".block input": jnp.tanh(a[2]),
        ".memory": jnp.tanh(cs),
    }
    found = saturation(cell, XS)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        one, values = found[name], np.asarray(values).reshape(-1, UNITS)
        high, low = values > 0.95, values < (0.05 if one.kind == "sigmoid" else -0.95)
        np.testing.assert_allclose(one.unit_mean, values.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(one.unit_high, high.mean(axis=0))
        np.testing.assert_allclose(one.unit_low, low.mean(axis=0))
        assert one.always == np.mean((high | low).all(axis=0))
    assert any(0 < one.high < 1 for one in found.values())
    assert any(0 < one.low < 1 for one in found.values())


def relu(bias):
    cell = Simple(3, UNITS, key=ONE, f="relu")
    return eqx.tree_at(lambda c: c.b, cell, jnp.asarray(bias, cell.b.dtype))


def test_dead_units():
    """Units with a bias of -100 are dead, those with +100 never are."""
    cell = relu([-100.0, 100.0, -100.0, 0.0])
    (name,) = found = dead_units(cell, XS)
    assert set(found[name]) - {3} == {0, 2}
    whole = saturation(cell, XS)[name]
    assert 0.5 <= whole.always_low < 1
    assert whole.always_high == whole.high == 0
    assert whole.unit_low[1] == 0
    assert saturation(relu([-100.0] * 4), XS)[name].always_low == 1
    assert dead_units(LSTM(3, UNITS, key=ONE), XS) == {}


def test_a_unit_that_is_dead_only_for_a_while():
    """One active step of one sequence is enough to be alive."""
    cell = eqx.tree_at(
        lambda c: (c.W, c.R), relu([-1.0] * 4), (jnp.zeros((3, 4)), jnp.zeros((4, 4)))
    )
    cell = eqx.tree_at(lambda c: c.W, cell, cell.W.at[0, 2].set(1.0))
    xs = jnp.zeros_like(XS).at[3, 1, 0].set(2.0)
    assert dead_units(cell, xs)["relu 0"].tolist() == [0, 1, 3]
    assert saturation(cell, xs)["relu 0"].unit_low[2] == pytest.approx(11 / 12)


def test_small_weights_do_not_saturate():
    cell = jax.tree.map(lambda x: 0.01 * x, LSTM(3, UNITS, key=ONE))
    assert all(s.high == s.low == 0 for s in saturation(cell, XS).values())
    means = [s.mean for s in saturation(cell, XS).values() if s.kind == "sigmoid"]
    assert means == pytest.approx([0.5] * 3, abs=0.05)


def test_a_tanh_that_flips():
    """Saturated at all times, at either end: `always`, but neither always high nor always low."""
    cell = Simple(3, UNITS, key=ONE)
    zeros = jnp.zeros_like(cell.R)
    cell = eqx.tree_at(lambda c: (c.W, c.R), cell, (jnp.full_like(cell.W, 20.0), zeros))
    xs = jnp.ones((6, 2, 3)) * jnp.asarray([1.0, -1.0] * 3)[:, None, None]
    (one,) = saturation(cell, xs).values()
    assert (one.high, one.low, one.always) == (0.5, 0.5, 1)
    assert one.always_high == one.always_low == 0


class Users(Cell):
    """A cell of somebody else: a ReLU written as a maximum, a gate without an axis of its own."""

    W: jax.Array
    gate: eqx.nn.Linear

    def initial(self, batch):
        return jnp.zeros((*batch, UNITS))

    def inputs(self, x):
        return jnp.tanh(x @ self.W)

    def step(self, state, u):
        g = jax.nn.sigmoid(state @ self.gate.weight[0] + self.gate.bias[0])
        h = jnp.maximum(u + g[..., None] * state, 0.0)
        return h, jnp.maximum(h, 1.0)


def test_a_users_cell():
    cell = Users(jax.random.normal(ONE, (3, UNITS)), eqx.nn.Linear(UNITS, 1, key=TWO))
    found = saturation(cell, XS)
    assert {name: len(one.unit_mean) for name, one in found.items()} == {
        "tanh 0": UNITS,
        "sigmoid 0": 1,
        "relu 0": UNITS,
    }
    no_batch = saturation(cell, XS[:, 0])
    assert found.keys() == no_batch.keys()


def test_it_starts_from_the_given_state():
    """A memory of 10 in a net that keeps it is saturated from the first step."""
    cell = pinned(LSTM(3, UNITS, key=ONE), 1, 20.0)
    state = (jnp.zeros((2, UNITS)), jnp.full((2, UNITS), 10.0))
    assert saturation(cell, CONSTANT, state)[".memory"].always_high == 1
    assert saturation(cell, CONSTANT)[".memory"].always_high < 1
    with pytest.raises(ValueError, match="LSTM expects a state"):
        saturation(cell, CONSTANT, state[:1])


def test_directions_and_symbols():
    """In a network that must see the whole sequence, each cell has its path; symbols go in."""
    layers = [
        LayerNorm(LSTM(5, 4, key=ONE)),
        Bidirectional(GRU(4, 2, key=ONE), Zoneout(Simple(4, 2, key=TWO), 0.1, key=THREE)),
    ]
    network = Network(Stack(layers), Readout(4, 5, key=TWO), OneHot(5))
    symbols = np.arange(12).reshape(6, 2) % 5
    found = saturation(network, symbols)
    expected = of(".cell.layers[0].cell", LSTM_NAMES) + of(".cell.layers[1].forward", GRU_NAMES)
    assert [*found] == [*expected, ".cell.layers[1].backward.cell tanh 0"]
    # The backward cell reads from the end: its last step is the first one.
    cell = Simple(3, 2, key=ONE)
    both = saturation(Bidirectional(cell, cell), XS)
    turned = saturation(cell, XS[::-1])["tanh 0"]
    np.testing.assert_allclose(both[".backward tanh 0"].unit_mean, turned.unit_mean)
    assert not np.allclose(both[".forward tanh 0"].unit_mean, turned.unit_mean)


def test_nothing_to_look_at():
    with pytest.raises(BadInput, match=r"^saturation needs a step and a sequence, got T = 0"):
        saturation(LSTM(3, UNITS, key=ONE), XS[:0])
