"""Cells as graphs, from their traced steps, beside plain NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.cells import CELLS, MLSTM, Cell
from ostinato.cells.building import draw, project, rest
from ostinato.cells.initialisers import normal
from ostinato.errors import BadInput
from ostinato.evolve import KNOWN, graph_of, memory_kind
from ostinato.evolve.canonical_form import canonical
from ostinato.evolve.traced import INPUTS, UNITS, traced_graph

KEY = jax.random.key(0)
GRAPHS = ("simple", "elman", "lstm", "peephole", "lstm1997", "krause", "mlstm", "mrnn", "gru")


class Own(Cell):
    """`h' = h - z ⊙ (h - g)`, which needs a subtraction."""

    W: jax.Array
    R: jax.Array

    def __init__(self, inputs, units, *, key):
        w, r = jax.random.split(key)
        self.W = draw(normal(), w, inputs, units, blocks=2)
        self.R = draw(normal(), r, units, units, blocks=2)

    def initial(self, batch):
        return rest(batch, self.R)

    def inputs(self, x):
        return project(self, x, self.W)

    def step(self, state, u):
        z, g = jnp.split(u + state @ self.R, 2, axis=-1)
        h = state - jax.nn.sigmoid(z) * (state - jnp.tanh(g))
        return h, h


def run(graph, weights, xs):
    """A graph through time in NumPy; `weights` has W, R and b of each linear map, in order."""
    states, outputs = [np.zeros(UNITS)] * graph.states, []
    functions = {
        "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "tanh": np.tanh,
        "complement": lambda a: 1 - a, "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
        "relu": lambda a: np.maximum(a, 0),
    }  # fmt: skip
    for x in xs:
        values, maps = list(states), iter(weights)
        for node in graph.nodes:
            operands = [values[n] for n in node.operands]
            if node.name == "linear":
                W, R, b = next(maps)
                values.append(x @ W + operands[0] @ R + b)
            else:
                values.append(functions[node.name](*operands))
        states = [values[n] for n in graph.updates]
        outputs.append(values[graph.output])
    return np.array(outputs)


def test_known_cells():
    for name, graph in KNOWN.items():
        assert graph_of(name) == canonical(graph)


@pytest.mark.parametrize("name", CELLS)
def test_every_cell_is_a_graph_or_refused(name):
    if name in GRAPHS:
        assert graph_of(name).fault() is None
    else:
        with pytest.raises(BadInput, match=f"^the cell {name} cannot be a graph: its "):
            graph_of(name)


def test_the_multiplicative_lstm_is_its_graph_with_some_weights():
    """`Wm x` and `Rm h` alone are linear maps whose other weights are zero."""
    cell, xs = MLSTM(INPUTS, UNITS, key=KEY), np.random.default_rng(0).normal(size=(7, INPUTS))
    W, R, Wm, Rm = (np.asarray(x, float) for x in (cell.W, cell.R, cell.Wm, cell.Rm))
    none, nothing, b = np.zeros((INPUTS, UNITS)), np.zeros((UNITS, UNITS)), np.zeros(UNITS)
    gates = zip(np.split(W, 4, axis=1), np.split(R, 4, axis=1), [b] * 4, strict=True)
    graph = traced_graph(cell)
    found = run(graph, [(Wm, nothing, b), (none, Rm, b), *gates], xs)
    h = c = np.zeros(UNITS)
    for x, y in zip(xs, found, strict=True):
        i, f, g, o = np.split(x @ W + ((x @ Wm) * (h @ Rm)) @ R, 4)
        i, f, o = (1 / (1 + np.exp(-a)) for a in (i, f, o))
        c = f * c + i * g
        h = np.tanh(c * o)
        np.testing.assert_allclose(y, h, rtol=1e-12)
    assert memory_kind(graph) == "gated"


def test_subtraction_of_an_own_cell():
    cell, xs = Own(INPUTS, UNITS, key=KEY), np.random.default_rng(1).normal(size=(7, INPUTS))
    graph = traced_graph(cell)
    assert [node.name for node in graph.nodes].count("subtract") == 2
    blocks = (np.split(np.asarray(x, float), 2, axis=1) for x in (cell.W, cell.R))
    weights = [(W, R, np.zeros(UNITS)) for W, R in zip(*blocks, strict=True)]
    expected, h = [], np.zeros(UNITS)
    for x in xs:
        z, g = (x @ W + h @ R for W, R, _ in weights)
        h = h - (h - np.tanh(g)) / (1 + np.exp(-z))
        expected.append(h)
    np.testing.assert_allclose(run(graph, weights, xs), expected, rtol=1e-12)


def changed(step):
    return type("Changed", (Own,), {"step": step})


def with_start(self, batch):
    return rest(batch, self.R) + 1


REFUSED = {
    "its step uses exp; a graph knows add, subtract,": changed(
        lambda cell, h, u: (jnp.exp(h @ cell.R[:, :UNITS] + u[:UNITS]),) * 2
    ),
    "its step multiplies by 3": changed(lambda cell, h, u: (3 * jnp.tanh(u[:UNITS]) + h,) * 2),
    "its step cuts a vector at other places": changed(
        lambda cell, h, u: (jnp.tanh(u[1 : UNITS + 1] + h),) * 2
    ),
    "its step multiplies two vectors that change": changed(
        lambda cell, h, u: (jnp.tanh(u[:UNITS] + h * (h @ h)),) * 2
    ),
    "its states must start at zero": type("Started", (Own,), {"initial": with_start}),
}


@pytest.mark.parametrize("words", REFUSED)
def test_refuses(words):
    with pytest.raises(BadInput, match=words):
        canonical(traced_graph(REFUSED[words](INPUTS, UNITS, key=KEY)))
