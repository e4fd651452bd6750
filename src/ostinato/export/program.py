"""The step of a network as a flat list of equations, from which every export is written.

A step is traced once, without a batch axis. Calls within it are put in place, loops of a fixed
length are unrolled, and whatever depends on the weights alone is computed now. What is left are
equations of JAX's own primitives between numbered values:

    inputs      the arrays of the state, then the input: a vector, or a symbol
    constants   weights, and what was computed from them
    equations   in the order in which they can be computed
    outputs     the arrays of the next state, then the output
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from ..cells import Layer, Model
from ..errors import BadInput
from ..through_time.tracing import called

UNROLLED = 10_000  # equations that a loop may become


class Equation(NamedTuple):
    """`outputs = primitive(*inputs, **params)`, where inputs and outputs are numbers of values.

    `function` computes it, and gives a list if there are `several` outputs.
    """

    primitive: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    params: Mapping[str, Any]
    function: Callable[..., Any]
    several: bool = False


@dataclasses.dataclass(frozen=True)
class Program:
    """One step of a network.

    Attributes:
        shapes: of every value.
        dtypes: of every value: float32, int32 or bool.
        constants: the values that do not change, by number.
        equations: see the module.
        state: the numbers of the arrays of the state before the step.
        start: the state before the first step, an array for each of them.
        x: the number of the input.
        symbols: how many symbols an input may be; `None` for a vector.
        next_state: the numbers of the arrays of the state after the step.
        y: the number of the output.

    Example:
        >>> program = trace(ostinato.cells.Simple(3, 4, key=jax.random.key(0)))
        >>> [equation.primitive for equation in program.equations]
        ['dot_general', 'add', 'dot_general', 'add', 'tanh']
    """

    shapes: list[tuple[int, ...]]
    dtypes: list[np.dtype]
    constants: dict[int, np.ndarray]
    equations: list[Equation]
    state: list[int]
    start: list[np.ndarray]
    x: int
    symbols: int | None
    next_state: list[int]
    y: int

    @property
    def inputs(self) -> int:
        """The size of an input vector."""
        return int(np.prod(self.shapes[self.x], dtype=int))

    @property
    def outputs(self) -> int:
        """The size of an output vector."""
        return int(np.prod(self.shapes[self.y], dtype=int))


def trace(network: Model, inputs: int | None = None) -> Program:
    """The program of a network's step, with its noise off, in float32.

    Args:
        network: what is stepped.
        inputs: the size of an input vector, for a network that does not know it.

    Raises `BadInput` for a network without a step, and for a step with too long a loop.
    """
    layer = _with_a_step(network)
    encoding = layer.parts().encoding
    symbols = None if encoding is None else encoding.symbols
    read = _reader(layer, symbols)
    leaves, structure = jax.tree.flatten(jax.tree.map(_single, layer.initial(())))

    def step(leaves: list[Any], x: Any) -> tuple[list[Any], Any]:
        state, y = layer.step(jax.tree.unflatten(structure, leaves), read(x))
        return jax.tree.leaves(state), y

    size = layer.vector_size() if inputs is None else inputs
    if symbols is None and size is None:
        kind = type(network).__name__
        raise BadInput(f"{kind} does not say how many numbers it reads at a step; give inputs")
    x = jnp.zeros((), jnp.int32) if symbols is not None else jnp.zeros(size, jnp.float32)
    traced = jax.make_jaxpr(step)(leaves, x)
    flat = _Flat()
    given = [flat.add(aval.shape, aval.dtype) for aval in traced.in_avals]
    out = flat.inline(traced, given)
    return flat.program(given, out, [np.asarray(x) for x in leaves], symbols)


def _with_a_step(network: Model) -> Layer:
    if not network.can_step:
        raise BadInput(
            f"{type(network).__name__} has no step, because a part of it reads the whole sequence; "
            "train it without bidirectional to export it"
        )
    layer = eqx.nn.inference_mode(network).as_layer()
    return jax.tree.map(lambda x: _single(x) if eqx.is_array(x) else x, layer)


def _single(x: Any) -> Any:
    """An array in float32, if it has more or fewer bits; integers and keys as they are."""
    return x.astype(jnp.float32) if jnp.issubdtype(x.dtype, jnp.floating) else x


def _reader(layer: Layer, symbols: int | None) -> Callable[[Any], Any]:
    """`layer.inputs`; of symbols, a row of what it gives for all, if that is not too large."""
    if symbols is None:
        return layer.inputs
    table = jax.eval_shape(layer.inputs, jax.ShapeDtypeStruct((symbols,), jnp.int32))
    weights = sum(x.size for x in jax.tree.leaves(layer) if eqx.is_array(x))
    if sum(x.size for x in jax.tree.leaves(table)) > 2 * weights:
        return layer.inputs
    rows = layer.inputs(jnp.arange(symbols))
    return lambda x: jax.tree.map(
        lambda some: jax.lax.dynamic_index_in_dim(some, x, keepdims=False), rows
    )


class _Flat:
    """The values and equations of a program, as they are found."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []
        self.dtypes: list[np.dtype] = []
        self.constants: dict[int, np.ndarray] = {}
        self.equations: list[Equation] = []

    def add(self, shape: tuple[int, ...], dtype: Any) -> int:
        self.shapes.append(tuple(shape))
        self.dtypes.append(np.dtype(dtype))
        return len(self.shapes) - 1

    def constant(self, value: Any) -> int:
        array = np.asarray(value)
        number = self.add(array.shape, array.dtype)
        self.constants[number] = array
        return number

    def inline(self, closed: ClosedJaxpr, given: list[int]) -> list[int]:
        """Add the equations of a jaxpr whose arguments are the given values; its outputs."""
        numbers: dict[Any, int] = dict(zip(closed.jaxpr.invars, given, strict=True))
        for variable, value in zip(closed.jaxpr.constvars, closed.consts, strict=True):
            numbers[variable] = self.constant(value)

        def number(atom: Any) -> int:
            return self.constant(atom.val) if isinstance(atom, Literal) else numbers[atom]

        for equation in closed.jaxpr.eqns:
            inputs = [number(atom) for atom in equation.invars]
            outputs = self._equation(equation, inputs)
            numbers.update(zip(equation.outvars, outputs, strict=True))
        return [number(atom) for atom in closed.jaxpr.outvars]

    def _equation(self, equation: Any, inputs: list[int]) -> list[int]:
        name, params = equation.primitive.name, equation.params
        if all(n in self.constants for n in inputs):
            values = equation.primitive.bind(*(self.constants[n] for n in inputs), **params)
            several = equation.primitive.multiple_results
            return [self.constant(value) for value in (values if several else [values])]
        if (inner := called(equation)) is not None:
            return self.inline(inner, inputs)
        if name == "paired":
            return self.inline(_of_paired(params, [self._shape(n) for n in inputs]), inputs)
        if name == "scan":
            return self._unrolled(params, inputs)
        if name == "custom_linear_solve":
            solve, count = params["jaxprs"].solve, params["const_lengths"]
            first = sum(count) - count.solve
            taken = [*inputs[first : first + count.solve], *inputs[sum(count) :]]
            return self.inline(solve, taken)
        if name in ("stop_gradient", "copy", "copy_p", "optimization_barrier"):
            return inputs
        outputs = [self.add(out.aval.shape, out.aval.dtype) for out in equation.outvars]
        function = functools.partial(equation.primitive.bind, **params)
        several = equation.primitive.multiple_results
        self.equations.append(
            Equation(name, tuple(inputs), tuple(outputs), params, function, several)
        )
        return outputs

    def _shape(self, number: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.shapes[number], self.dtypes[number])

    def _unrolled(self, params: Mapping[str, Any], inputs: list[int]) -> list[int]:
        """A scan, step by step."""
        constants, carried, body = params["num_consts"], params["num_carry"], params["jaxpr"]
        fixed, carry = inputs[:constants], inputs[constants : constants + carried]
        sequences, length = inputs[constants + carried :], params["length"]
        if length * len(body.jaxpr.eqns) > UNROLLED:
            raise BadInput(f"the step has a loop of {length} turns, which is too long to export")
        steps: list[list[int]] = [[]] * length
        order = range(length)
        for turn in reversed(order) if params["reverse"] else order:
            rows = [self._traced(lambda x, n=turn: x[n], xs)[0] for xs in sequences]
            out = self.inline(body, [*fixed, *carry, *rows])
            carry, steps[turn] = out[:carried], out[carried:]
        each = zip(*steps, strict=True)
        return [*carry, *(self._traced(lambda *xs: jnp.stack(xs), *rows)[0] for rows in each)]

    def _traced(self, function: Callable[..., Any], *inputs: int) -> list[int]:
        """The outputs of a function of some values."""
        return self.inline(jax.make_jaxpr(function)(*map(self._shape, inputs)), [*inputs])

    def program(
        self, given: list[int], out: list[int], start: list[np.ndarray], symbols: int | None
    ) -> Program:
        """Only what the outputs need; an equation whose outputs nobody reads is left out."""
        needed, equations = set(out), []
        for equation in reversed(self.equations):
            if needed & {*equation.outputs}:
                needed |= {*equation.inputs}
                equations.append(equation)
        constants = {n: x for n, x in self.constants.items() if n in needed}
        return Program(
            self.shapes,
            self.dtypes,
            constants,
            equations[::-1],
            given[:-1],
            start,
            given[-1],
            symbols,
            out[:-1],
            out[-1],
        )


def _of_paired(params: Mapping[str, Any], inputs: list[jax.ShapeDtypeStruct]) -> ClosedJaxpr:
    """The forward half of a pair; see `through_time/paired.py`."""
    count = params["count"]
    return jax.make_jaxpr(lambda *xs: params["forward"](xs[:count], xs[count:]))(*inputs)
