"""Random graphs: known cells after some mutations and crossovers."""

import numpy as np
from hypothesis import strategies as st

from ostinato.evolve import KNOWN, Graph, Node
from ostinato.evolve.mutation import crossed, mutated


@st.composite
def graphs(draw, most=8):
    """A known cell after up to `most` changes."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = st.sampled_from(sorted(KNOWN))
    graph = KNOWN[draw(names)]
    for _ in range(draw(st.integers(1, most))):
        if draw(st.integers(0, 4)):
            graph, _ = mutated(graph, random)
        else:
            graph = crossed(graph, KNOWN[draw(names)], random)
    return graph


def shuffled(graph, random):
    """The same graph with its states, nodes and operands in another order."""
    states = [int(s) for s in random.permutation(graph.states)]
    place = {state: number for number, state in enumerate(states)}
    waiting, nodes = dict(graph.numbered()), []
    while waiting:
        ready = [v for v, node in waiting.items() if all(o in place for o in node.operands)]
        value = ready[int(random.integers(len(ready)))]
        node = waiting.pop(value)
        operands = [place[o] for o in node.operands]
        if node.name in ("add", "multiply") and random.random() < 0.5:
            operands.reverse()
        nodes.append(Node(node.name, tuple(operands)))
        place[value] = len(place)
    updates = tuple(place[graph.updates[state]] for state in states)
    return Graph(graph.states, tuple(nodes), updates, place[graph.output])
