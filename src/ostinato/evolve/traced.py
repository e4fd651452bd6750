"""Any cell as an expression graph, from its traced step.

The step is traced with its input, and each of its operations becomes a node. All that is a product
with weights becomes a linear map `W x + R a + b` of its own: a product with a matrix, a weight per
unit such as a peephole, and the input's part alone. So with some weights the graph computes the
same as the cell, and with others more. What the graph has no operation for is refused by name.
"""

import dataclasses
import math
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from ..cells import Layer
from ..errors import BadInput
from ..runs.config.members import find
from ..through_time.step import called
from .canonical_form import canonical
from .graph import OPERATIONS, Graph, Node

INPUTS, UNITS = 3, 5  # of the cell that is traced; parts of a vector are told apart by their sizes
SAME = ("convert_element_type", "copy", "reshape", "squeeze", "broadcast_in_dim", "stop_gradient")
FUNCTIONS = {"tanh": "tanh", "logistic": "sigmoid"}
OPERATION_OF = {"add": "add", "add_any": "add", "sub": "subtract", "mul": "multiply"}
UNCHANGED = {  # an operation, the place of a number among its operands, and the number
    ("add", 0, 0), ("add", 1, 0), ("sub", 1, 0), ("mul", 0, 1), ("mul", 1, 1), ("div", 1, 1),
}  # fmt: skip


def graph_of(name: str, *, named: bool = True) -> Graph:
    """The graph of a cell: a built-in one, or your own as `file.py:Class`; in canonical form.

    Args:
        name: as for `ostinato train --cell`.
        named: as in `runs.config.members.find`.

    Example:
        >>> graph_of("lstm") == graph_of("ostinato.cells:LSTM")
        True
        >>> graph_of("leaky")
        Traceback (most recent call last):
        ostinato.errors.BadInput: the cell leaky cannot be a graph: its step multiplies by 0.5
    """
    full, make = find("cell", name, named=named)
    try:
        return canonical(traced_graph(make(INPUTS, UNITS, key=jax.random.key(0))))
    except Exception as error:  # whatever a cell of a user raises
        words = str(error) if isinstance(error, BadInput) else f"{type(error).__name__}: {error}"
        raise BadInput(f"the cell {full} cannot be a graph: {words}") from None


def traced_graph(cell: Layer) -> Graph:
    """The graph of a cell of `INPUTS` inputs and `UNITS` units."""
    if not cell.can_step:
        raise BadInput("it has no step")
    start = jax.tree.leaves(cell.initial(()))
    if not start or any(x.shape != (UNITS,) or not eqx.is_inexact_array(x) for x in start):
        raise BadInput("its state must be vectors with a number for each unit")
    if any(np.any(np.asarray(x)) for x in start):
        raise BadInput("its states must start at zero")
    parameters, static = eqx.partition(cell, eqx.is_array)

    def step(parameters: Any, state: Any, x: jax.Array) -> tuple[Any, Any]:
        whole = eqx.combine(parameters, static)
        return whole.step(state, whole.inputs(x))

    x = jnp.zeros(INPUTS, start[0].dtype)
    closed = jax.make_jaxpr(step)(parameters, cell.initial(()), x)
    building = _Building(len(start))
    weights = [WEIGHT] * len(jax.tree.leaves(parameters))
    states = [(Part("value", UNITS, value=value),) for value in range(len(start))]
    after = building.run(closed, [*weights, *states, (Part("input", INPUTS),)])
    values = [building.single(one) for one in after]
    if len(values) != len(start) + 1:
        raise BadInput("its output must be one vector")
    return Graph(len(start), tuple(building.nodes), tuple(values[:-1]), values[-1])


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """A part of a traced array.

    Two linear maps have weights of their own, so each part is equal to itself alone.

    Attributes:
        kind: `value`, a value of the graph; `linear`, a sum of products with weights and of biases;
            `input`, the input of the cell; `weight`, whatever depends on weights alone; `number`,
            a number that is written in the step.
        width: how many numbers of a vector it is; 0 for weights and numbers, which fit any width.
        value: the number of the value.
        reads: the values that a linear map reads besides the input.
        number: the number.
    """

    kind: str
    width: int = 0
    value: int = -1
    reads: tuple[int, ...] = ()
    number: float = math.nan


Array = tuple[Part, ...]
WEIGHT: Array = (Part("weight"),)


class _Building:
    """A graph while the equations of a step are read one after the other."""

    def __init__(self, states: int):
        self.states = states
        self.nodes: list[Node] = []
        self.made: dict[Part, int] = {}  # the values of linear maps that were read

    def run(self, closed: Any, arguments: list[Array]) -> list[Array]:
        """What the outputs of a traced function are."""
        jaxpr = closed.jaxpr
        env = dict(zip(jaxpr.invars, arguments, strict=True))
        env |= dict(zip(jaxpr.constvars, map(_constant, closed.consts), strict=True))

        def read(var: Any) -> Array:
            return _constant(var.val) if isinstance(var, Literal) else env[var]

        for equation in jaxpr.eqns:
            name, params = equation.primitive.name, equation.params
            operands = [read(var) for var in equation.invars]
            if (inner := called(equation)) is not None:
                results = self.run(inner, operands)
            elif not any(map(_changes, operands)):
                kept = operands[0] if name in SAME else WEIGHT  # a number stays one
                results = [kept] * len(equation.outvars)
            else:
                shapes = [var.aval.shape for var in equation.outvars]
                results = self.equation(name, params, operands, shapes)
            env |= dict(zip(equation.outvars, results, strict=True))
        return [read(var) for var in jaxpr.outvars]

    def equation(
        self, name: str, params: Any, operands: list[Array], shapes: list[tuple[int, ...]]
    ) -> list[Array]:
        """The results of an equation that reads a vector that changes."""
        if any(len(shape) > 1 for shape in shapes):
            raise BadInput(f"its step uses {name} to make a matrix")
        first = operands[0]
        if name in SAME:
            return [first]
        if name == "dot_general":
            return [self.product(operands, sum(shapes[0]))]
        if name == "concatenate":
            if not all(map(_changes, operands)):
                raise BadInput("its step joins weights to a vector")
            return [tuple(part for one in operands for part in one)]
        if name == "slice":
            return [_cut(first, params["start_indices"][0], params["limit_indices"][0])]
        if name == "split":
            ends = np.cumsum([0, *params["sizes"]]).tolist()
            return [_cut(first, a, b) for a, b in pairwise(ends)]
        return [self.elementwise(name, params, operands)]

    def product(self, operands: list[Array], width: int) -> Array:
        """A vector times a weight matrix."""
        if all(map(_changes, operands)):
            raise BadInput("its step multiplies two vectors that change")
        if width % UNITS or not width:
            raise BadInput(f"its step has vectors of {width} numbers that are not units")
        (vector,) = filter(_changes, operands)
        read = tuple(dict.fromkeys(self.value(part) for part in vector if part.kind != "input"))
        return tuple(Part("linear", UNITS, reads=read) for _ in range(width // UNITS))

    def elementwise(self, name: str, params: Any, operands: list[Array]) -> Array:
        """An operation of each number, part by part."""
        count = max(map(len, operands))
        columns = [one if _changes(one) else one * count for one in operands]
        widths = {tuple(part.width for part in one) for one in operands if _changes(one)}
        if len(widths) > 1:
            raise BadInput(f"its step uses {name} of vectors with different parts")
        return tuple(self.operation(name, params, x) for x in zip(*columns, strict=True))

    def operation(self, name: str, params: Any, x: tuple[Part, ...]) -> Part:
        """An operation of parts, weights and numbers."""
        kinds = [part.kind for part in x]
        if "input" in kinds:
            raise BadInput("its step reads the input without a weight")
        if name in ("add", "sub", "neg", "add_any") and not {*kinds} - {"linear", "weight"}:
            return self.linear(*(value for part in x for value in part.reads))
        if name in ("mul", "div") and kinds[-1] == "weight":
            return self.weighted(x[0])
        if name == "mul" and kinds[0] == "weight":
            return self.weighted(x[1])
        if "weight" in kinds:
            raise BadInput(f"its step uses {name} of a weight and a value")
        if name in FUNCTIONS:
            return self.node(FUNCTIONS[name], x[0])
        if (name, params.get("y")) == ("integer_pow", 2) or name == "square":
            return self.node("multiply", x[0], x[0])
        if "number" in kinds:
            return self.with_number(name, x, kinds.index("number"))
        if name in OPERATION_OF:
            return self.node(OPERATION_OF[name], *x)
        raise BadInput(f"its step uses {name}; a graph knows {', '.join(OPERATIONS)}")

    def with_number(self, name: str, x: tuple[Part, ...], place: int) -> Part:
        """An operation of a part and a number, which is the operand at a place."""
        number, part = x[place].number, x[1 - place] if len(x) > 1 else x[0]
        if (name, place, number) == ("sub", 0, 1):
            return self.node("complement", part)
        if (name, number) == ("max", 0):
            return self.node("relu", part)
        if (name, place, number) in UNCHANGED:
            return part
        words = {"mul": "multiplies by", "add": "adds", "sub": "subtracts", "div": "divides by"}
        raise BadInput(f"its step {words.get(name, f'uses {name} of a value and')} {number:g}")

    def linear(self, *reads: int) -> Part:
        return Part("linear", UNITS, reads=tuple(dict.fromkeys(reads)))

    def weighted(self, part: Part) -> Part:
        """A part times a weight per unit."""
        return part if part.kind == "linear" else self.linear(self.value(part))

    def value(self, part: Part) -> int:
        """The number of a value; a linear map becomes a node, of several values a sum of nodes."""
        if part.kind == "value":
            return part.value
        if part not in self.made:
            first, *others = [self.add("linear", value) for value in part.reads or (0,)]
            for other in others:
                first = self.add("add", first, other)
            self.made[part] = first
        return self.made[part]

    def node(self, name: str, *operands: Part) -> Part:
        return Part("value", UNITS, value=self.add(name, *map(self.value, operands)))

    def add(self, name: str, *operands: int) -> int:
        self.nodes.append(Node(name, operands))
        return self.states + len(self.nodes) - 1

    def single(self, array: Array) -> int:
        """The value of a vector of one part."""
        if [part.width for part in array] != [UNITS]:
            raise BadInput("its states and its output must have a number for each unit")
        return self.value(array[0])


def _changes(array: Array) -> bool:
    """Whether an array depends on the input or a state."""
    return array[0].kind not in ("weight", "number")


def _constant(x: Any) -> Array:
    return (Part("number", number=float(np.asarray(x))),) if np.ndim(x) == 0 else WEIGHT


def _cut(vector: Array, start: int, stop: int) -> Array:
    """Some of the parts of a vector, from one number to another."""
    place, kept = 0, []
    for part in vector:
        if start <= place and place + part.width <= stop:
            kept.append(part)
        elif place < stop and start < place + part.width:
            raise BadInput("its step cuts a vector at other places than between units")
        place += part.width
    return tuple(kept)
