"""A network as a module of torch: source that needs nothing else, and its numbers.

A network that reads both ways has no step; its source is made of the modules of `torch.nn`.

net = load()                    a `torch.nn.Module` with its weights, from the file beside it
ys, state = net(xs)             a sequence, time first, then batch
y, state = net.step(x, state)   one step; `net.start(batch)` is the state before the first
"""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..cells import Model
from ..errors import BadInput
from ..wiring.program import Equation, Program
from ..wiring.stepping import plain
from ..wiring.torch_weights import to_torch
from .loops import unknown
from .primitives import PRIMITIVES
from .template import fill, template
from .tensors import Writer, typed, write

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
        "sizes": _sizes(program),
        "numbers": "\n".join(fixed),
        "starts": starts + "," if before else "",
        "step": "\n".join([*unpacked, *lines.lines, f"return {y}, [{', '.join(state)}]"]),
    }
    return _source("module_step.py.txt", about, words), numbers


def _source(body: str, about: str, words: Mapping[str, Any]) -> str:
    """The source of a module: the body of its class, with words at their places.

    It begins with where the network is from, and ends with a function that loads it.
    """
    plain_about = " ".join(about.replace("\\", "/").replace('"', "'").split())
    every = {"about": plain_about or "A network.", "body": fill(template(body), words)}
    return fill(template("module.py.txt"), every)


def modules(network: Model, about: str = "") -> tuple[str, dict[str, Any]]:
    """A network without a step as the source of a module, and its numbers by name.

    Args:
        network: a table of symbols, if it reads symbols, layers that `torch.nn` has, and a dense
            readout, if it has one.
        about: where the network is from, in a line.
    """
    encoding, cell, readout = plain(network).parts()
    if cell is None:
        raise BadInput(f"torch.nn has no module for {type(network).__name__}")
    try:
        body = to_torch(cell)
    except BadInput as error:
        reason = str(error).partition("; ")[0]
        raise BadInput(
            f"the network reads both ways, and {reason}; a GRU needs --reset after; --to onnx "
            "writes any of them"
        ) from None
    numbers = {f"cell.{key}": x.numpy() for key, x in body.state_dict().items()}
    lines, x, y = [f"self.cell = torch.nn.{body!r}"], "xs", "ys"
    width = body.hidden_size * (2 if body.bidirectional else 1)
    inputs, outputs, symbols = body.input_size, width, None
    if encoding is not None:
        inputs, symbols, x = 1, encoding.symbols, "self.table(xs)"
        table = np.asarray(encoding(jnp.arange(symbols), jnp.float32))
        numbers["table.weight"] = table
        lines.append(f"self.table = torch.nn.Embedding({table.shape[0]}, {table.shape[1]})")
    if readout is not None:
        V, b = _dense(readout, width)
        outputs, y = len(b), "self.readout(ys)"
        numbers |= {"readout.weight": V, "readout.bias": b}
        lines.append(f"self.readout = torch.nn.Linear({width}, {outputs})")
    words = {
        "sizes": f"{inputs}, {outputs}, {symbols}",
        "modules": "\n".join(lines),
        "x": x,
        "y": y,
    }
    return _source("module_both_ways.py.txt", about, words), numbers


def _dense(readout: Any, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The weights of a readout, by what it makes of unit vectors; refuses what is not linear."""
    b = np.asarray(readout(jnp.zeros(width, jnp.float32)))
    V = np.asarray(readout(jnp.eye(width, dtype=jnp.float32))) - b
    h = np.random.default_rng(0).normal(size=width).astype(np.float32)
    if not np.allclose(h @ V + b, readout(jnp.asarray(h)), rtol=1e-4, atol=1e-5):
        raise BadInput(f"torch.nn has no readout like {type(readout).__name__}")
    return np.ascontiguousarray(V.T), b


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
        if name not in PRIMITIVES:
            raise unknown(name)
        return self.line(PRIMITIVES[name].torch.format(*given))

    def _largest(self, name: str, given: list[str]) -> str:
        one, two = sorted(given, key=self.plain.__contains__)
        if two in self.plain:
            return f"{one}.clamp({'min' if name == 'max' else 'max'}={two})"
        return PRIMITIVES[name].torch.format(one, two)

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
