"""Words in place of paths."""

import jax
import pytest

from ostinato.cells import (
    GRU,
    LSTM,
    LSTM1997,
    MLSTM,
    Cell,
    Jordan,
    KrauseLSTM,
    PeepholeLSTM,
    Simple,
)
from ostinato.cells.building import split
from ostinato.lens import gates_over_time, gradient_by_lag, recurrent_matrices, saturation
from ostinato.lens.part_names import plain_name, weight_name
from ostinato.names import state_name
from ostinato.reservoir import Reservoir
from ostinato.through_time import taps
from ostinato.wiring import (
    Bidirectional,
    LayerNorm,
    Network,
    NeuralTuringMachine,
    Readout,
    Stack,
    Zoneout,
)

KEY = jax.random.key(0)
FOUR = ["input gate", "forget gate", "block input", "output gate"]


@pytest.mark.parametrize(
    "path, words",
    [
        (".cell.forget gate", "forget gate"),
        (".cell.layers[0].cell.cell.forget gate", "layer 1, forget gate"),
        (".cell.backward.R", "backward, R"),
        (".cell.R[1]", "R, block 2"),
        (".layers[1].R[0]", "layer 2, R, block 1"),
        (".cell tanh 0", "tanh 1"),
        (".cell.gate 0 to 1", "gate 0 to 1"),
        ("", ""),
    ],
)
def test_paths(path, words):
    assert plain_name(path) == words


class Own(LSTM):
    """A cell that nobody knows, with its gates in another order."""

    def step(self, state, u):
        h, c = state
        o, g, f, i = map(jax.nn.sigmoid, split(u + h @ self.R, 4))
        c = f * c + i * g
        h = o * c
        return (h, c), h


@pytest.mark.parametrize(
    "cell, words",
    [
        (LSTM(3, 4, key=KEY), FOUR),
        (PeepholeLSTM(3, 4, key=KEY), FOUR),
        (KrauseLSTM(3, 4, key=KEY), FOUR),
        (MLSTM(3, 4, key=KEY), ["factor m (Rm)", *FOUR]),
        (LSTM1997(3, 4, key=KEY), ["input gate", "block input", "output gate"]),
        (GRU(3, 4, key=KEY), ["update gate", "reset gate", "candidate (U)"]),
        (GRU(3, 4, key=KEY, reset="after"), ["update gate", "reset gate", "candidate"]),
        (Simple(3, 4, key=KEY), ["units (R)"]),
        (Own(3, 4, key=KEY), [f"R, block {k}" for k in (1, 2, 3, 4)]),
        (LayerNorm(Zoneout(LSTM(3, 4, key=KEY), 0.1, key=KEY)), FOUR),
        (
            Stack.of(Simple, 3, [4, 4], key=KEY),
            ["layer 1, units (R)", "layer 2, units (R)"],
        ),
        (
            Bidirectional(Simple(3, 4, key=KEY), LSTM(3, 4, key=KEY)),
            ["forward, units (R)", *(f"backward, {gate}" for gate in FOUR)],
        ),
    ],
    ids=lambda x: type(x).__name__,
)
def test_blocks_of_recurrent_weights(cell, words):
    network = Network(cell, Readout(4, 2, key=KEY))
    assert [weight_name(name, network) for name in recurrent_matrices(network)] == words


@pytest.mark.parametrize("cell", [LSTM, GRU, Jordan])
def test_whole_weights(cell):
    made = cell(3, 4, key=KEY)
    found = taps(made, jax.numpy.ones((3, 2, 3)))
    words = {LSTM: ["gates (R)"], GRU: ["gates (R)", "candidate (U)"], Jordan: ["R", "V"]}[cell]
    assert sorted(weight_name(name, made) for name in found) == sorted(words)


def test_a_neural_turing_machine():
    machine = NeuralTuringMachine.of(LSTM, 2, 3, rows=4, columns=2, key=KEY)
    xs = jax.numpy.ones((3, 2, 2))
    assert {weight_name(name, machine) for name in taps(machine, xs)} >= {
        "gates (R)",
        "gates (W)",
        "heads (P)",
    }
    gates = [plain_name(name) for name in saturation(machine, xs)]
    assert gates[-4:] == ["heads, key", "heads, gate", "heads, erase", "heads, add"]


def test_a_sparse_weight_is_one_weight():
    deep = Stack.of(Reservoir, 3, [20, 20], key=KEY)
    assert {weight_name(name, deep) for name in taps(deep, jax.numpy.ones((3, 2, 3)))} >= {
        "layer 1, units (R)",
        "layer 2, units (R)",
    }


class TwoGates(Cell):
    """A cell that a user wrote, with names for its gates and for the blocks of its weight."""

    gates = {"keep gate": "sigmoid", "proposal": "tanh"}  # noqa: RUF012
    blocks = {"R": ("keep gate", "proposal")}  # noqa: RUF012

    W: jax.Array
    R: jax.Array

    def __init__(self, inputs, units, *, key):
        self.W, self.R = (jax.random.normal(key, (n, 2 * units)) for n in (inputs, units))

    def initial(self, batch):
        return jax.numpy.zeros((*batch, self.R.shape[0]), self.R.dtype)

    def inputs(self, x):
        return x @ self.W

    def step(self, h, u):
        keep, proposal = split(u + h @ self.R, 2)
        keep = jax.nn.sigmoid(keep)
        h = keep * h + (1 - keep) * jax.numpy.tanh(proposal)
        return h, h


def test_a_cell_of_a_user_names_its_own_gates_and_blocks():
    network = Network(Zoneout(TwoGates(3, 4, key=KEY), 0.1, key=KEY), Readout(4, 2, key=KEY))
    xs = jax.numpy.ones((5, 2, 3))
    assert [plain_name(name) for name in saturation(network, xs)] == ["keep gate", "proposal"]
    assert sorted(gates_over_time(network, xs)[0]) == ["keep gate", "proposal"]
    names = [weight_name(name, network) for name in recurrent_matrices(network)]
    assert names == ["keep gate", "proposal"]


def test_a_subclass_with_a_step_of_its_own_has_none_of_the_names():
    assert not Own.gates and not Own.memory_cell and list(Own.blocks) == ["W"]
    assert PeepholeLSTM.gates and PeepholeLSTM.blocks == LSTM.blocks


def test_states():
    deep = Stack([Simple(3, 4, key=KEY), Bidirectional(GRU(4, 2, key=KEY), GRU(4, 2, key=KEY))])
    paths = gradient_by_lag(Network(deep, None), jax.numpy.ones((3, 2, 3)), lambda y: y[..., 0])
    assert [state_name(path) for path in paths] == [
        "layer 1",
        "layer 2, forward",
        "layer 2, backward",
    ]
    assert state_name(".cell") == state_name("") == "state"
