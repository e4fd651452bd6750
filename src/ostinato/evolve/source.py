"""A graph written out as Python: a file with a cell that needs no graph any more."""

import textwrap

from .cell import products
from .graph import Graph, arithmetic, equations, names_of

_FUNCTIONS = {"tanh": "jnp.tanh", "sigmoid": "jax.nn.sigmoid", "relu": "jax.nn.relu"}

_FILE = '''"""{note}

    ostinato train --cell FILE:{name} --task adding

where FILE is this file.
"""

import jax
{numpy}
from ostinato import Cell
from ostinato.cells.building import {helpers}
from ostinato.cells.initialisers import glorot, normal


class {name}(Cell):
    """{equations}

    Shapes: x `(..., inputs)`; state, {count} `(..., units)`; y `(..., units)`.
    """

    W: jax.Array
{fields}
    b: jax.Array

    def __init__(self, inputs, units, *, key):
        {keys} = jax.random.split(key, {splits})
        self.W = draw(glorot(), w, inputs, units, blocks={blocks})
{draws}
        self.b = zeros({blocks} * units)

    def initial(self, batch):
        return {initial}

    def inputs(self, x):
{inputs}

    def step(self, state, u):
        {states} = state
{body}
        return {after}, {output}
'''


def source_of(
    graph: Graph, name: str = "Evolved", note: str = "A cell of an evolved graph."
) -> str:
    """The source of a file with a cell class that computes what `GraphCell` does.

    From the same key it has the same initial weights.

    Args:
        graph: the step.
        name: of the class.
        note: the first line of the file's docstring.

    Example:
        >>> print(source_of(KNOWN["simple"]).partition("def step")[2])
        (self, state, u):
            (h,) = state
            a1 = u[0] + h @ self.R_h
            h_after = jnp.tanh(a1)
            return (h_after,), h_after
        <BLANKLINE>
    """
    groups = list(products(graph).values())
    sizes = [len(group) for group in groups]
    names = names_of(graph)
    after = _names_after(graph)
    matrices = [f"R_{after[value]}" for value in products(graph)]
    body = "\n".join(f"        {line}" for line in _statements(graph, groups, after))
    states = names[: graph.states]
    return _FILE.format(
        note=textwrap.fill(note, 96).replace("\\", r"\\").replace('"', r"\""),
        name=name,
        numpy="import jax.numpy as jnp\n" if "jnp." in body or len(sizes) > 1 else "",
        helpers=", ".join(_helpers(sizes)),
        equations=_docstring(graph),
        count="a tuple of one array" if graph.states == 1 else f"a tuple of {graph.states} arrays",
        fields="\n".join(f"    {matrix}: jax.Array" for matrix in matrices),
        keys=", ".join(["w", *(f"r{n}" for n in range(1, len(groups) + 1))]),
        splits=1 + len(groups),
        blocks=sum(sizes),
        draws="\n".join(
            f"        self.{matrix} = draw(normal(0.1), r{n}, units, units, blocks={size})"
            for n, (matrix, size) in enumerate(zip(matrices, sizes, strict=True), 1)
        ),
        initial=_tuple([f"rest(batch, self.{matrices[0]})"] * graph.states),
        inputs=_inputs(sizes, matrices[0]),
        states=_tuple(states),
        body=body,
        after=_tuple([after[value] for value in graph.updates]),
        output=after[graph.output],
    )


def _helpers(sizes: list[int]) -> list[str]:
    return ["draw", "project", "rest", *(["split"] if max(sizes) > 1 else []), "zeros"]


def _docstring(graph: Graph) -> str:
    return ",\n    ".join(f"`{line}`" for line in equations(graph)) + "."


def _inputs(sizes: list[int], first: str) -> str:
    if len(sizes) == 1:
        return "        return (project(self, x, self.W, self.b),)"
    places = ", ".join(f"{sum(sizes[:n])} * units" for n in range(1, len(sizes)))
    return (
        f"        units = self.{first}.shape[0]\n"
        f"        return jnp.split(project(self, x, self.W, self.b), [{places}], axis=-1)"
    )


def _names_after(graph: Graph) -> list[str]:
    """The names of values in the code: an update is `h_after`."""
    names = names_of(graph)
    for state, value in enumerate(graph.updates):
        if value >= graph.states and not names[value].endswith("_after"):
            names[value] = f"{names[state]}_after"
    return names


def _statements(graph: Graph, groups: list[list[int]], names: list[str]) -> list[str]:
    first = {group[0]: (n, group) for n, group in enumerate(groups)}
    lines = []
    for value, node in graph.numbered():
        operands = [names[operand] for operand in node.operands]
        if value in first:
            n, group = first[value]
            product = f"u[{n}] + {operands[0]} @ self.R_{operands[0]}"
            left = ", ".join(names[one] for one in group)
            whole = product if len(group) == 1 else f"split({product}, {len(group)})"
            lines.append(f"{left} = {whole}")
        elif node.name != "linear":
            lines.append(f"{names[value]} = {_expression(node.name, operands)}")
    return lines


def _expression(name: str, operands: list[str]) -> str:
    if name == "identity":
        return operands[0]
    return arithmetic(name, operands, "*") or f"{_FUNCTIONS[name]}({operands[0]})"


def _tuple(names: list[str]) -> str:
    return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"
