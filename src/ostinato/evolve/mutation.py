"""Random changes of a graph: mutations of one parent, and crossover of two.

    insert      a value that something reads is replaced by an operation of it
    remove      what reads a node reads one of its operands instead
    replace     a node gets another operation with as many operands
    rewire      a node reads another value, or another value becomes the output or a state
    state       what reads a value reads, or also reads, what the value was one step ago
    keep        a state is added to its own update: u becomes u + s
    gate        a value that something reads is multiplied by σ(linear(a)) of some value a

Every result is canonical, hence a valid cell: a change that does not give one is tried again.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import BadInput
from .canonical_form import canonical
from .graph import OPERATIONS, STATE_NAMES, Graph, Node

TRIES = 200
MAX_NODES = 24
MAX_STATES = 2  # with more, chains of states that only delay a value cover short lags
MAX_LINEARS = 8  # a peephole LSTM has 7
UNARY = tuple(name for name, count in OPERATIONS.items() if count == 1 and name != "identity")
BINARY = tuple(name for name, count in OPERATIONS.items() if count == 2)

Random = np.random.Generator


class Draft:
    """A graph while it is changed: nodes by any key, without an order.

    Attributes:
        nodes: the operation and the operands of each key; states are the keys `0 … states - 1`.
        updates, output: as in `Graph`.
    """

    def __init__(self, graph: Graph):
        self.nodes = {value: (node.name, list(node.operands)) for value, node in graph.numbered()}
        self.updates, self.output = list(graph.updates), graph.output
        self.next = graph.size

    @property
    def values(self) -> list[int]:
        return [*range(len(self.updates)), *self.nodes]

    def new(self, name: str, *operands: int) -> int:
        """Add a node; its key."""
        key, self.next = self.next, self.next + 1
        self.nodes[key] = (name, list(operands))
        return key

    def readers(self) -> list[tuple[str, int, int]]:
        """Every place that reads a value: `("node", key, operand)`, `("state", s, 0)`, output."""
        nodes = [("node", key, n) for key, (_, ops) in self.nodes.items() for n in range(len(ops))]
        states = [("state", state, 0) for state in range(len(self.updates))]
        return [*nodes, *states, ("output", 0, 0)]

    def read(self, place: tuple[str, int, int]) -> int:
        kind, key, operand = place
        if kind == "node":
            return self.nodes[key][1][operand]
        return self.updates[key] if kind == "state" else self.output

    def write(self, place: tuple[str, int, int], value: int) -> None:
        """Let a place read another value; the state and the output follow each other."""
        kind, key, operand = place
        if kind == "node":
            self.nodes[key][1][operand] = value
            return
        before = self.read(place)
        if kind == "state":
            self.updates[key] = value
            self.output = value if self.output == before else self.output
        else:
            self.output = value

    def add_state(self, update: int) -> int:
        """Add a state with this update; its key. The keys of nodes move up by one."""
        states = len(self.updates)
        up = lambda value: value + (value >= states)  # noqa: E731
        self.nodes = {up(k): (name, [up(o) for o in ops]) for k, (name, ops) in self.nodes.items()}
        self.updates = [*(up(value) for value in self.updates), up(update)]
        self.output, self.next = up(self.output), self.next + 1
        return states

    def graph(self) -> Graph:
        """The graph, its nodes in an order of computation; `BadInput` if there is a cycle."""
        place = {state: state for state in range(len(self.updates))}
        nodes: list[Node] = []
        waiting = dict(self.nodes)
        while waiting:
            ready = [k for k, (_, ops) in waiting.items() if all(o in place for o in ops)]
            if not ready:
                raise BadInput("the graph has a cycle within a step")
            for key in ready:
                name, operands = waiting.pop(key)
                nodes.append(Node(name, tuple(place[o] for o in operands)))
                place[key] = len(place)
        updates = tuple(place[value] for value in self.updates)
        return Graph(len(updates), tuple(nodes), updates, place[self.output])


def _one(random: Random, choices: list) -> Any:
    return choices[int(random.integers(len(choices)))]


def insert(draft: Draft, random: Random) -> None:
    place = _one(random, draft.readers())
    value, name = draft.read(place), str(_one(random, [*UNARY, *BINARY, *BINARY]))
    operands = [value]
    if name in BINARY:
        operands.append(_one(random, draft.values))
    draft.write(place, draft.new(name, *operands))


def remove(draft: Draft, random: Random) -> None:
    key = _one(random, list(draft.nodes))
    instead = _one(random, draft.nodes[key][1])
    for place in draft.readers():
        if draft.read(place) == key:
            draft.write(place, instead)


def replace(draft: Draft, random: Random) -> None:
    key = _one(random, list(draft.nodes))
    name, operands = draft.nodes[key]
    others = [other for other in (UNARY if len(operands) == 1 else BINARY) if other != name]
    draft.nodes[key] = (str(_one(random, others)), operands)


def rewire(draft: Draft, random: Random) -> None:
    place = _one(random, draft.readers())
    draft.write(place, _one(random, draft.values))


def state(draft: Draft, random: Random) -> None:
    if len(draft.updates) == len(STATE_NAMES):
        raise BadInput("there are no more names for states")
    new = draft.add_state(_one(random, draft.values))
    place = _one(random, draft.readers())
    if random.random() < 0.5:
        draft.write(place, new)
    else:
        draft.write(place, draft.new("add", draft.read(place), new))


def keep(draft: Draft, random: Random) -> None:
    kept = int(random.integers(len(draft.updates)))
    draft.write(("state", kept, 0), draft.new("add", draft.updates[kept], kept))


def gate(draft: Draft, random: Random) -> None:
    place = _one(random, draft.readers())
    source = _one(random, draft.values)
    opened = draft.new("sigmoid", draft.new("linear", source))
    draft.write(place, draft.new("multiply", opened, draft.read(place)))


MUTATIONS: dict[str, Callable[[Draft, Random], None]] = {
    change.__name__: change for change in (insert, remove, replace, rewire, state, keep, gate)
}
# The last two are drawn twice as often: few of the places where they act matter, and a cell that
# learns over long lags needs both.
DRAWN = (*MUTATIONS, "keep", "gate")


def mutated(graph: Graph, random: Random) -> tuple[Graph, str]:
    """A graph that differs from the given one, and the name of the mutation.

    Example:
        >>> child, name = mutated(KNOWN["lstm"], np.random.default_rng(0))
        >>> child != KNOWN["lstm"] and child.fault() is None and name in MUTATIONS
        True
    """
    own = canonical(graph)
    for _ in range(TRIES):
        name = str(_one(random, list(DRAWN)))
        draft = Draft(graph)
        try:
            MUTATIONS[name](draft, random)
            child = canonical(draft.graph())
        except BadInput:
            continue
        if child != own and fits(child):
            return child, name
    raise RuntimeError(f"{TRIES} mutations gave no other cell")


def crossed(one: Graph, other: Graph, random: Random) -> Graph:
    """The first graph, with a value that it reads replaced by one of the second's.

    The value comes with all that it is computed from; the second's states become states of the
    first with the same place, and those that the first does not have are added.

    Example:
        >>> child = crossed(KNOWN["simple"], KNOWN["lstm"], np.random.default_rng(1))
        >>> child.fault() is None
        True
    """
    for _ in range(TRIES):
        try:
            child = canonical(_joined(one, other, random).graph())
        except BadInput:
            continue
        if fits(child) and child not in (canonical(one), canonical(other)):
            return child
    return mutated(one, random)[0]


def _joined(one: Graph, other: Graph, random: Random) -> Draft:
    draft = Draft(one)
    for state in range(one.states, other.states):
        draft.add_state(state)  # its update is set below
    place_of = {state: state for state in range(other.states)}
    for value, node in other.numbered():
        place_of[value] = draft.new(node.name, *(place_of[operand] for operand in node.operands))
    for state in range(one.states, other.states):
        draft.updates[state] = place_of[other.updates[state]]
    places = [p for p in draft.readers() if p[0] != "node" or p[1] not in place_of.values()]
    place, chosen = _one(random, places), int(random.integers(other.states, other.size))
    draft.write(place, place_of[chosen])
    return draft


def fits(graph: Graph) -> bool:
    """Whether a graph is no larger than the search allows."""
    return (
        len(graph.nodes) <= MAX_NODES
        and graph.states <= MAX_STATES
        and len(graph.linears) <= MAX_LINEARS
    )
