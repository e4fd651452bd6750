"""Graphs: known cells, faults, the canonical form, and what kind of memory a graph has."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ostinato
from ostinato import cells
from ostinato.errors import BadInput
from ostinato.evolve import KNOWN, Graph, GraphCell, Node, memory_kind
from ostinato.evolve.canonical_form import canonical, simplified

KEY = jax.random.key(3)


def node(name, *operands):
    return Node(name, operands)


# By name: the cell, and the matrices of the graph from it.
SAME = {
    "simple": (cells.Simple, lambda cell: (cell.R,)),
    "lstm": (cells.LSTM, lambda cell: (cell.R,)),
    "gru": (cells.GRU, lambda cell: (cell.R, cell.U)),
}


@pytest.mark.parametrize("name", SAME)
def test_known_cells_are_those_of_the_library(name):
    make, matrices = SAME[name]
    cell = make(3, 4, key=KEY)
    bias = jax.random.normal(KEY, cell.b.shape)
    cell = eqx.tree_at(lambda cell: cell.b, cell, bias)
    as_graph = GraphCell(3, 4, key=KEY, graph=KNOWN[name])
    as_graph = eqx.tree_at(lambda g: (g.W, g.R, g.b), as_graph, (cell.W, matrices(cell), cell.b))
    xs = jax.random.normal(jax.random.key(1), (6, 2, 3))

    def loss(cell):
        ys, _ = ostinato.unroll(cell, xs)
        return jnp.sum(jnp.sin(ys)), ys

    one, other = (jax.grad(loss, has_aux=True)(c) for c in (cell, as_graph))
    np.testing.assert_allclose(other[1], one[1], rtol=1e-12)
    np.testing.assert_allclose(other[0].W, one[0].W, rtol=1e-9, atol=1e-14)
    for mine, theirs in zip(other[0].R, matrices(one[0]), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-14)


WRONG = {
    "reads values that come after it": (1, [["tanh", 1]], [1], 1),
    "is 'sine' of 1 operands": (1, [["sine", 0]], [1], 1),
    "is 'add' of 1 operands": (1, [["add", 0]], [1], 1),
    "1 updates do not fit 2 states": (2, [["linear", 0]], [1], 2),
    "must be values below 2": (1, [["linear", 0]], [2], 1),
    "1 to 6 states, got 0": (0, [], [], 0),
    "is not a graph": (1, [["linear", "0"]], [1], 1),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_no_graph(words):
    with pytest.raises(BadInput, match=words):
        Graph.from_json(list(WRONG[words]))


NO_CELLS = {
    "does not depend on every state": Graph(2, (node("linear", 0),), (2, 1), 2),
    "does not depend on the input": Graph(
        2, (node("linear", 0), node("sigmoid", 1), node("add", 2, 3)), (2, 3), 4
    ),
    "stays at zero": Graph(
        2,
        (node("linear", 0), node("multiply", 1, 2), node("add", 2, 3)),
        (2, 3),
        4,
    ),
}


@pytest.mark.parametrize("words", NO_CELLS)
def test_what_is_no_cell(words):
    assert words in NO_CELLS[words].fault()
    with pytest.raises(BadInput, match=words):
        GraphCell(3, 4, key=KEY, graph=NO_CELLS[words])


def ending_in(*nodes, states=1):
    """A graph whose one state, and output, is the last node."""
    last = states + len(nodes) - 1
    return Graph(states, nodes, (last,), last)


TANH = (node("linear", 0), node("tanh", 1))
RULES = {
    "identity": (ending_in(*TANH, node("identity", 2)), KNOWN["simple"]),
    "complement twice": (
        ending_in(*TANH, node("complement", 2), node("complement", 3)),
        KNOWN["simple"],
    ),
    "complement of a linear map": (
        ending_in(node("linear", 0), node("complement", 1), node("tanh", 2)),
        KNOWN["simple"],
    ),
    "sum of linear maps": (
        ending_in(node("linear", 0), node("linear", 0), node("add", 1, 2), node("tanh", 3)),
        KNOWN["simple"],
    ),
    "difference of linear maps": (
        ending_in(node("linear", 0), node("linear", 0), node("subtract", 1, 2), node("tanh", 3)),
        KNOWN["simple"],
    ),
    "dead values": (
        Graph(2, (node("linear", 0), node("sigmoid", 1), node("tanh", 2)), (4, 3), 4),
        KNOWN["simple"],
    ),
    "equal states": (
        Graph(2, (node("add", 0, 1), node("linear", 2), node("tanh", 3)), (4, 4), 4),
        ending_in(node("add", 0, 0), node("linear", 1), node("tanh", 2)),
    ),
    "equal values": (
        ending_in(node("linear", 0), node("tanh", 1), node("tanh", 1), node("add", 2, 3)),
        ending_in(node("linear", 0), node("tanh", 1), node("add", 2, 2)),
    ),
    "relu of a gate": (
        ending_in(*TANH, node("sigmoid", 1), node("relu", 3), node("multiply", 2, 4)),
        ending_in(*TANH, node("sigmoid", 1), node("multiply", 2, 3)),
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_simplification(rule):
    before, after = RULES[rule]
    assert canonical(before) == canonical(after)
    assert len(simplified(before).nodes) == len(after.nodes)


def test_linear_maps_that_something_else_reads_are_kept():
    """Both maps of the sum are read twice, so neither is free to change."""
    graph = ending_in(
        node("linear", 0), node("linear", 0), node("add", 1, 2), node("multiply", 1, 2),
        node("multiply", 3, 4),
    )  # fmt: skip
    assert len(simplified(graph).linears) == 2


def test_shared_and_separate_weights_are_told_apart():
    shared = ending_in(node("linear", 0), node("tanh", 1), node("sigmoid", 1), node("add", 2, 3))
    apart = ending_in(
        node("linear", 0), node("linear", 0), node("tanh", 1), node("sigmoid", 2), node("add", 3, 4)
    )
    assert canonical(shared) != canonical(apart)


KINDS = {
    "additive": ending_in(*TANH, node("add", 0, 2)),
    "gated": ending_in(*TANH, node("linear", 0), node("sigmoid", 3), node("multiply", 4, 0),
                       node("add", 5, 2)),
    "gated, what is added": ending_in(*TANH, node("linear", 0), node("sigmoid", 3),
                                      node("multiply", 4, 2), node("add", 0, 5)),
    "gated, from the state": ending_in(*TANH, node("linear", 0), node("sigmoid", 3),
                                       node("complement", 4), node("multiply", 0, 5),
                                       node("add", 2, 6)),
    "gated, what is subtracted": ending_in(*TANH, node("linear", 0), node("sigmoid", 3),
                                           node("multiply", 4, 2), node("subtract", 0, 5)),
    "none, the state is subtracted": ending_in(*TANH, node("subtract", 2, 0)),
    "none, squashed after": ending_in(*TANH, node("add", 0, 2), node("tanh", 3)),
    "none, not a gate": ending_in(*TANH, node("multiply", 0, 2), node("add", 3, 2)),
    "none, nothing is added": ending_in(node("linear", 0), node("sigmoid", 1),
                                        node("multiply", 2, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_kind_of_memory(name):
    assert memory_kind(KINDS[name]) == name.partition(",")[0]


def test_equations_have_the_parentheses_they_need():
    graph = ending_in(
        node("linear", 0), node("complement", 1), node("multiply", 2, 0), node("tanh", 3),
        node("add", 1, 4),
    )  # fmt: skip
    assert "h' = a1 + tanh((1 - a1) ⊙ h)" in str(graph)
