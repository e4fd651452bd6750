"""A program as loops over flat arrays, from which code for any machine is printed.

An array is flat, and what only moves numbers (a slice, a transpose, a broadcast, a gather by
constant indices) is no work at all: it becomes the place at which a loop reads. Such a primitive is
applied to the numbers 0, 1, 2, … and what comes out says where each number is from, so that no
primitive needs a rule of its own. What is left are three kinds of loops over an index i:

    Map         out[i] = f(a[i], b[i], …); what is elementwise and read once stands in place
    Reduction   out[i] = Σ_k a[i, k] b[i, k], or the sum, the largest or the smallest of a[i, k]
    Lookup      out[i] = table[row + i], the row from a symbol
"""

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterator
from math import prod
from typing import Any, ClassVar, cast

import numpy as np

from ..errors import BadInput
from .program import Equation, Program

MOVES = {
    "broadcast_in_dim",
    "expand_dims",
    "gather",
    "reshape",
    "rev",
    "slice",
    "split",
    "squeeze",
    "transpose",
    "unstack",
}
ELEMENTWISE = {
    *("abs", "add", "and", "ceil", "convert_element_type", "cos", "div", "eq", "erf", "exp"),
    *("expm1", "floor", "ge", "gt", "integer_pow", "is_finite", "le", "log", "log1p", "logistic"),
    *("lt", "max", "min", "mul", "ne", "neg", "not", "or", "pow", "round", "rsqrt", "select_n"),
    *("sign", "sin", "sqrt", "square", "sub", "tan", "tanh", "xor"),
}
REDUCTIONS = {"reduce_sum": "sum", "reduce_max": "max", "reduce_min": "min"}


@dataclasses.dataclass(frozen=True)
class Read:
    """A number of an array, for each index of a loop.

    Attributes:
        value: the number of the array in the program.
        places: where it is read, an integer for each index of the loop.
    """

    value: int
    places: np.ndarray
    stored: ClassVar[bool] = True

    def moved(self, places: np.ndarray) -> "Read":
        """The same seen through another move: `places` are indices into the loop of this."""
        return Read(self.value, self.places.ravel()[places])

    def reads(self) -> Iterator["Read"]:
        yield self

    def words(self, printer: Any, axes: Any) -> str:
        return printer.number(self, axes)

    @property
    def affine(self) -> tuple[int, tuple[int, ...]] | None:
        """Offset and stride of each axis of the loop, if the places are such; else `None`."""
        return affine(self.places)


@dataclasses.dataclass(frozen=True)
class Apply:
    """An elementwise function of numbers.

    Attributes:
        primitive: its name.
        inputs: what it is applied to.
        equation: for its parameters and the types of its values.
    """

    primitive: str
    inputs: tuple["Apply | Read", ...]
    equation: Equation
    stored: ClassVar[bool] = False

    def moved(self, places: np.ndarray) -> "Apply":
        inputs = tuple(x.moved(places) for x in self.inputs)
        return dataclasses.replace(self, inputs=inputs)

    def reads(self) -> Iterator[Read]:
        for x in self.inputs:
            yield from x.reads()

    def words(self, printer: Any, axes: Any) -> str:
        return printer.apply(self, axes)


Expression = Apply | Read


@dataclasses.dataclass(frozen=True)
class Map:
    """`out[places] = expression`, for each index of a loop.

    Attributes:
        out: the number of the array.
        places: where it is written.
        expression: what is written; its places have the shape of the loop.
    """

    out: int
    places: np.ndarray
    expression: Expression

    def reads(self) -> Iterator[int]:
        yield from (read.value for read in self.expression.reads())

    def lines(self, printer: Any) -> Iterator[str]:
        return printer.map(self)

    def factors(self, constants: Collection[int]) -> None:
        """A map is no product."""


@dataclasses.dataclass(frozen=True)
class Reduction:
    """`out[i] = Σ_k a[i, k] b[i, k]`, or another way to make one number of many.

    Attributes:
        out: the number of the array, written from its first number to its last.
        how: `sum` of the products of all `terms`, or `max` or `min` of the only one.
        terms: their places have the axes of the outputs first.
        outer: how many axes these are.
    """

    out: int
    how: str
    terms: tuple[Read, ...]
    outer: int

    def reads(self) -> Iterator[int]:
        yield from (read.value for read in self.terms)

    def lines(self, printer: Any) -> Iterator[str]:
        return printer.reduction(self)

    def factors(self, constants: Collection[int]) -> tuple[Read, Read] | None:
        """A vector, without gaps, and the constant matrix that it is multiplied by; if it is so."""
        if self.how != "sum" or len(self.terms) != 2 or self.terms[0].places.ndim != 2:
            return None
        fixed = [term.value in constants for term in self.terms]
        if self.outer != 1 or sum(fixed) != 1:
            return None
        vector, weights = self.terms[fixed.index(False)], self.terms[fixed.index(True)]
        found = vector.affine
        together = found is not None and found[1][0] == 0
        gapless = found is not None and (found[1][1] == 1 or vector.places.shape[1] == 1)
        return (vector, weights) if together and gapless else None


@dataclasses.dataclass(frozen=True)
class Lookup:
    """`out = table[row]`, with row numbers kept within the table.

    Attributes:
        out: the number of the array.
        table: the number of the array that is looked up in.
        places: of the part that begins at 0, in the table.
        rows: for each index that is not constant: the read number, its stride, and its maximum.
    """

    out: int
    table: int
    places: np.ndarray
    rows: tuple[tuple[Read, int, int], ...]

    def reads(self) -> Iterator[int]:
        yield from (self.table, *(read.value for read, _, _ in self.rows))

    def lines(self, printer: Any) -> Iterator[str]:
        return printer.lookup(self)

    def factors(self, constants: Collection[int]) -> None:
        """A lookup is no product."""


Loop = Map | Reduction | Lookup


def affine(places: np.ndarray) -> tuple[int, tuple[int, ...]] | None:
    """Offset and strides of places, if there are such.

    Example:
        >>> affine(np.arange(6).reshape(2, 3).T), affine(np.array([0, 1, 4]))
        ((0, (1, 3)), None)
    """
    if not places.size:
        return 0, (0,) * places.ndim
    first = int(places.flat[0])
    strides = tuple(
        int(np.take(places, 1, axis).flat[0]) - first if size > 1 else 0
        for axis, size in enumerate(places.shape)
    )
    turns = zip(strides, places.shape, strict=True)
    steps = np.ix_(*(stride * np.arange(size) for stride, size in turns))
    return (first, strides) if np.array_equal(places, first + sum(steps)) else None


@dataclasses.dataclass(frozen=True)
class Loops:
    """A program as loops.

    Attributes:
        program: what they are of.
        sizes: of every array.
        dtypes: of every array.
        loops: in the order in which they can be run.
        state: the arrays of the next state, as what is read of them.
        y: the same of the output.
        constants: the constants that the loops read, flat, by number; some in another order than in
            the program.
    """

    program: Program
    sizes: list[int]
    dtypes: list[np.dtype]
    loops: list[Loop]
    state: list[Read]
    y: Read
    constants: dict[int, np.ndarray]


def loops_of(program: Program) -> Loops:
    """The loops of a program.

    Raises `BadInput` for an operation that is not among those above, with its name.

    Example:
        >>> from ostinato.export.program import trace
        >>> found = loops_of(trace(ostinato.cells.Simple(3, 4, key=jax.random.key(0))))
        >>> [type(loop).__name__ for loop in found.loops]
        ['Reduction', 'Reduction', 'Map']
    """
    return _Lowering(program).run()


class _Lowering:
    def __init__(self, program: Program):
        self.program, self.shapes, self.dtypes = program, [*program.shapes], [*program.dtypes]
        self.loops: list[Loop] = []
        self.constants = {n: x.ravel() for n, x in program.constants.items()}
        self.known: dict[int, Expression] = {}
        uses = Counter(n for equation in program.equations for n in equation.inputs)
        uses.update([*program.next_state, program.y])
        self.uses = uses

    def run(self) -> Loops:
        program = self.program
        for number in [*program.state, program.x, *program.constants]:
            self.known[number] = Read(number, self._own(number))
        for equation in program.equations:
            self._lower(equation)
        state = [self._stored(number) for number in program.next_state]
        y = self._stored(program.y)
        read = {one.value for one in [*state, y]}
        read |= {number for loop in self.loops for number in loop.reads()}
        constants = {n: x for n, x in self.constants.items() if n in read}
        sizes = [prod(shape) for shape in self.shapes]
        return Loops(program, sizes, self.dtypes, self.loops, state, y, constants)

    def _own(self, number: int) -> np.ndarray:
        shape = self.shapes[number]
        return np.arange(prod(shape)).reshape(shape)

    def _new(self, shape: tuple[int, ...], like: int) -> int:
        """The number of a further array."""
        self.shapes.append(shape)
        self.dtypes.append(self.dtypes[like])
        return len(self.shapes) - 1

    def _lower(self, equation: Equation) -> None:
        name = equation.primitive
        if name in MOVES:
            self._move(equation)
        elif name in ELEMENTWISE:
            self._elementwise(equation)
        elif name == "dot_general":
            self._product(equation)
        elif name in REDUCTIONS:
            self._reduce(equation)
        elif name == "concatenate":
            self._concatenate(equation)
        elif name == "dynamic_slice":
            self._lookup(equation)
        else:
            raise BadInput(
                f"the step has the operation {name}, which cannot be exported; those that can are "
                f"{', '.join(sorted({*MOVES, *ELEMENTWISE, *REDUCTIONS, 'dot_general'}))}"
            )

    def _move(self, equation: Equation) -> None:
        moved, *indices = equation.inputs
        if any(n not in self.program.constants for n in indices):
            raise BadInput(
                f"the step has the operation {equation.primitive} by indices that it computes, "
                "which cannot be exported"
            )
        numbers = self._own(moved).astype(np.int32)
        out = equation.function(numbers, *(self.program.constants[n] for n in indices))
        out = out if equation.several else [out]
        for number, places in zip(equation.outputs, out, strict=True):
            source = self.known[moved]
            once = self.uses[moved] == 1 and _is_permutation(places, numbers.size)
            if not once:
                source = self._stored(moved)
            self.known[number] = source.moved(np.asarray(places))

    def _elementwise(self, equation: Equation) -> None:
        (out,) = equation.outputs
        shape = self.shapes[out]
        inputs = []
        for number in equation.inputs:
            known = self.known[number]
            if self.uses[number] > 1:
                known = self._stored(number)
            if self.shapes[number] != shape:  # a scalar beside an array, or an axis of size 1
                places = np.broadcast_to(self._own(number), shape)
                known = self._stored(number).moved(places)
            inputs.append(known)
        self.known[out] = Apply(equation.primitive, tuple(inputs), equation)

    def _stored(self, number: int) -> Read:
        """The value as an array that is computed; an expression that was not is, now."""
        known = self.known[number]
        if not known.stored:
            self.loops.append(Map(number, self._own(number), known))
            known = self.known[number] = Read(number, self._own(number))
        return cast(Read, known)

    def _product(self, equation: Equation) -> None:
        (left, right), (out,) = equation.inputs, equation.outputs
        (over_left, over_right), (with_left, with_right) = equation.params["dimension_numbers"]
        a, b = self._stored(left), self._stored(right)
        free_left = [n for n in range(a.places.ndim) if n not in (*over_left, *with_left)]
        free_right = [n for n in range(b.places.ndim) if n not in (*over_right, *with_right)]
        # The axes are: those that go together, the other ones of a and of b, those summed over.
        ones_left, ones_right = (1,) * len(free_left), (1,) * len(free_right)
        a_places = a.places.transpose(*with_left, *free_left, *over_left)
        b_places = b.places.transpose(*with_right, *free_right, *over_right)
        both = len(with_left)
        a_shape, b_shape = a_places.shape, b_places.shape
        cut_a = both + len(free_left)
        a_places = a_places.reshape(*a_shape[:cut_a], *ones_right, *a_shape[cut_a:])
        b_places = b_places.reshape(*b_shape[:both], *ones_left, *b_shape[both:])
        shape = np.broadcast_shapes(a_places.shape, b_places.shape)
        terms = tuple(
            self._in_order(Read(x.value, np.broadcast_to(places, shape)), places)
            for x, places in ((a, a_places), (b, b_places))
        )
        outer = both + len(free_left) + len(free_right)
        self._reduction(out, "sum", terms, outer)

    def _in_order(self, read: Read, places: np.ndarray) -> Read:
        """A constant laid out so that neighbouring outputs read neighbouring numbers."""
        if read.value not in self.program.constants or read.places.ndim != 2:
            return read
        found = affine(read.places)
        if places.shape != read.places.shape or (found is not None and found[1][0] == 1):
            return read
        number = self._new(read.places.T.shape, read.value)
        self.constants[number] = self.constants[read.value][read.places.T.ravel()]
        return Read(number, np.arange(read.places.size).reshape(read.places.T.shape).T)

    def _reduction(self, out: int, how: str, terms: tuple[Read, ...], outer: int) -> None:
        ready = []
        for term in terms:
            if term.affine is None:  # its places follow no rule: a copy of it does
                term = self._copied(term)
            ready.append(term)
        self.loops.append(Reduction(out, how, tuple(ready), outer))
        self.known[out] = Read(out, self._own(out))

    def _copied(self, read: Read) -> Read:
        number = self._new(read.places.shape, read.value)
        own = self._own(number)
        self.loops.append(Map(number, own, read))
        return Read(number, own)

    def _reduce(self, equation: Equation) -> None:
        (number,), (out,) = equation.inputs, equation.outputs
        axes, read = equation.params["axes"], self._stored(number)
        kept = [n for n in range(read.places.ndim) if n not in axes]
        moved = Read(read.value, read.places.transpose(*kept, *axes))
        self._reduction(out, REDUCTIONS[equation.primitive], (moved,), len(kept))

    def _concatenate(self, equation: Equation) -> None:
        (out,), axis = equation.outputs, equation.params["dimension"]
        own, at = self._own(out), 0
        for number in equation.inputs:
            size = self.shapes[number][axis]
            known = self._stored(number) if self.uses[number] > 1 else self.known[number]
            places = np.take(own, range(at, at + size), axis)
            if places.size:
                self.loops.append(Map(out, places, known))
            at += size
        self.known[out] = Read(out, own)

    def _lookup(self, equation: Equation) -> None:
        (table, *indices), (out,) = equation.inputs, equation.outputs
        source, sizes = self._stored(table), equation.params["slice_sizes"]
        first = source.places[tuple(slice(n) for n in sizes)]
        rows = []
        for axis, (number, size) in enumerate(zip(indices, sizes, strict=True)):
            whole = self.shapes[table][axis]
            if size == whole:
                continue
            stride = int(np.take(source.places, 1, axis).flat[0] - source.places.flat[0])
            rows.append((self._stored(number), stride, whole - size))
        self.loops.append(Lookup(out, source.value, first, tuple(rows)))
        self.known[out] = Read(out, self._own(out))


def _is_permutation(places: Any, size: int) -> bool:
    """Whether every number is read once."""
    return np.array_equal(np.sort(np.asarray(places).ravel()), np.arange(size))
