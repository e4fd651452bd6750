"""Simplification and the canonical form of a graph, by which equal graphs are known as equal.

The rules keep what a graph can compute, not always its number of weights:

    identity(a) → a                 1 - (1 - a) → a
    relu(σ(a)) → σ(a)               relu(relu(a)) → relu(a)          relu(1 - σ(a)) → 1 - σ(a)
    equal operations of equal operands are one, but for linear maps, which have their own weights
    1 - linear(a) → linear(a)       linear(a) ± linear(a) → linear(a)   if nothing else reads them
    states with the same update are one, and values that the output does not depend on go

The canonical form is simplified, and its states, nodes and operands have an order that depends on
the structure alone. It is found by colour refinement (Weisfeiler and Leman, 1968): the colour of a
value is refined by the colours of what it reads and of what reads it, until no more differ. Where
values still have the same colour, each of them is tried as the first of them, and of all forms the
smallest is taken, as in McKay (1981). At most 64 forms are made, so a graph of very many values
that play the same part may get two forms. Two different graphs never get the same one.
"""

import hashlib
import itertools
from collections.abc import Callable, Iterator

from ..errors import BadInput
from .graph import COMMUTATIVE, Graph, Node

MAX_FORMS = 64
ROUNDS = 30  # far more than there are rules to apply one after the other


def simplified(graph: Graph) -> Graph:
    """The graph after all rules; a `BadInput` if nothing is left of it.

    Example:
        >>> twice = Graph(1, (Node("linear", (0,)), Node("identity", (1,))), (2,), 2)
        >>> simplified(twice).nodes
        (Node(name='linear', operands=(0,)),)
    """
    for _ in range(ROUNDS):
        after = _alive(_rewritten(_one_per_state(graph)))
        if after == graph:
            break
        graph = after
    return graph


def canonical(graph: Graph) -> Graph:
    """The canonical form; a `BadInput` for a graph that is no recurrent cell.

    Example:
        >>> one = Graph(1, (Node("linear", (0,)), Node("tanh", (1,)), Node("add", (2, 0))), (3,), 3)
        >>> two = Graph(1, (Node("linear", (0,)), Node("tanh", (1,)), Node("add", (0, 2))), (3,), 3)
        >>> one != two and canonical(one) == canonical(two)
        True
    """
    graph = simplified(graph)
    if fault := graph.fault():
        raise BadInput(fault)
    names = ["state"] * graph.states + [node.name for node in graph.nodes]
    start = [_hash(name, value == graph.output) for value, name in enumerate(names)]
    forms = itertools.islice(_forms(graph, _refined(graph, start)), MAX_FORMS)
    return min(forms, key=lambda form: (form.nodes, form.updates, form.output))


def _forms(graph: Graph, colours: list[str]) -> Iterator[Graph]:
    """The forms of a graph, one for each way to tell values of the same colour apart."""
    tied = [value for value, colour in enumerate(colours) if colours.count(colour) > 1]
    if not tied:
        yield _in_order(graph, colours)
        return
    first = min(colours[value] for value in tied)
    for value in tied:
        if colours[value] == first:
            apart = [*colours[:value], _hash(first, "first"), *colours[value + 1 :]]
            yield from _forms(graph, _refined(graph, apart))


def _in_order(graph: Graph, colours: list[str]) -> Graph:
    """The graph with its states and nodes in the order of their colours."""
    place: dict[int, int] = {}
    for state in sorted(
        range(graph.states), key=lambda s: (graph.updates[s] != graph.output, colours[s])
    ):
        place[state] = len(place)
    nodes: list[Node] = []
    waiting = dict(graph.numbered())
    while waiting:
        ready = []
        for value, node in waiting.items():
            if all(operand in place for operand in node.operands):
                operands = [place[operand] for operand in node.operands]
                operands = sorted(operands) if node.name in COMMUTATIVE else operands
                ready.append((node.name != "linear", colours[value], operands, value))
        *_, operands, value = min(ready)
        nodes.append(Node(waiting.pop(value).name, tuple(operands)))
        place[value] = len(place)
    updates = [0] * graph.states
    for state, update in enumerate(graph.updates):
        updates[place[state]] = place[update]
    return Graph(graph.states, tuple(nodes), tuple(updates), place[graph.output])


def _refined(graph: Graph, colours: list[str]) -> list[str]:
    """Colours that tell apart all values whose surroundings differ."""
    readers: list[list[int]] = [[] for _ in range(graph.size)]
    for value, node in graph.numbered():
        for operand in node.operands:
            readers[operand].append(value)
    for _ in range(graph.size):
        after = []
        for value, colour in enumerate(colours):
            own = graph.node(value)
            reads = [colours[operand] for operand in own.operands] if own else []
            reads = reads if own and own.name == "subtract" else sorted(reads)
            update = colours[graph.updates[value]] if own is None else ""
            updated = sorted(colours[s] for s, u in enumerate(graph.updates) if u == value)
            read_by = sorted(colours[reader] for reader in readers[value])
            after.append(_hash(colour, reads, update, updated, read_by))
        if len(set(after)) == len(set(colours)):
            return after
        colours = after
    return colours


def _hash(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _rewritten(graph: Graph) -> Graph:
    """Each node replaced by something simpler where a rule applies."""
    uses = graph.uses()
    stands_for = list(range(graph.states))
    nodes: list[Node] = []
    known: dict[Node, int] = {}
    once: dict[int, int] = {}  # new linear maps, with the number of readers of the old ones

    def node_of(value: int) -> Node:
        return nodes[value - graph.states] if value >= graph.states else Node("state", ())

    for value, node in graph.numbered():
        operands = [stands_for[operand] for operand in node.operands]
        if node.name in COMMUTATIVE:
            operands.sort()
        first = node_of(operands[0])
        single = [o for o in operands if node_of(o).name == "linear" and once[o] == 1]
        if node.name == "identity":
            same = operands[0]
        elif node.name == "complement" and first.name == "complement":
            same = first.operands[0]
        elif node.name == "relu" and _is_positive(first, node_of):
            same = operands[0]
        elif node.name == "complement" and single:
            same = operands[0]
            once[same] = uses[value]
        elif (
            node.name in ("add", "subtract")
            and len(single) == 2
            and operands[0] != operands[1]
            and first.operands == node_of(operands[1]).operands
        ):
            same = operands[0]
            once[same] = uses[value]
        else:
            new = Node(node.name, tuple(operands))
            same = known.get(new, -1) if node.name != "linear" else -1
            if same < 0:
                nodes.append(new)
                same = graph.states + len(nodes) - 1
                known[new] = same
                if node.name == "linear":
                    once[same] = uses[value]
        stands_for.append(same)
    updates = tuple(stands_for[value] for value in graph.updates)
    return Graph(graph.states, tuple(nodes), updates, stands_for[graph.output])


def _is_positive(node: Node, node_of: Callable[[int], Node]) -> bool:
    if node.name == "complement":
        return node_of(node.operands[0]).name == "sigmoid"
    return node.name in ("sigmoid", "relu")


def _one_per_state(graph: Graph) -> Graph:
    """States with the same update are equal at every step: only the first is read."""
    first = [graph.updates.index(update) for update in graph.updates]
    stands_for = first + list(range(graph.states, graph.size))
    nodes = tuple(node.reading(stands_for) for node in graph.nodes)
    updates = tuple(stands_for[value] for value in graph.updates)
    return Graph(graph.states, nodes, updates, stands_for[graph.output])


def _alive(graph: Graph) -> Graph:
    """The graph without what the output does not depend on."""
    kept = sorted(graph.live())
    place = {value: number for number, value in enumerate(kept)}
    states = [value for value in kept if value < graph.states]
    nodes = tuple(node.reading(place) for value, node in graph.numbered() if value in place)
    if not states:
        raise BadInput("the output does not depend on a state")
    updates = tuple(place[graph.updates[state]] for state in states)
    return Graph(len(states), nodes, updates, place[graph.output])
