"""A program as operations on whole tensors, for formats that have such: ONNX and torch.

Every value has one or more free axes first, over which all else is alike: the sequences of a batch,
or steps and sequences. A constant has none of them.
"""

import abc
from math import prod
from typing import Any

import numpy as np

from ..errors import BadInput
from ..wiring.program import Equation, Program
from .loops import ELEMENTWISE, MOVES, REDUCTIONS, affine, check_numbers, moves


def typed(value: np.ndarray) -> np.ndarray:
    """Numbers in float32, int32 or bool."""
    return value.astype({"f": np.float32, "b": np.bool_}.get(value.dtype.kind, np.int32))


class Writer(abc.ABC):
    """What a format must be able to write. Values are words; shapes are without the free axes."""

    @abc.abstractmethod
    def constant(self, value: np.ndarray) -> str: ...

    @abc.abstractmethod
    def spread(self, x: str, shape: tuple[int, ...]) -> str:
        """A constant of this shape, for all that the free axes stand for."""

    @abc.abstractmethod
    def apply(self, equation: Equation, given: list[str], kind: str) -> str:
        """A function of numbers; `kind` is that of the dtype of the first."""

    @abc.abstractmethod
    def product(self, x: str, matrix: str) -> str:
        """`x @ matrix`, the matrix a constant."""

    @abc.abstractmethod
    def einsum(self, spec: str, a: str, b: str) -> str: ...

    @abc.abstractmethod
    def reshape(self, x: str, shape: tuple[int, ...]) -> str: ...

    @abc.abstractmethod
    def expand(self, x: str, shape: tuple[int, ...]) -> str:
        """Axes of size 1 repeated."""

    @abc.abstractmethod
    def cut(self, x: str, first: int, last: int) -> str:
        """From `first` to before `last` along the last axis."""

    @abc.abstractmethod
    def take(self, x: str, places: np.ndarray) -> str:
        """The numbers at these places of the last axis, in a row."""

    @abc.abstractmethod
    def reduce(self, how: str, x: str, axes: tuple[int, ...], rank: int) -> str:
        """The `sum`, `max` or `min` over some of `rank` axes."""

    @abc.abstractmethod
    def join(self, xs: list[str], axis: int, rank: int) -> str: ...

    @abc.abstractmethod
    def lookup(self, table: str, row: str, last: int) -> str:
        """`table[row]`, with rows kept from 0 to `last`."""

    def unroll(self, equation: Equation, x: str) -> list[str]:
        """A part run through time; see `trace_sequence`."""
        raise BadInput("a step runs nothing through time")


def write(program: Program, writer: Writer, x: str, state: list[str]) -> tuple[list[str], str]:
    """Write the equations of a program.

    Args:
        program: see `trace`.
        writer: what writes them.
        x: the input.
        state: the state before the step.

    Returns:
        The state after it, and the output.
    """
    return _Walk(program, writer, {**dict(zip(program.state, state, strict=True)), program.x: x})()


class _Walk:
    def __init__(self, program: Program, writer: Writer, known: dict[int, str]):
        self.program, self.writer, self.known = program, writer, known
        self.shapes, self.constants = program.shapes, program.constants
        self.written: dict[tuple[Any, ...], str] = {}  # constants

    def __call__(self) -> tuple[list[str], str]:
        for equation in self.program.equations:
            for number, word in zip(equation.outputs, self._words(equation), strict=True):
                self.known[number] = word
        *state, y = (self._spread(n) for n in [*self.program.next_state, self.program.y])
        return state, y

    def _word(self, number: int) -> str:
        return self.known[number] if number in self.known else self._fixed(self.constants[number])

    def _fixed(self, value: np.ndarray) -> str:
        value = typed(value)
        key = (value.tobytes(), value.shape, value.dtype.kind)
        if key not in self.written:
            self.written[key] = self.writer.constant(value)
        return self.written[key]

    def _spread(self, number: int) -> str:
        word = self._word(number)
        return word if number in self.known else self.writer.spread(word, self.shapes[number])

    def _words(self, equation: Equation) -> list[str]:
        name = equation.primitive
        if name in MOVES:
            return self._moved(equation)
        if name in ELEMENTWISE:
            return [self._elementwise(equation)]
        if name == "dot_general":
            return [self._product(equation)]
        if name in REDUCTIONS:
            (x,) = equation.inputs
            axes, rank = tuple(equation.params["axes"]), len(self.shapes[x])
            return [self.writer.reduce(REDUCTIONS[name], self._word(x), axes, rank)]
        if name == "concatenate":
            words = [self._spread(n) for n in equation.inputs if prod(self.shapes[n])]
            rank = len(self.shapes[equation.outputs[0]])
            return [self.writer.join(words, equation.params["dimension"], rank)]
        if name == "dynamic_slice":
            return [self._lookup(equation)]
        if name == "unroll":
            return self.writer.unroll(equation, self._word(equation.inputs[0]))
        raise BadInput(f"the step has the operation {name}, which cannot be exported")

    def _moved(self, equation: Equation) -> list[str]:
        moved = equation.inputs[0]
        x, shape = self._word(moved), self.shapes[moved]
        if equation.primitive == "broadcast_in_dim":
            to, axes = self.shapes[equation.outputs[0]], equation.params["broadcast_dimensions"]
            ones = [1] * len(to)
            for axis, size in zip(axes, shape, strict=True):
                ones[axis] = size
            x = self._reshaped(x, shape, tuple(ones))
            return [x if tuple(ones) == to else self.writer.expand(x, to)]
        return [self._taken(x, shape, places) for places in moves(equation, self.program)]

    def _taken(self, x: str, shape: tuple[int, ...], places: np.ndarray) -> str:
        size, flat = prod(shape), places.ravel()
        if np.array_equal(flat, np.arange(size)):
            return self._reshaped(x, shape, places.shape)
        x = self._reshaped(x, shape, (size,))
        index = affine(flat)
        if index is not None and index[1] == (1,):
            x = self.writer.cut(x, index[0], index[0] + flat.size)
        else:
            x = self.writer.take(x, flat)
        return self._reshaped(x, (flat.size,), places.shape)

    def _reshaped(self, x: str, old: tuple[int, ...], new: tuple[int, ...]) -> str:
        return x if old == new else self.writer.reshape(x, new)

    def _elementwise(self, equation: Equation) -> str:
        shape, given = self.shapes[equation.outputs[0]], []
        for number in equation.inputs:
            word, own = self._word(number), self.shapes[number]
            if number in self.known and len(own) < len(shape):  # a scalar beside an array
                word = self.writer.reshape(word, (1,) * len(shape))
            given.append(word)
        kind = self.program.dtypes[equation.inputs[0]].kind
        check_numbers(equation, kind)
        return self.writer.apply(equation, given, kind)

    def _product(self, equation: Equation) -> str:
        (over_left, over_right), (with_left, with_right) = equation.params["dimension_numbers"]
        left, right = equation.inputs
        ranks = [len(self.shapes[n]) for n in (left, right)]
        if right in self.constants and ranks[1] == 2 and tuple(over_left) == (ranks[0] - 1,):
            matrix = self.constants[right]
            matrix = matrix if tuple(over_right) == (0,) else matrix.T
            return self.writer.product(self._word(left), self._fixed(matrix))
        if left in self.constants and ranks == [2, 1] and len(over_left) == 1:
            matrix = self.constants[left]
            matrix = matrix if tuple(over_left) == (0,) else matrix.T
            return self.writer.product(self._word(right), self._fixed(matrix))
        letters = iter("abcdefghijklmnopqrstuvwxyz")
        a, b = ([""] * rank for rank in ranks)
        for one, two in (*zip(with_left, with_right, strict=True),):
            a[one] = b[two] = next(letters)
        together = [a[n] for n in with_left]
        for one, two in zip(over_left, over_right, strict=True):
            a[one] = b[two] = next(letters)
        free = []
        for axes in (a, b):
            for n, letter in enumerate(axes):
                if not letter:
                    axes[n] = next(letters)
                    free.append(axes[n])
        specs = [
            "".join(["..." if n in self.known else "", *axes])
            for n, axes in ((left, a), (right, b))
        ]
        out = "".join(["...", *together, *free])
        return self.writer.einsum(f"{','.join(specs)}->{out}", self._word(left), self._word(right))

    def _lookup(self, equation: Equation) -> str:
        (table, row, *others), (out,) = equation.inputs, equation.outputs
        sizes, shape = tuple(equation.params["slice_sizes"]), self.shapes[table]
        if table in self.known or sizes != (1, *shape[1:]) or any(n in self.known for n in others):
            raise BadInput(
                "the step has the operation dynamic_slice of more than rows of a constant, which "
                "cannot be exported"
            )
        x = self.writer.lookup(self._word(table), self._word(row), shape[0] - 1)
        return self._reshaped(x, shape[1:], self.shapes[out])
