"""A network as JavaScript: one function, which runs in any browser and in Node.

    const net = make();                a network, with its weights
    const state = net.start();         the state before the first step, a list of arrays
    const y = net.step(state, x);      one step: a vector x, or a symbol; changes the state

Numbers are kept in float32 and computed with as float64.
"""

import base64
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..wiring.program import Program
from .code import Language, Printer
from .loops import Loops
from .lowering import loops_of
from .primitives import PRIMITIVES
from .template import fill, template

FUNCTIONS = {name: one.javascript for name, one in PRIMITIVES.items()}
FUNCTIONS["clamp"] = "Math.max(0, Math.min({}, {}))"


def literal(value: Any) -> str:
    """A constant of JavaScript, which is read back as the same number."""
    if isinstance(value, float | np.floating):
        if not np.isfinite(value):
            return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return repr(float(value))
    return str(int(value))


LANGUAGE = Language(
    "let",
    "let",
    FUNCTIONS,
    {"add": "({} + {} | 0)", "sub": "({} - {} | 0)", "mul": "Math.imul({}, {})"},
    literal,
    {"float": "Number({})", "int": "Math.trunc({})"},
    "state[{}]",
)


def function(program: Program, name: str = "make") -> str:
    """A program as a function of JavaScript that makes the network.

    Args:
        program: see `trace`.
        name: of the function.

    Example:
        >>> from ostinato.wiring.program import trace
        >>> code = function(trace(ostinato.cells.Simple(3, 4, key=jax.random.key(0))))
        >>> code.splitlines()[0]
        'function make() {'
    """
    loops = loops_of(program)
    printer = Printer(LANGUAGE, loops)
    step = "\n".join(_step(loops, printer))
    symbolic = program.symbols is not None
    words = {
        "name": name,
        "numbers": "\n".join(_numbers(loops, printer)),
        "inputs": 1 if symbolic else program.inputs,
        "symbols": program.symbols if symbolic else "null",
        "outputs": program.outputs,
        "start": "\n".join(f"{packed(values.ravel())}," for values in program.start),
        "step": step,
    }
    return fill(template("network.js"), words)


def _array(dtype: np.dtype) -> str:
    return "Float32Array" if dtype.kind == "f" else "Int32Array"


def packed(values: np.ndarray) -> str:
    """Numbers as an expression of JavaScript: the bytes of a typed array in base 64."""
    kind = np.dtype("<f4") if values.dtype.kind == "f" else np.dtype("<i4")
    words = base64.b64encode(values.astype(kind).tobytes()).decode()
    return f'unpack("{words}", {_array(kind)})'


def _numbers(loops: Loops, printer: Printer) -> Iterator[str]:
    """The constants, and the arrays that the step writes."""
    for number, values in loops.constants.items():
        yield f"const {printer.name(number)} = {packed(values)};"
    for table, places in printer.tables.items():
        yield f"const {table} = {packed(places)};"
    for number in dict.fromkeys(loop.out for loop in loops.loops):
        kind, size = _array(loops.dtypes[number]), loops.sizes[number]
        yield f"const {printer.name(number)} = new {kind}({size});"


def _step(loops: Loops, printer: Printer) -> Iterator[str]:
    if loops.program.symbols is not None:
        yield "x = [x];"
    for loop in loops.loops:
        yield from loop.lines(printer)
    yield f"const y = new {_array(loops.dtypes[loops.program.y])}({loops.program.outputs});"
    yield from printer.copy(loops.y, "y")
    for n, read in enumerate(loops.state):
        kind = _array(loops.dtypes[loops.program.state[n]])
        yield f"const next{n} = new {kind}({read.places.size});"
        yield from printer.copy(read, f"next{n}")
    for n in range(len(loops.state)):
        yield f"state[{n}] = next{n};"
    yield "return y;"
