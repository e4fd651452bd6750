"""A cell as a small expression graph.

A graph computes one step. Its values are numbered: first the states before the step, then one value
per node, in an order in which every node comes after its operands.

    add(a, b)         a + b
    subtract(a, b)    a - b
    multiply(a, b)    a ⊙ b
    complement(a)     1 - a
    tanh(a), sigmoid(a), relu(a), identity(a)
    linear(a)         W x + R a + b, with weights of its own; x is the input of the cell

Every value has as many numbers as the cell has units. States start at zero.
"""

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..errors import BadInput

# How many operands each operation has.
OPERATIONS = {
    "add": 2,
    "subtract": 2,
    "multiply": 2,
    "complement": 1,
    "tanh": 1,
    "sigmoid": 1,
    "relu": 1,
    "identity": 1,
    "linear": 1,
}
COMMUTATIVE = ("add", "multiply")
STATE_NAMES = ("h", "c", "s", "r", "q", "p")


@dataclasses.dataclass(frozen=True, order=True)
class Node:
    """An operation and the numbers of its operands."""

    name: str
    operands: tuple[int, ...]

    def reading(self, place: Mapping[int, int] | Sequence[int]) -> "Node":
        """The same operation, with the operands' numbers replaced by those of `place`."""
        return Node(self.name, tuple(place[operand] for operand in self.operands))


@dataclasses.dataclass(frozen=True)
class Graph:
    """A step of a cell.

    Attributes:
        states: how many state vectors there are; they are the values `0 … states - 1`.
        nodes: the operations; node i is the value `states + i`.
        updates: for each state, the value that it has after the step.
        output: the value that is the output of the cell.

    A graph is checked when it is made: a `BadInput` says what is wrong with it.

    Example:
        >>> graph = Graph(1, (Node("linear", (0,)), Node("tanh", (1,))), (2,), 2)
        >>> print(graph)
        a1 = W1 x + R1 h + b1
        h' = tanh(a1)
        y = h'
    """

    states: int
    nodes: tuple[Node, ...]
    updates: tuple[int, ...]
    output: int

    def __post_init__(self) -> None:
        if not 1 <= self.states <= len(STATE_NAMES):
            raise BadInput(f"a graph has 1 to {len(STATE_NAMES)} states, got {self.states}")
        for number, node in enumerate(self.nodes, self.states):
            if OPERATIONS.get(node.name) != len(node.operands):
                raise BadInput(f"value {number} is {node.name!r} of {len(node.operands)} operands")
            if not all(0 <= operand < number for operand in node.operands):
                raise BadInput(f"value {number}, {node.name}, reads values that come after it")
        if len(self.updates) != self.states:
            raise BadInput(f"{len(self.updates)} updates do not fit {self.states} states")
        if not all(0 <= value < self.size for value in (*self.updates, self.output)):
            raise BadInput(f"updates and output must be values below {self.size}")

    @property
    def size(self) -> int:
        """The number of values."""
        return self.states + len(self.nodes)

    def node(self, value: int) -> Node | None:
        """The node that computes a value; `None` for a state."""
        return None if value < self.states else self.nodes[value - self.states]

    @property
    def linears(self) -> tuple[int, ...]:
        """The values that are linear maps."""
        return tuple(value for value, node in self.numbered() if node.name == "linear")

    def numbered(self) -> Iterator[tuple[int, Node]]:
        """The nodes with the numbers of their values."""
        return enumerate(self.nodes, self.states)

    def needed(self, values: Iterable[int]) -> set[int]:
        """The values of this step that some values are computed from, themselves included."""
        needed, waiting = set(), list(values)
        while waiting:
            if (value := waiting.pop()) not in needed:
                needed.add(value)
                node = self.node(value)
                waiting += node.operands if node else ()
        return needed

    def uses(self) -> list[int]:
        """How often each value is read, as an operand, an update or the output."""
        read = [operand for node in self.nodes for operand in node.operands]
        count = Counter([*read, *self.updates, self.output])
        return [count[value] for value in range(self.size)]

    def live(self) -> set[int]:
        """The values that the output depends on, now or at a later step."""

        def with_updates(roots: set[int]) -> set[int]:
            states = (value for value in self.needed(roots) if value < self.states)
            return roots | {self.updates[state] for state in states}

        return self.needed(_settled(with_updates, {self.output}))

    def zero_states(self) -> set[int]:
        """The states that are zero at every step, because they start at zero and stay there."""

        def that_stay(states: set[int]) -> set[int]:
            zeros = set(states)
            for value, node in self.numbered():
                parts = [operand in zeros for operand in node.operands]
                if node.name in ("add", "subtract", "tanh", "relu", "identity"):
                    is_zero = all(parts)
                    is_zero |= node.name == "subtract" and len(set(node.operands)) == 1
                else:
                    is_zero = node.name == "multiply" and any(parts)
                if is_zero:
                    zeros.add(value)
            return {state for state in states if self.updates[state] in zeros}

        return _settled(that_stay, set(range(self.states)))

    def deaf_states(self) -> set[int]:
        """The states that no input ever reaches."""

        def that_hear(states: set[int]) -> set[int]:
            sources = states | set(self.linears)
            return {s for s, update in enumerate(self.updates) if self.needed([update]) & sources}

        return set(range(self.states)) - _settled(that_hear, set())

    def fault(self) -> str | None:
        """Why the graph is no recurrent cell, in words; `None` if it is one.

        The output must depend on every state, now or later; every state must depend on the inputs,
        and none may stay at zero.
        """
        if not set(range(self.states)) <= self.live():
            return "the output does not depend on every state"
        if self.deaf_states():
            return "a state does not depend on the input"
        if self.zero_states():
            return "a state stays at zero"
        return None

    def as_json(self) -> list[Any]:
        """The graph as a list for JSON; `from_json` reads it."""
        nodes = [[node.name, *node.operands] for node in self.nodes]
        return [self.states, nodes, list(self.updates), self.output]

    @classmethod
    def from_json(cls, given: Any) -> "Graph":
        """A graph from `as_json`; a `BadInput` if it is none.

        Example:
            >>> Graph.from_json([1, [["linear", 0]], [1], 1]).linears
            (1,)
        """
        try:
            states, nodes, updates, output = given
            parts = tuple(Node(str(name), _whole(operands)) for name, *operands in nodes)
            (states, output), updates = _whole([states, output]), _whole(updates)
        except (TypeError, ValueError):
            raise BadInput(f"{json.dumps(given)[:60]} is not a graph") from None
        return cls(states, parts, updates, output)

    def __str__(self) -> str:
        return "\n".join(equations(self))


def _settled(change: Callable[[set[int]], set[int]], values: set[int]) -> set[int]:
    """The values after as many changes as it takes until there is no more."""
    while (after := change(values)) != values:
        values = after
    return values


def _whole(numbers: Any) -> tuple[int, ...]:
    if not all(type(number) is int for number in numbers):
        raise TypeError("not whole numbers")
    return tuple(numbers)


def names_of(graph: Graph) -> list[str]:
    """A name for each value: h, c, … for states, a1, a2, … for linear maps, v1, … for others."""
    names, count = list(STATE_NAMES[: graph.states]), {"a": 0, "v": 0}
    for _, node in graph.numbered():
        letter = "a" if node.name == "linear" else "v"
        count[letter] += 1
        names.append(f"{letter}{count[letter]}")
    return names


def equations(graph: Graph) -> list[str]:
    """The graph as equations, in the order of computation; a prime marks the state after the step.

    Example:
        >>> equations(Graph(1, (Node("linear", (0,)),), (1,), 1))
        ['a1 = W1 x + R1 h + b1', "h' = a1", 'y = a1']
    """
    names, uses = names_of(graph), graph.uses()
    lines, shown = [], names[: graph.states]
    for value, node in graph.numbered():
        operands = [shown[operand] for operand in node.operands]
        if node.name == "linear":
            k = names[value][1:]
            lines.append(f"{names[value]} = W{k} x + R{k} {operands[0]} + b{k}")
            shown.append(names[value])
            continue
        words = _words(node.name, operands)
        named = uses[value] > 1 or value in graph.updates or value == graph.output
        if named or any(value in graph.nodes[k - graph.states].operands for k in graph.linears):
            name = names[value]
            if value in graph.updates:
                name = f"{names[graph.updates.index(value)]}'"
            lines.append(f"{name} = {words}")
            shown.append(name)
        else:
            sum_like = node.name in ("add", "subtract", "complement")
            shown.append(f"({words})" if sum_like else words)
    for state, value in enumerate(graph.updates):
        after = f"{names[state]}'"
        if shown[value] != after:
            lines.append(f"{after} = {shown[value]}")
    lines.append(f"y = {shown[graph.output]}")
    return lines


def arithmetic(name: str, operands: list[str], times: str) -> str | None:
    """An operation of arithmetic as it is written; `None` for any other."""
    if name == "complement":
        return f"1 - {operands[0]}"
    sign = {"add": "+", "subtract": "-", "multiply": times}.get(name)
    return f" {sign} ".join(operands) if sign else None


def _words(name: str, operands: list[str]) -> str:
    symbol = {"sigmoid": "σ"}.get(name, name)
    return arithmetic(name, operands, "⊙") or f"{symbol}({_bare(operands[0])})"


def _bare(words: str) -> str:
    """The words without parentheses around all of them."""
    depth = 0
    for place, letter in enumerate(words):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return words[1:-1] if place == len(words) - 1 and place else words
    return words


KINDS = ("none", "additive", "gated")
TAKEN = -1  # in place of a value that is subtracted


def memory_kind(graph: Graph) -> str:
    """How a graph keeps a state by addition, as gated cells do: "gated", "additive" or "none".

    A state s is kept by addition if its update is a sum in which s itself is a term, perhaps
    multiplied by gates: `s' = s + …`, `s' = f ⊙ s - …` or `s' = (1 - z) ⊙ s + z ⊙ …`. A gate is a
    value between 0 and 1 that is computed from a linear map: a sigmoid, `1 -` a gate, or a product
    of gates. So the derivative of s' with respect to s, apart from what goes through linear maps,
    is a product of gates, the constant error flow of Hochreiter and Schmidhuber (1997), not one of
    slopes of a squashing function.

    It is gated if a state is kept by addition and a gate multiplies it or what is added.

    Example:
        >>> [memory_kind(KNOWN[name]) for name in ("simple", "lstm", "gru")]
        ['none', 'gated', 'gated']
    """
    kinds = [_kind_of_state(graph, state) for state in range(graph.states)]
    return max(kinds, key=KINDS.index)


def _kind_of_state(graph: Graph, state: int) -> str:
    terms = _terms(graph, graph.updates[state])
    own = [gates for value, gates in terms if value == state]
    others = [(value, gates) for value, gates in terms if value != state]
    if not own or not others:
        return "none"
    return "gated" if any(own) or any(gates for _, gates in others) else "additive"


def _terms(graph: Graph, value: int, gates: int = 0) -> list[tuple[int, int]]:
    """The terms of a value that is a sum, each with the number of gates that multiply it."""
    node = graph.node(value)
    if node is None:
        return [(value, gates)]
    if node.name == "add":
        return [term for operand in node.operands for term in _terms(graph, operand, gates)]
    if node.name == "subtract":
        one, other = node.operands
        taken = _terms(graph, other, gates)  # what is taken away is no state that is kept
        return [*_terms(graph, one, gates), *((TAKEN, count) for _, count in taken)]
    if node.name == "identity":
        return _terms(graph, node.operands[0], gates)
    if node.name == "multiply":
        one, other = node.operands
        if is_gate(graph, one):
            return _terms(graph, other, gates + 1)
        if is_gate(graph, other):
            return _terms(graph, one, gates + 1)
    return [(value, gates)]


def is_gate(graph: Graph, value: int) -> bool:
    """Whether a value lies between 0 and 1 and depends on a linear map."""
    node = graph.node(value)
    if node is None:
        return False
    if node.name == "sigmoid":
        return any(other in graph.needed([value]) for other in graph.linears)
    if node.name in ("complement", "identity"):
        return is_gate(graph, node.operands[0])
    return node.name == "multiply" and all(is_gate(graph, operand) for operand in node.operands)
