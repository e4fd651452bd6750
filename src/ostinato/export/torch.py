"""A network as a module of torch: source that needs nothing else, and its numbers.

net = load()                    a `torch.nn.Module` with its weights, from the file beside it
ys, state = net(xs)             a sequence, time first, then batch
y, state = net.step(x, state)   one step; `net.start(batch)` is the state before the first
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..wiring.program import Equation, Program
from .code import INFIX
from .loops import unknown
from .tensors import Writer, typed, write

SAME = {  # functions that torch calls as JAX does
    *("abs", "ceil", "cos", "erf", "exp", "expm1", "floor", "log", "log1p", "neg", "round"),
    *("rsqrt", "sign", "sin", "sqrt", "square", "tan", "tanh"),
}
NAMES = {"logistic": "sigmoid", "is_finite": "isfinite", "not": "logical_not", "pow": "pow"}
TYPES = {"f": "torch.float32", "b": "torch.bool"}


def module(program: Program, about: str = "") -> tuple[str, dict[str, Any]]:
    """A program as the source of a module, and its numbers by name.

    Args:
        program: see `trace`.
        about: where the network is from, in a line.

    Example:
        >>> from ostinato.wiring.program import trace
        >>> source, numbers = module(trace(ostinato.cells.Simple(3, 4, key=jax.random.key(0))))
        >>> [line.strip() for line in source.splitlines() if "self.c2" in line]
        ['v2 = s0 @ self.c2']
    """
    lines = _Lines()
    before = [f"s{n}" for n in range(len(program.state))]
    state, y = write(program, lines, "x", before)
    numbers = lines.numbers | {f"start{n}": typed(x) for n, x in enumerate(program.start)}
    fixed = [f"({n!r}, {list(x.shape)}, {_type(x.dtype)})," for n, x in numbers.items()]
    unpacked = [f"({', '.join(before)},) = state"] if before else []
    starts = ", ".join(f"self.start{n}" for n in range(len(before)))
    words = {
        "SIZES": _sizes(program),
        "NUMBERS": "\n            ".join(fixed),
        "STARTS": starts + "," if before else "",
        "STEP": "\n        ".join([*unpacked, *lines.lines, f"return {y}, [{', '.join(state)}]"]),
    }
    return source(BODY, about, words), numbers


def source(body: str, about: str, words: Mapping[str, str]) -> str:
    """The source of a module: the body of its class, with words at their places.

    It begins with where the network is from, and ends with a function that loads it.
    """
    plain = " ".join(about.replace("\\", "/").replace('"', "'").split())
    every = {"ABOUT": plain or "A network.", **words}
    whole = BEGIN + body + END
    return re.sub(r"@([A-Z]+)@", lambda place: every[place[1]], whole)


BEGIN = '''\
"""@ABOUT@"""

import torch


class Net(torch.nn.Module):
'''
BODY = '''\
    """`ys, state = net(xs)`, with time first and then batch."""

    inputs, outputs, symbols = @SIZES@

    def __init__(self):
        super().__init__()
        numbers = [
            @NUMBERS@
        ]
        for name, shape, kind in numbers:
            self.register_buffer(name, torch.zeros(shape, dtype=kind))

    def start(self, batch):
        """The state before the first step."""
        return [x.expand(batch, *x.shape) for x in (@STARTS@)]

    def forward(self, xs, state=None):
        """A sequence: outputs of all steps, and the state after the last."""
        state, ys = self.start(xs.shape[1]) if state is None else state, []
        for x in xs:
            y, state = self.step(x, state)
            ys.append(y)
        return torch.stack(ys), state

    def step(self, x, state):
        """One step: `(y, state)`."""
        @STEP@
'''
END = '''

def load(path=None):
    """The network with its weights, which by default are in the file beside this one."""
    from safetensors.torch import load_file

    net = Net()
    net.load_state_dict(load_file(path or __file__.removesuffix("py") + "safetensors"))
    return net.eval()
'''


def _sizes(program: Program) -> str:
    inputs = 1 if program.symbols is not None else program.inputs
    return f"{inputs}, {program.outputs}, {program.symbols}"


def _type(dtype: np.dtype) -> str:
    return TYPES.get(dtype.kind, f"torch.{dtype.name}")


class _Lines(Writer):
    """Lines of a step, and the arrays that they read."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.numbers: dict[str, np.ndarray] = {}
        self.plain: set[str] = set()  # constants that stand in the lines themselves

    def line(self, words: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {words}")
        return name

    def constant(self, value: np.ndarray) -> str:
        if value.ndim == 0 and np.isfinite(value) and value.dtype.kind != "b":
            word = repr(value.item())
            self.plain.add(word)
            return word
        name = f"c{len(self.numbers)}"
        self.numbers[name] = value
        return f"self.{name}"

    def spread(self, x: str, shape: tuple[int, ...]) -> str:
        if x in self.plain:
            return self.line(f"torch.full((len(x),), {x})")
        return self.line(f"{x}.expand({', '.join(map(str, ('len(x)', *shape)))})")

    def apply(self, equation: Equation, given: list[str], kind: str) -> str:
        name, params = equation.primitive, equation.params
        if name == "convert_element_type":
            to = TYPES.get(np.dtype(params["new_dtype"]).kind, "torch.int32")
            return self.line(f"{given[0]}.to({to})")
        if name == "select_n" and len(given) == 3:
            return self.line(f"torch.where({given[0]}, {given[2]}, {given[1]})")
        if name == "integer_pow":
            return self.line(f"{given[0]} ** {params['y']}")
        if name in ("max", "min"):
            return self.line(self._largest(name, given))
        if name == "sign":  # torch has 0 for what is no number
            return self.line("torch.where({0} == {0}, torch.sign({0}), {0})".format(*given))
        if name in INFIX:
            return self.line(f"{given[0]} {INFIX[name]} {given[1]}")
        if name not in SAME and name not in NAMES:
            raise unknown(name)
        return self.line(f"torch.{NAMES.get(name, name)}({', '.join(given)})")

    def _largest(self, name: str, given: list[str]) -> str:
        one, two = sorted(given, key=self.plain.__contains__)
        if two in self.plain:
            return f"{one}.clamp({'min' if name == 'max' else 'max'}={two})"
        return f"torch.{name}imum({one}, {two})"

    def product(self, x: str, matrix: str) -> str:
        return self.line(f"{x} @ {matrix}")

    def einsum(self, spec: str, a: str, b: str) -> str:
        return self.line(f"torch.einsum({spec!r}, {a}, {b})")

    def reshape(self, x: str, shape: tuple[int, ...]) -> str:
        return self.line(f"{x}.reshape({', '.join(map(str, ('len(x)', *shape)))})")

    def expand(self, x: str, shape: tuple[int, ...]) -> str:
        return self.line(f"{x}.expand({', '.join(map(str, (-1, *shape)))})")

    def cut(self, x: str, first: int, last: int) -> str:
        return self.line(f"{x}[:, {first}:{last}]")

    def take(self, x: str, places: np.ndarray) -> str:
        return self.line(f"{x}[:, {self.constant(places.astype(np.int64))}]")

    def reduce(self, how: str, x: str, axes: tuple[int, ...], rank: int) -> str:
        over = tuple(axis + 1 for axis in axes)
        if how == "sum":  # of whole numbers torch makes others of 64 bits
            return self.line(f"{x}.sum({over}, dtype={x}.dtype)")
        return self.line(f"{x}.a{how}({over})")

    def join(self, xs: list[str], axis: int, rank: int) -> str:
        return self.line(f"torch.cat([{', '.join(xs)}], {axis + 1})")

    def lookup(self, table: str, row: str, last: int) -> str:
        return self.line(f"{table}[{row}.clamp(0, {last}).long()]")
