"""Loops printed as code: what C and JavaScript have in common, which is nearly all."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import BadInput
from .loops import (
    Apply,
    Expression,
    Lookup,
    Loops,
    Map,
    Read,
    Reduction,
    affine,
    check_numbers,
    unknown,
)


@dataclasses.dataclass(frozen=True)
class Language:
    """What differs from one language to another.

    Attributes:
        index: the declaration of a whole number that changes.
        number: the declaration of a number.
        functions: how a function of one or two numbers is written, `tanhf({})`; an empty text for
            one that cannot be.
        whole: the same of whole numbers of 32 bits, which wrap around, where it is another.
        literal: a constant, from its value.
        convert: a conversion to `"float"` or `"int"`, from the words for the number.
        state: how an array of the state is called, from its place.
    """

    index: str
    number: str
    functions: Mapping[str, str]
    whole: Mapping[str, str]
    literal: Callable[[Any], str]
    convert: Mapping[str, str]
    state: str


class Printer:
    """Prints loops in a language.

    Attributes:
        names: of the constants, the state and the input, by number; other arrays are `v` and it.
        tables: places that follow no rule, which the code must have as constants, by their names.
    """

    def __init__(self, language: Language, loops: Loops, prefix: str = ""):
        """
        Args:
            language: the language.
            loops: what is printed.
            prefix: with which the names of constants begin.
        """
        self.language, self.prefix = language, prefix
        self.dtypes, self.constants = loops.dtypes, loops.constants
        state, x = loops.program.state, loops.program.x
        self.names = {n: f"{prefix}c{k}" for k, n in enumerate(loops.constants)}
        self.names |= {n: language.state.format(k) for k, n in enumerate(state)} | {x: "x"}
        self.tables: dict[str, np.ndarray] = {}

    def name(self, number: int) -> str:
        return self.names.get(number, f"v{number}")

    def copy(self, read: Read, to: str) -> Iterator[str]:
        """`to[i] = read[i]`."""
        places = np.arange(read.places.size).reshape(read.places.shape)
        yield from self._assign(to, places, read)

    def map(self, loop: Map) -> Iterator[str]:
        yield from self._assign(self.name(loop.out), loop.places, loop.expression)

    def _assign(self, to: str, places: np.ndarray, expression: Expression) -> Iterator[str]:
        every = [places, *(read.places for read in expression.reads())]
        axes = _Axes.of(places.shape, every)
        with_indices = f"{to}[{self._place(axes, places)}] = {expression.words(self, axes)};"
        yield from self._nested(axes.names, axes.sizes, [with_indices])

    def _nested(self, names: list[str], sizes: list[int], body: list[str]) -> Iterator[str]:
        for depth, (index, size) in enumerate(zip(names, sizes, strict=True)):
            head = f"for ({self.language.index} {index} = 0; {index} < {size}; {index}++)"
            yield "  " * depth + head + " {"
        depth = len(names)
        yield from ("  " * depth + line for line in body)
        yield from ("  " * n + "}" for n in reversed(range(depth)))

    def number(self, read: Read, axes: "_Axes") -> str:
        values = self.constants.get(read.value)
        if values is not None:
            some = values[read.places.ravel()]
            if some.size and (some == some.flat[0]).all():
                return self.language.literal(some.flat[0])
        return f"{self.name(read.value)}[{self._place(axes, read.places)}]"

    def _place(self, axes: "_Axes", places: np.ndarray) -> str:
        index = affine(places)
        if index is not None:
            return axes.sum(*index)
        table = f"{self.prefix}places{len(self.tables)}"
        for name, known in self.tables.items():
            if np.array_equal(known, places.ravel()):
                table = name
        self.tables[table] = places.ravel()
        return f"{table}[{axes.flat()}]"

    def apply(self, expression: Apply, axes: "_Axes") -> str:
        name, params = expression.primitive, expression.equation.params
        given = [x.words(self, axes) for x in expression.inputs]
        dtype = self.dtypes[expression.equation.inputs[0]]
        if name == "convert_element_type":
            return self._converted(given[0], dtype, np.dtype(params["new_dtype"]))
        if name == "select_n":
            if len(given) != 3:
                raise BadInput("the step selects among more than two values; this is not exported")
            return f"({given[0]} ? {given[2]} : {given[1]})"
        check_numbers(expression.equation, dtype.kind)
        if name == "integer_pow":
            return self._power(given[0], params["y"], dtype.kind)
        if dtype.kind == "i" and name in self.language.whole:
            return self.language.whole[name].format(*given)
        if not self.language.functions[name]:
            raise unknown(name)
        return self.language.functions[name].format(*given)

    def _power(self, x: str, power: int, kind: str) -> str:
        if not 1 <= power <= 4:
            raise BadInput(f"the step has the power {power}, which cannot be exported; 1 to 4 can")
        if kind == "i":
            return functools.reduce(self.language.whole["mul"].format, [x] * power)
        return "(" + " * ".join([x] * power) + ")"

    def _converted(self, x: str, old: np.dtype, new: np.dtype) -> str:
        if new.kind == "b":
            return f"({x} != 0)"
        kinds = {"f": "float", "i": "int", "u": "int"}
        same = kinds.get(old.kind) == kinds[new.kind]
        return x if same else self.language.convert[kinds[new.kind]].format(x)

    def reduction(self, loop: Reduction) -> Iterator[str]:
        places = [term.places for term in loop.terms]
        shape = places[0].shape
        outer_shape, inner_shape = shape[: loop.outer], shape[loop.outer :]
        own = np.arange(int(np.prod(outer_shape, dtype=int))).reshape(outer_shape)
        outer = _Axes.of(
            outer_shape, [own, *(p.reshape(*outer_shape, -1)[..., 0] for p in places)], "i"
        )
        inner = _Axes.of(inner_shape, [p.reshape(-1, *inner_shape)[0] for p in places], "k")
        terms = []
        for term in loop.terms:
            index = affine(term.places)
            assert index is not None
            offset, strides = index
            place = " + ".join(
                words
                for words in (
                    outer.sum(offset, strides[: loop.outer]),
                    inner.sum(0, strides[loop.outer :]),
                )
                if words != "0"
            )
            terms.append(f"{self.name(term.value)}[{place or '0'}]")
        declared, begin, add = self._accumulated(loop, terms)
        body = [
            f"{declared} sum = {self.language.literal(begin)};",
            *self._nested(inner.names, inner.sizes, [add]),
            f"{self.name(loop.out)}[{self._place(outer, own)}] = sum;",
        ]
        body = body if outer.names else ["{", *body, "}"]
        yield from self._nested(outer.names, outer.sizes, body)

    def _accumulated(self, loop: Reduction, terms: list[str]) -> tuple[str, Any, str]:
        """What a sum is, where it begins, and how the product of some terms is added to it."""
        language, x = self.language, " * ".join(terms)
        if self.dtypes[loop.out].kind == "i":
            functions = {**language.functions, **language.whole}
            x = functools.reduce(functions["mul"].format, terms)
            begin = {"sum": 0, "max": -(2**31), "min": 2**31 - 1}[loop.how]
            how = "add" if loop.how == "sum" else loop.how
            return language.index, np.int32(begin), f"sum = {functions[how].format('sum', x)};"
        if loop.how == "sum":
            return language.number, np.float32(0), f"sum += {x};"
        lowest = np.float32(-np.inf if loop.how == "max" else np.inf)
        return language.number, lowest, f"sum = {language.functions[loop.how].format('sum', x)};"

    def lookup(self, loop: Lookup) -> Iterator[str]:
        rows = []
        for read, stride, last in loop.rows:
            index = read.words(self, _Axes.of((), []))
            rows.append(f"{stride} * {self.language.functions['clamp'].format(index, last)}")
        own = np.arange(loop.places.size).reshape(loop.places.shape)
        axes = _Axes.of(loop.places.shape, [own, loop.places])
        row = " + ".join([*rows, self._place(axes, loop.places)])
        body = f"{self.name(loop.out)}[{self._place(axes, own)}] = {self.name(loop.table)}[{row}];"
        yield from self._nested(axes.names, axes.sizes, [body])


@dataclasses.dataclass(frozen=True)
class _Axes:
    """The indices of nested loops: axes of size 1 are left out, and those that can be are joined.

    Attributes:
        names: of the indices, the slowest first.
        sizes: how far each goes.
        kept: for each index, the axes of the original loop that it stands for.
        shape: of the original loop.
    """

    names: list[str]
    sizes: list[int]
    kept: list[list[int]]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, shape: tuple[int, ...], places: list[np.ndarray], letter: str = "i") -> "_Axes":
        strides = [index[1] for index in map(affine, places) if index is not None]
        if len(strides) < len(places):  # a table is read in the order of the loop
            own = affine(np.arange(int(np.prod(shape, dtype=int))).reshape(shape))
            assert own is not None
            strides.append(own[1])
        groups: list[list[int]] = []
        for axis, size in enumerate(shape):
            if size == 1:
                continue
            before = groups[-1][-1] if groups else None
            joins = before is not None and all(s[before] == s[axis] * size for s in strides)
            if joins:
                groups[-1].append(axis)
            else:
                groups.append([axis])
        sizes = [int(np.prod([shape[n] for n in group])) for group in groups]
        names = [letter if n == 0 else f"{letter}{n}" for n in range(len(groups))]
        return cls(names, sizes, groups, shape)

    def sum(self, offset: int, strides: tuple[int, ...]) -> str:
        """`offset + stride * i + …`."""
        terms = []
        for name, group in zip(self.names, self.kept, strict=True):
            stride = strides[group[-1]]
            if stride:
                terms.append(name if stride == 1 else f"{stride} * {name}")
        if offset or not terms:
            terms.append(str(offset))
        return " + ".join(terms)

    def flat(self) -> str:
        """The number of the turn, counted through all loops."""
        strides = [1]
        for size in reversed(self.shape[1:]):
            strides.append(strides[-1] * size)
        return self.sum(0, tuple(reversed(strides[: len(self.shape)])))
