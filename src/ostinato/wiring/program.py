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

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, Literal, Primitive

from ..cells import Layer, Model
from ..cells.building import try_input_sizes
from ..errors import BadInput
from ..through_time import unroll
from ..through_time.linear_map import forward_of
from ..through_time.running import over_parts
from ..through_time.step import called, loop_operands
from .elimination import UNKNOWNS, eliminated
from .stepping import Stepping, plain, symbols_of

UNROLLED = 10_000  # equations that a loop may become
TYPES = ("float32", "float64", "int32", "int64", "bool")  # those of 64 bits become those of 32


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
    return trace_step(Stepping.of(network), inputs)


def trace_step(stepping: Stepping, inputs: int | None = None) -> Program:
    """`trace`, of what is stepped by itself already."""
    layer, symbols = stepping.layer, stepping.symbols
    leaves, structure = jax.tree.flatten(stepping.initial(()))

    def step(leaves: list[Any], x: Any) -> tuple[list[Any], Any]:
        state, y = stepping.step(jax.tree.unflatten(structure, leaves), x)
        return jax.tree.leaves(state), y

    traced = jax.make_jaxpr(step)(leaves, _input(layer, symbols, inputs))
    return _flattened(traced, leaves, symbols)


class Part(NamedTuple):
    """A part of a layer that is run through time as a whole: a cell, or two for both directions.

    Attributes:
        layer: the part.
        reverse: whether it reads from the last step to the first.
        inputs: the size of the vectors that it reads.
        start: its state before the first step, which the layer around it may determine.
    """

    layer: Layer
    reverse: bool
    inputs: int
    start: Any

    @property
    def at_rest(self) -> bool:
        """Whether it starts from zeros, as the operators of other libraries do."""
        return not any(np.any(x) for x in jax.tree.leaves(self.start))


def trace_sequence(
    network: Model, inputs: int | None = None, whole: Callable[[Layer], bool] = lambda _: False
) -> tuple[Program, list[Part]]:
    """What a network does between the parts of it that run through time, and these parts.

    The program stands for every step of every sequence: its equations act on the last axes of
    arrays with time first. The equation `unroll` runs `parts[params["part"]]` through time from its
    `start`; its outputs are those at every step, and the arrays of its final state, which have no
    axis of time.

    Args:
        network: what is run, also one without a step.
        inputs: see `trace`.
        whole: whether a layer made of cells is a part itself, if it starts from zeros; by default
            its cells are.
    """
    layer, parts = plain(network), []
    symbols = symbols_of(layer)

    def run_part(layer: Layer, x: Any, state: Any, reverse: bool) -> tuple[Any, Any]:
        with jax.ensure_compile_time_eval():  # numbers, also within the trace
            state = layer.initial(()) if state is None else state
        part = Part(layer, reverse, int(np.prod(x.shape, dtype=int)), _numbers(layer, state))
        if layer.in_parts and (reverse or not (whole(layer) and part.at_rest)):
            return over_parts(layer, x, state, run_part, reverse)
        parts.append(part)
        y = jax.eval_shape(lambda x: _output(layer, x), x)
        leaves, structure = jax.tree.flatten(state)
        shapes = tuple((out.shape, jnp.dtype(out.dtype).name) for out in (y, *leaves))
        y, *leaves = _unroll.bind(x, part=len(parts) - 1, shapes=shapes)
        return y, jax.tree.unflatten(structure, leaves)

    def run(x: Any) -> tuple[list[Any], Any]:
        y, state = run_part(layer, x, None, False)
        return jax.tree.leaves(state), y

    traced = jax.make_jaxpr(run)(_input(layer, symbols, inputs))
    return _flattened(traced, [], symbols), parts


def _numbers(layer: Layer, state: Any) -> Any:
    """A state as NumPy arrays; refuses one that depends on the inputs."""
    try:
        return jax.tree.map(np.asarray, state)
    except jax.errors.TracerArrayConversionError:
        raise BadInput(
            f"the first state of {type(layer).__name__} is computed while the sequence is read, "
            "which cannot be exported as a sequence; export a step"
        ) from None


_unroll = Primitive("unroll")
_unroll.multiple_results = True
_unroll.def_abstract_eval(
    lambda x, *, part, shapes: [ShapedArray(shape, np.dtype(dtype)) for shape, dtype in shapes]
)


def _output(part: Layer, x: Any) -> Any:
    """The output of a step; of a layer without one, that of a sequence of one step."""
    if part.can_step:
        return part.step(part.initial(()), part.inputs(x))[1]
    return unroll(part, x[None])[0][0]


def _input(layer: Layer, symbols: int | None, inputs: int | None) -> Any:
    if symbols is not None:
        return jnp.zeros((), jnp.int32)
    size = layer.vector_size() if inputs is None else inputs
    if inputs is None and size is not None and layer.can_step:
        size, *_ = try_input_sizes(layer)  # it reads another size if its `inputs` changes vectors
    if size is None:
        kind = type(layer).__name__
        raise BadInput(f"{kind} does not say how many numbers it reads at a step; give inputs")
    return jnp.zeros(size, jnp.float32)


def _flattened(traced: ClosedJaxpr, start: list[jax.Array], symbols: int | None) -> Program:
    flat = _Flat()
    given = [flat.add(aval.shape, aval.dtype) for aval in traced.in_avals]
    out = flat.inline(traced, given)
    return flat.program(given, out, [np.asarray(x) for x in start], symbols)


class _Flat:
    """The values and equations of a program, as they are found."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []
        self.dtypes: list[np.dtype] = []
        self.constants: dict[int, np.ndarray] = {}
        self.equations: list[Equation] = []

    def add(self, shape: tuple[int, ...], dtype: Any) -> int:
        if jnp.issubdtype(dtype, jax.dtypes.prng_key):
            raise BadInput("the step draws random numbers, which cannot be exported")
        self.shapes.append(tuple(shape))
        self.dtypes.append(np.dtype(dtype))
        return len(self.shapes) - 1

    def constant(self, value: Any) -> int:
        number = self.add(np.shape(value), jnp.result_type(value))
        self.constants[number] = np.asarray(value)
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
            return self.inline(forward_of(equation), inputs)
        if name == "scan":
            return self._unrolled(params, inputs)
        if name == "custom_linear_solve" and _is_product(params["jaxprs"].matvec):
            return self._solved(inputs[0], inputs[-1])
        if name == "one_minus_square":  # of JAX 0.12, where tanh is differentiated
            return self._traced(lambda x: (1 + x) * (1 - x), *inputs)
        if name == "stack":
            return self._traced(functools.partial(_joined, axis=params["axis"]), *inputs)
        if name in ("stop_gradient", "copy", "copy_p", "device_put", "optimization_barrier"):
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
        fixed, carry, sequences = loop_operands(params, inputs)
        body, length = params["jaxpr"], params["length"]
        if length * len(body.jaxpr.eqns) > UNROLLED:
            raise BadInput(f"the step has a loop of {length} turns, which is too long to export")
        steps: list[list[int]] = [[]] * length
        order = range(length)
        for turn in reversed(order) if params["reverse"] else order:
            rows = [self._traced(lambda x, n=turn: x[n], xs)[0] for xs in sequences]
            out = self.inline(body, [*fixed, *carry, *rows])
            carry, steps[turn] = out[: len(carry)], out[len(carry) :]
        each = zip(*steps, strict=True)
        return [*carry, *(self._traced(lambda *xs: jnp.stack(xs), *rows)[0] for rows in each)]

    def _solved(self, matrix: int, right: int) -> list[int]:
        """The solution of a linear system, whose product with x is made by the matrix."""
        size = self.shapes[matrix][0]
        if size > UNKNOWNS:
            raise BadInput(
                f"the step solves a linear system of {size} unknowns; at most {UNKNOWNS} can be "
                "exported"
            )
        return self._traced(
            lambda A, b: eliminated(A, jnp.atleast_2d(b)).reshape(b.shape), matrix, right
        )

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
                self._check_types(equation)
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

    def _check_types(self, equation: Equation) -> None:
        """Refuse complex numbers, and those of few bits or without a sign.

        The latter would be rounded in another way.
        """
        for number in (*equation.inputs, *equation.outputs):
            dtype = self.dtypes[number].name
            if dtype.startswith("complex"):
                raise BadInput(
                    f"numbers in {dtype} cannot be exported; write the step with real numbers, the "
                    "real and the imaginary part as two arrays of its state"
                )
            if dtype not in TYPES:
                raise BadInput(
                    f"the step has the operation {equation.primitive} of numbers in {dtype}, which "
                    "cannot be exported; float32, int32 and bool can"
                )


def _joined(*xs: jax.Array, axis: int) -> jax.Array:
    """Arrays along a new axis."""
    return jnp.concatenate([jnp.expand_dims(x, axis) for x in xs], axis)


def _is_product(matvec: ClosedJaxpr) -> bool:
    """Whether a function of a matrix and a vector, or rows of vectors, is their product."""
    names = [equation.primitive.name for equation in matvec.jaxpr.eqns]
    if names not in (["dot_general"], ["dot_general", "transpose"]):
        return False
    product, given = matvec.jaxpr.eqns[0], matvec.jaxpr.invars
    vector: Any = given[-1].aval
    last = len(vector.shape) - 1
    over = (((1,), (last,)), ((), ()))
    return product.invars == given and product.params["dimension_numbers"] == over
