"""Random graphs are cells: their form, their derivatives and their source."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings

import ostinato
from evolve.random_graphs import graphs, shuffled
from ostinato.evolve import KNOWN, Graph, GraphCell, source_of
from ostinato.evolve.canonical_form import canonical
from ostinato.evolve.graph import Node
from ostinato.evolve.mutation import MUTATIONS, Draft, fits, mutated
from ostinato.runs.config.members import find
from ostinato.testing import check_cell


@pytest.fixture(autouse=True, scope="module")
def quick_compilation():
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@settings(max_examples=20, deadline=None)
@given(graphs())
def test_every_graph_is_valid_and_canonical(graph):
    assert graph.fault() is None and fits(graph)
    assert canonical(graph) == graph
    assert Graph.from_json(graph.as_json()) == graph
    for seed in range(3):
        assert canonical(shuffled(graph, np.random.default_rng(seed))) == graph


@pytest.mark.parametrize("name", MUTATIONS)
def test_every_mutation_gives_other_cells(name):
    random, found = np.random.default_rng(0), set()
    for _ in range(60):
        draft = Draft(KNOWN["lstm"])
        try:
            MUTATIONS[name](draft, random)
            found.add(canonical(draft.graph()))
        except ValueError:  # not every change gives a cell; `mutated` tries again
            continue
    assert len(found - {canonical(KNOWN["lstm"])}) > 1


def test_a_mutation_is_a_function_of_the_random_numbers():
    one, other = (mutated(KNOWN["gru"], np.random.default_rng(5)) for _ in range(2))
    assert one == other


def conforms(graph):
    check_cell(GraphCell(3, 4, key=jax.random.key(0), graph=graph))


@settings(max_examples=1, deadline=None, derandomize=True)
@given(graphs())
def test_evolved_cells_conform(graph):
    conforms(graph)


def test_a_cell_whose_slopes_drown_in_its_values_conforms():
    """h grows fivefold at each step, and so saturates what reads it."""
    lines = (
        ("linear", 0), ("linear", 0), ("sigmoid", 1), ("complement", 0), ("tanh", 4),
        ("sigmoid", 5), ("complement", 6), ("multiply", 0, 7), ("sigmoid", 2), ("multiply", 0, 9),
        ("linear", 10), ("tanh", 11), ("subtract", 6, 12), ("add", 8, 13), ("add", 0, 14),
        ("add", 0, 15), ("add", 3, 16), ("add", 0, 17),
    )  # fmt: skip
    nodes = tuple(Node(name, tuple(operands)) for name, *operands in lines)
    conforms(Graph(states=1, nodes=nodes, updates=(18,), output=18))


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(graphs(most=15))
def test_many_evolved_cells_conform(graph):
    conforms(graph)
    jax.clear_caches()  # what many cells compile takes more memory mappings than a process has


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_the_source_conforms(name, tmp_path):
    check_cell(evolved(KNOWN[name], tmp_path, name)(3, 4, key=jax.random.key(0)))


def evolved(graph, folder, number):
    """The class of the source of a graph."""
    path = folder / f"evolved_{number}.py"
    path.write_text(source_of(graph), encoding="utf-8")
    return find("cell", f"{path}:Evolved")[1]


def test_the_source_is_the_cell(tmp_path):
    """The same numbers, bit for bit, from the same key."""
    random, graph = np.random.default_rng(1), KNOWN["lstm"]
    xs = jax.random.normal(jax.random.key(1), (5, 2, 3))
    for number in range(3):
        made = evolved(graph, tmp_path, number)(3, 4, key=jax.random.key(0))
        cell = GraphCell(3, 4, key=jax.random.key(0), graph=graph)
        with jax.disable_jit():
            ys, state = ostinato.unroll(made, xs)
            expected, final = ostinato.unroll(cell, xs)
        np.testing.assert_array_equal(ys, expected)
        for one, other in zip(state, final, strict=True):
            np.testing.assert_array_equal(one, other)
        graph, _ = mutated(graph, random)
