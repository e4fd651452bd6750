"""The cell of an expression graph, and known cells as graphs."""

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Cell
from ..cells.building import draw, project, zeros
from ..cells.initialisers import Initialiser, glorot, normal
from ..errors import BadInput
from .graph import Graph, Node

ELEMENTWISE: dict[str, Callable[..., jax.Array]] = {
    "add": jnp.add,
    "subtract": jnp.subtract,
    "multiply": jnp.multiply,
    "complement": lambda a: 1 - a,
    "tanh": jnp.tanh,
    "sigmoid": jax.nn.sigmoid,
    "relu": jax.nn.relu,
    "identity": lambda a: a,
}

# h' = tanh(W x + R h + b)
SIMPLE = Graph(1, (Node("linear", (0,)), Node("tanh", (1,))), (2,), 2)

# The linear maps are i, f, g, o, in the order of the blocks of `cells.LSTM`; states h, c.
LSTM = Graph(
    2,
    (
        Node("linear", (0,)),  # 2: i
        Node("linear", (0,)),  # 3: f
        Node("linear", (0,)),  # 4: g
        Node("linear", (0,)),  # 5: o
        Node("sigmoid", (2,)),
        Node("sigmoid", (3,)),
        Node("tanh", (4,)),
        Node("sigmoid", (5,)),
        Node("multiply", (7, 1)),  # 10: f c
        Node("multiply", (6, 8)),  # 11: i g
        Node("add", (10, 11)),  # 12: c'
        Node("tanh", (12,)),
        Node("multiply", (9, 13)),  # 14: h'
    ),
    (14, 12),
    14,
)

# The linear maps are z, r and the candidate, in the order of the blocks of `cells.GRU`.
GRU = Graph(
    1,
    (
        Node("linear", (0,)),  # 1: z
        Node("linear", (0,)),  # 2: r
        Node("sigmoid", (1,)),
        Node("sigmoid", (2,)),
        Node("multiply", (4, 0)),  # 5: r h
        Node("linear", (5,)),  # 6: the candidate
        Node("tanh", (6,)),
        Node("complement", (3,)),
        Node("multiply", (8, 0)),
        Node("multiply", (3, 7)),
        Node("add", (9, 10)),  # 11: h'
    ),
    (11,),
    11,
)

KNOWN = {"simple": SIMPLE, "lstm": LSTM, "gru": GRU}


def products(graph: Graph) -> dict[int, list[int]]:
    """The linear maps by the value that they read, in the order of computation.

    Maps that read the same value are one product.

    Example:
        >>> from ostinato.evolve import KNOWN
        >>> products(KNOWN["gru"])
        {0: [1, 2], 5: [6]}
    """
    readers: dict[int, list[int]] = {}
    for value in graph.linears:
        readers.setdefault(graph.nodes[value - graph.states].operands[0], []).append(value)
    return readers


class GraphCell(Cell):
    """A cell whose step is an expression graph; see `graph` for the operations.

    `W` and `b` have one block per linear map, in the order of `products`; `R` has one matrix per
    value that linear maps read, with one block per map.

    Shapes: x `(..., inputs)`; state, a tuple of `(..., units)`; y `(..., units)`.

    Example:
        >>> cell = GraphCell(3, 16, key=jax.random.key(0), graph=KNOWN["gru"])
        >>> ys, (h,) = ostinato.unroll(cell, xs)
        >>> ys.shape
        (10, 4, 16)
    """

    W: jax.Array
    R: tuple[jax.Array, ...]
    b: jax.Array
    graph: Graph = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        key: jax.Array,
        graph: Graph = SIMPLE,
        input: Initialiser = glorot(),
        recurrent: Initialiser = normal(0.1),
    ):
        """
        Args:
            inputs, units: sizes of `x_t` and of every value.
            key: random key for the initial weights.
            graph: the step.
            input, recurrent: initialisers of each block of `W` and `R`; biases start at zero. An
                orthogonal R would remember by itself, whatever the graph; small weights leave that
                to the graph.
        """
        if fault := graph.fault():
            raise BadInput(f"the graph is not a recurrent cell: {fault}")
        groups = products(graph)
        w, *keys = jax.random.split(key, 1 + len(groups))
        blocks = [len(group) for group in groups.values()]
        self.W = draw(input, w, inputs, units, blocks=sum(blocks))
        self.R = tuple(
            draw(recurrent, k, units, units, blocks=n) for k, n in zip(keys, blocks, strict=True)
        )
        self.b = zeros(sum(blocks) * units)
        self.graph = graph

    @property
    def units(self) -> int:
        return int(self.R[0].shape[0])

    def initial(self, batch: tuple[int, ...]) -> tuple[jax.Array, ...]:
        zero = jnp.zeros((*batch, self.units), self.b.dtype)
        return (zero,) * self.graph.states

    def inputs(self, x: jax.Array) -> tuple[jax.Array, ...]:
        ends = list(accumulate(R.shape[1] for R in self.R))
        return tuple(jnp.split(project(self, x, self.W, self.b), ends[:-1], axis=-1))

    def step(self, state: tuple[jax.Array, ...], u: Any) -> tuple[Any, jax.Array]:
        graph, values = self.graph, dict(enumerate(state))
        groups = {group[0]: (n, group) for n, group in enumerate(products(graph).values())}
        for value, node in graph.numbered():
            operands = [values[operand] for operand in node.operands]
            if node.name != "linear":
                values[value] = ELEMENTWISE[node.name](*operands)
            elif value in groups:  # the first that reads this value: all of them at once
                n, group = groups[value]
                together = jnp.split(u[n] + operands[0] @ self.R[n], len(group), axis=-1)
                values |= dict(zip(group, together, strict=True))
        return tuple(values[value] for value in graph.updates), values[graph.output]
