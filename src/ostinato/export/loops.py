"""A program as loops over flat arrays, from which code for any machine is printed.

An array is flat, and what only moves numbers is no work at all: it becomes the place at which a
loop reads. There are three kinds of loops over an index i, which `lowering.py` makes:

    Map         out[i] = f(a[i], b[i], …); what is elementwise and read once stands in place
    Reduction   out[i] = Σ_k a[i, k] b[i, k], or the sum, the largest or the smallest of a[i, k]
    Lookup      out[i] = table[row + i], the row from a symbol
"""

import dataclasses
from collections.abc import Collection, Iterator
from math import prod
from typing import Any, ClassVar

import numpy as np
from jax import lax

from ..errors import BadInput
from ..wiring.program import Equation, Program
from .primitives import PRIMITIVES

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
ELEMENTWISE = {*PRIMITIVES, "convert_element_type", "integer_pow", "select_n"}
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
        index = affine(vector.places)
        together = index is not None and index[1][0] == 0
        gapless = index is not None and (index[1][1] == 1 or vector.places.shape[1] == 1)
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


def moves(equation: Equation, program: Program) -> list[np.ndarray]:
    """Where each number of each output is from in the array that one of the `MOVES` moves."""
    moved, *indices = equation.inputs
    if any(n not in program.constants for n in indices):
        raise BadInput(
            f"the step has the operation {equation.primitive} by indices that it computes, which "
            "cannot be exported"
        )
    shape = program.shapes[moved]
    numbers = np.arange(prod(shape), dtype=np.int32).reshape(shape)
    out = equation.function(numbers, *(program.constants[n] for n in indices))
    return [np.asarray(places) for places in (out if equation.several else [out])]


def check_numbers(equation: Equation, kind: str) -> None:
    """Refuse a function that is only exported of other numbers; `kind` is that of their dtype."""
    name, rounds = equation.primitive, equation.params.get("rounding_method")
    if rounds == lax.RoundingMethod.AWAY_FROM_ZERO:
        raise BadInput("the step has round, of halves away from zero; only to even is exported")
    if (name == "not" and kind != "b") or (name in ("div", "pow") and kind != "f"):
        raise BadInput(f"the step has {name} of whole numbers, which cannot be exported")


def unknown(name: str) -> BadInput:
    """The error for a function that a format has no word for."""
    return BadInput(f"the step has the function {name}, which cannot be exported")


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
