"""Any cell as an expression graph, from its traced step.

The step is traced with its input, and each of its operations becomes a node. All that is a product
with weights becomes a linear map `W x + R a + b` of its own: a product with a matrix, a weight per
unit such as a peephole, and the input's part alone. So with some weights the graph computes the
same as the cell, and with others more. What the graph has no operation for is refused by name.
"""

import dataclasses
from itertools import pairwise
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Jaxpr, Literal

from ..cells import Layer
from ..errors import BadInput
from ..runs.config.members import find
from .canonical_form import canonical
from .graph import OPERATIONS, Graph, Node

INPUTS, UNITS = 3, 5  # of the cell that is traced; parts of a vector are told apart by their sizes
CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "checkpoint": "jaxpr",
}
SAME = ("convert_element_type", "copy", "reshape", "squeeze", "broadcast_in_dim", "stop_gradient")
FUNCTIONS = {"tanh": "tanh", "logistic": "sigmoid"}


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
    weights: list[Any] = [WEIGHT] * len(jax.tree.leaves(parameters))
    states = [Vector(((UNITS, value),)) for value in range(len(start))]
    arguments = [*weights, *states, Vector(((INPUTS, INPUT),))]
    consts = [_constant(x) for x in closed.consts]
    after = building.run(closed.jaxpr, consts, arguments)
    values = [building.single(one) for one in after]
    if len(values) != len(start) + 1:
        raise BadInput("its output must be one vector")
    return Graph(len(start), tuple(building.nodes), tuple(values[:-1]), values[-1])


@dataclasses.dataclass(frozen=True)
class Vector:
    """A traced vector: the width of each of its parts, and what the part is.

    A part is the number of a value of the graph, `INPUT`, or a `Linear`.
    """

    parts: tuple[tuple[int, Any], ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Linear:
    """A sum of products with weights: of these values, of the input, and biases.

    Two of them have weights of their own, so each is equal to itself alone.
    """

    of: tuple[int, ...]


class Number(NamedTuple):
    """A number that is written in the step."""

    value: float


WEIGHT, INPUT = "weight", "input"  # what depends on weights alone, and the input of the cell


class _Building:
    """A graph while the equations of a step are read one after the other."""

    def __init__(self, states: int):
        self.states = states
        self.nodes: list[Node] = []
        self.made: dict[Linear, int] = {}  # the values of linear maps that were read

    def run(self, jaxpr: Jaxpr, consts: list[Any], arguments: list[Any]) -> list[Any]:
        """What the outputs of a jaxpr are: a number, `WEIGHT` or a `Vector`."""
        env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *arguments], strict=True))

        def read(var: Any) -> Any:
            if not isinstance(var, Literal):
                return env[var]
            return _constant(var.val)

        for equation in jaxpr.eqns:
            name, params = equation.primitive.name, equation.params
            operands = [read(var) for var in equation.invars]
            if name in CALLS:
                inner = params[CALLS[name]]
                results = self.run(inner.jaxpr, [_constant(x) for x in inner.consts], operands)
            elif not any(isinstance(one, Vector) for one in operands):
                kept = operands[0] if name in SAME else WEIGHT  # a number stays one
                results = [kept] * len(equation.outvars)
            else:
                sizes = [var.aval.shape for var in equation.outvars]
                results = self.equation(name, params, operands, sizes)
            env |= dict(zip(equation.outvars, results, strict=True))
        return [read(var) for var in jaxpr.outvars]

    def equation(self, name: str, params: Any, operands: list[Any], shapes: list[Any]) -> list[Any]:
        if any(len(shape) > 1 for shape in shapes):
            raise BadInput(f"its step uses {name} to make a matrix")
        first = operands[0]
        if name in SAME:
            return [first]
        if name == "dot_general":
            return [self.product(*operands, shapes[0][0] if shapes[0] else 1)]
        if name == "concatenate":
            return [Vector(tuple(part for one in operands for part in self.vector(one).parts))]
        if name == "slice":
            return [_cut(first, params["start_indices"][0], params["limit_indices"][0])]
        if name == "split":
            ends = np.cumsum([0, *params["sizes"]]).tolist()
            return [_cut(first, a, b) for a, b in pairwise(ends)]
        return [self.elementwise(name, params, operands)]

    def product(self, one: Any, other: Any, width: int) -> Vector:
        """A vector times a weight matrix."""
        if isinstance(one, Vector) and isinstance(other, Vector):
            raise BadInput("its step multiplies two vectors that change")
        if width % UNITS:
            raise BadInput(f"its step has vectors of {width} numbers that are not units")
        vector = one if isinstance(one, Vector) else other
        read = [self.value(part) for _, part in vector.parts if part != INPUT]
        blocks = range(width // UNITS)
        return Vector(tuple((UNITS, Linear(tuple(dict.fromkeys(read)))) for _ in blocks))

    def elementwise(self, name: str, params: Any, operands: list[Any]) -> Vector:
        """An operation of each number, part by part."""
        widths = next([w for w, _ in one.parts] for one in operands if isinstance(one, Vector))
        columns = []
        for one in operands:
            if isinstance(one, Vector):
                if [w for w, _ in one.parts] != widths:
                    raise BadInput(f"its step uses {name} of vectors with different parts")
                columns.append([part for _, part in one.parts])
            else:
                columns.append([one] * len(widths))
        of_parts = [self.operation(name, params, list(x)) for x in zip(*columns, strict=True)]
        return Vector(tuple(zip(widths, of_parts, strict=True)))

    def operation(self, name: str, params: Any, x: list[Any]) -> Any:
        """An operation of parts, weights and numbers: a value or a `Linear`."""
        if INPUT in x:
            raise BadInput("its step reads the input without a weight")
        linear = [isinstance(one, Linear) for one in x]
        if name in ("add", "sub", "neg", "add_any") and all(
            yes or one == WEIGHT for yes, one in zip(linear, x, strict=True)
        ):
            read = [value for one in x if isinstance(one, Linear) for value in one.of]
            return Linear(tuple(dict.fromkeys(read)))
        if name == "mul" and WEIGHT in x:
            (other,) = [one for one in x if one != WEIGHT]
            return other if isinstance(other, Linear) else Linear((self.value(other),))
        if name == "div" and x[1] == WEIGHT:
            return x[0] if linear[0] else Linear((self.value(x[0]),))
        if WEIGHT in x:
            raise BadInput(f"its step uses {name} of a weight and a value")
        if name in FUNCTIONS:
            return self.node(FUNCTIONS[name], self.value(x[0]))
        if (name, params.get("y")) == ("integer_pow", 2) or name == "square":
            return self.node("multiply", *[self.value(x[0])] * 2)
        numbers = [isinstance(one, Number) for one in x]
        if any(numbers):
            return self.with_number(name, x, numbers)
        if name in ("add", "add_any"):
            return self.node("add", *map(self.value, x))
        if name in ("sub", "mul"):
            return self.node("subtract" if name == "sub" else "multiply", *map(self.value, x))
        known = ", ".join(OPERATIONS)
        raise BadInput(f"its step uses {name}; a graph knows {known}")

    def with_number(self, name: str, x: list[Any], numbers: list[bool]) -> Any:
        """An operation of a part and a number."""
        number = x[numbers.index(True)].value
        part = x[numbers.index(False)]
        if name == "sub" and numbers[0] and number == 1:
            return self.node("complement", self.value(part))
        if name == "max" and number == 0:
            return self.node("relu", self.value(part))
        if (name in ("add", "sub") and number == 0 and not numbers[0]) or (
            name in ("mul", "div") and number == 1 and not (name == "div" and numbers[0])
        ):
            return part
        words = {"mul": "multiplies by", "add": "adds", "sub": "subtracts", "div": "divides by"}
        raise BadInput(f"its step {words.get(name, f'uses {name} of a value and')} {number:g}")

    def value(self, part: Any) -> int:
        """The number of a value; a linear map becomes a node, of several values a sum of nodes."""
        if not isinstance(part, Linear):
            return part
        if part not in self.made:
            first, *others = [self.node("linear", value) for value in part.of or (0,)]
            for other in others:
                first = self.node("add", first, other)
            self.made[part] = first
        return self.made[part]

    def node(self, name: str, *operands: int) -> int:
        self.nodes.append(Node(name, operands))
        return self.states + len(self.nodes) - 1

    def vector(self, one: Any) -> Vector:
        if not isinstance(one, Vector):
            raise BadInput("its step joins weights to a vector")
        return one

    def single(self, one: Any) -> int:
        """The value of a vector of one part."""
        if not isinstance(one, Vector) or [width for width, _ in one.parts] != [UNITS]:
            raise BadInput("its states and its output must have a number for each unit")
        ((_, part),) = one.parts
        if part == INPUT:
            raise BadInput("its step reads the input without a weight")
        return self.value(part)


def _constant(x: Any) -> Any:
    return Number(float(np.asarray(x))) if np.ndim(x) == 0 else WEIGHT


def _cut(vector: Vector, start: int, stop: int) -> Vector:
    """Some of the parts of a vector, from one number to another."""
    place, kept = 0, []
    for width, part in vector.parts:
        if start <= place and place + width <= stop:
            kept.append((width, part))
        elif place < stop and start < place + width:
            raise BadInput("its step cuts a vector at other places than between units")
        place += width
    return Vector(tuple(kept))
