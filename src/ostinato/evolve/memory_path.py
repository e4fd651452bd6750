"""Whether a graph keeps a state by addition, as gated cells do.

A state s is kept by addition if its update is a sum in which s itself is a term, perhaps multiplied
by gates: `s' = s + …`, `s' = f ⊙ s - …` or `s' = (1 - z) ⊙ s + z ⊙ …`. A gate is a value between 0
and 1 that is computed from a linear map: a sigmoid, `1 -` a gate, or a product of gates. So the
derivative of s' with respect to s, apart from what goes through linear maps, is a product of gates,
the constant error flow of Hochreiter and Schmidhuber (1997), not one of slopes of a squashing
function.
"""

from .graph import Graph

KINDS = ("none", "additive", "gated")
TAKEN = -1  # in place of a value that is subtracted


def memory_kind(graph: Graph) -> str:
    """`"gated"`, `"additive"` or `"none"`.

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
    if node is not None and node.name == "add":
        return [term for operand in node.operands for term in _terms(graph, operand, gates)]
    if node is not None and node.name == "subtract":
        one, other = node.operands
        taken = _terms(graph, other, gates)  # what is taken away is no state that is kept
        return [*_terms(graph, one, gates), *((TAKEN, count) for _, count in taken)]
    if node is not None and node.name == "identity":
        return _terms(graph, node.operands[0], gates)
    if node is not None and node.name == "multiply":
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
