"""From the equations of a program to loops over flat arrays; see `loops.py` for what these are.

What only moves numbers (a slice, a transpose, a gather by constant indices) is no work at all: it
is applied to the numbers 0, 1, 2, … and what comes out says where each number is from, so that no
primitive needs a rule of its own. What is elementwise and read once stands in place, and of any
other array only what somebody reads is computed.
"""

from collections import Counter
from math import prod
from typing import cast

import numpy as np

from ..errors import BadInput
from ..wiring.program import Equation, Program
from .loops import (
    ELEMENTWISE,
    MOVES,
    REDUCTIONS,
    Apply,
    Expression,
    Lookup,
    Loop,
    Loops,
    Map,
    Read,
    Reduction,
    affine,
    moves,
)

RUNS = 4  # parts in which an array is written at most


def loops_of(program: Program) -> Loops:
    """The loops of a program.

    Raises `BadInput` for an operation that is not among those above, with its name.

    Example:
        >>> from ostinato.wiring.program import trace
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
        self.uses, self.used = uses, _used(program)

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
        moved = equation.inputs[0]
        size = prod(self.shapes[moved])
        for number, places in zip(equation.outputs, moves(equation, self.program), strict=True):
            source = self.known[moved]
            once = self.uses[moved] == 1 and _is_permutation(places, size)
            if not once:
                source = self._stored(moved)
            self.known[number] = source.moved(places)

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
            own, used = self._own(number), self.used[number]
            if used.all():
                self.loops.append(Map(number, own, known))
            else:
                self.loops += [Map(number, run, known.moved(run)) for run in _runs(used)]
            known = self.known[number] = Read(number, own)
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
        index = affine(read.places)
        if places.shape != read.places.shape or (index is not None and index[1][0] == 1):
            return read
        number = self._new(read.places.T.shape, read.value)
        self.constants[number] = self.constants[read.value][read.places.T.ravel()]
        return Read(number, np.arange(read.places.size).reshape(read.places.T.shape).T)

    def _reduction(self, out: int, how: str, terms: tuple[Read, ...], outer: int) -> None:
        ready = []
        for term in terms:
            if affine(term.places) is None:  # its places follow no rule: a copy of it does
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


def _is_permutation(places: np.ndarray, size: int) -> bool:
    """Whether every number is read once."""
    return np.array_equal(np.sort(places.ravel()), np.arange(size))


def _runs(used: np.ndarray) -> list[np.ndarray]:
    """The places that are used, those without a gap together."""
    places = np.flatnonzero(used)
    return np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if places.size else []


def _used(program: Program) -> list[np.ndarray]:
    """Which numbers of each value somebody reads, a flat array of booleans for each."""
    used = [np.zeros(prod(shape), bool) for shape in program.shapes]
    for number in [*program.next_state, program.y]:
        used[number][:] = True
    constants, shapes = program.constants, program.shapes
    for equation in reversed(program.equations):
        for number in equation.outputs:
            used[number] |= len(_runs(used[number])) > RUNS
        moved, *indices = equation.inputs
        if equation.primitive in MOVES and all(n in constants for n in indices):
            for number, places in zip(equation.outputs, moves(equation, program), strict=True):
                used[moved][places.ravel()[used[number]]] = True
        elif equation.primitive in ELEMENTWISE:
            (out,) = equation.outputs
            for number in equation.inputs:
                own = np.arange(prod(shapes[number])).reshape(shapes[number])
                used[number][np.broadcast_to(own, shapes[out]).ravel()[used[out]]] = True
        else:
            for number in equation.inputs:
                used[number][:] = True
    return used
