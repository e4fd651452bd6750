"""A network as C99, which is also C++: one header, no allocation, only `math.h` and `stdint.h`.

    NAME_state                  the state, a struct of arrays
    NAME_start(&state)          the state before the first step
    NAME_step(&state, x, y)     one step: a vector x, or a symbol; the output goes to y

Weights that a step multiplies by stand in blocks of 32 outputs, so that a product reads them from
the first to the last. Compilers with GCC's vectors (GCC, Clang) keep the sums of a block in vector
registers; others are given plain loops. With `bits=8` each such weight is a whole number from -127
to 127 times a factor of its output.
"""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import BadInput
from ..wiring.program import Program
from .code import Language, Printer
from .loops import Loops, Read, affine
from .lowering import loops_of
from .primitives import PRIMITIVES
from .template import fill, template

WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
PER_LINE = 8
WIDE, NARROW = 32, 8  # outputs in a block of weights


def literal(value: Any) -> str:
    """A constant of C, which is read back as the same number."""
    if not isinstance(value, float | np.floating):
        return str(int(value))
    single = np.float32(value)
    if not np.isfinite(single):
        return "NAN" if np.isnan(single) else "INFINITY" if single > 0 else "-INFINITY"
    plain = single == 0 or 1e-4 <= abs(float(single)) < 1e6
    write = np.format_float_positional if plain else np.format_float_scientific
    return f"{write(single, unique=True, trim='0')}f"


def language(name: str) -> Language:
    """C, with the functions of a header of this name."""
    functions = {f: x.c.replace("@name@", name) for f, x in PRIMITIVES.items()}
    functions["clamp"] = f"{name}_row({{}}, {{}})"
    infix = {"add": "+", "sub": "-", "mul": "*"}
    whole = {
        **{f: f"(int)((unsigned)({{}}) {sign} (unsigned)({{}}))" for f, sign in infix.items()},
        "max": "({0} > {1} ? {0} : {1})",
        "min": "({0} < {1} ? {0} : {1})",
        "abs": "({0} < 0 ? -{0} : {0})",
    }
    convert = {"float": "(float)({})", "int": "(int)({})"}
    return Language("int", "float", functions, whole, literal, convert, "state->s{}")


def header(program: Program, name: str = "net", bits: int = 32) -> str:
    """A program as a C header.

    Args:
        program: see `trace`.
        name: with which all names of the header begin.
        bits: of a weight, 32 or 8.

    Example:
        >>> from ostinato.wiring.program import trace
        >>> code = header(trace(ostinato.cells.Simple(3, 4, key=jax.random.key(0))), "tiny")
        >>> "static inline void tiny_step(tiny_state *state, const float *x, float *y)" in code
        True
    """
    if not WORD.fullmatch(name):
        raise BadInput(f"a name in C is letters, digits and _, got {name!r:.40}")
    if bits not in (8, 32):
        raise BadInput(f"weights have 8 or 32 bits, got {bits!r:.40}")
    return _Header(loops_of(program), name, bits).text()


class _Header:
    def __init__(self, loops: Loops, name: str, bits: int):
        self.loops, self.name, self.bits = loops, name, bits
        self.fixed: list[str] = []  # declarations of constants
        self.printer = Printer(language(name), loops, f"{name}_")

    def text(self) -> str:
        program, step = self.loops.program, "\n".join(self._step())
        for number, values in self.loops.constants.items():
            kept = self.printer.name(number)
            if re.search(rf"\b{kept}\b", step):
                self.fixed.append(_array(kept, values))
        for table, places in self.printer.tables.items():
            self.fixed.append(_array(table, places))
        symbols = program.symbols
        vectors = symbols is None
        words = {
            "name": self.name,
            "NAME": self.name.upper(),
            "reads": "INPUTS" if vectors else "SYMBOLS",
            "count": program.inputs if vectors else symbols,
            "outputs": program.outputs,
            "state": "\n".join(self._struct()),
            "functions": _functions(step, self.name),
            "constants": "\n".join(self.fixed),
            "start": "\n".join(self._start()),
            "x": "const float *x" if vectors else "int symbol",
            "step": step,
        }
        return fill(template("header.h"), words)

    def _struct(self) -> Iterator[str]:
        yield "typedef struct {"
        program = self.loops.program
        for n, number in enumerate(program.state):
            kind = _type(self.loops.dtypes[number])
            yield f"  {kind} s{n}[{max(self.loops.sizes[number], 1)}];"
        if not program.state:
            yield "  char none;"
        yield f"}} {self.name}_state;"

    def _start(self) -> Iterator[str]:
        yield f"static inline void {self.name}_start({self.name}_state *state) {{"
        for n, values in enumerate(self.loops.program.start):
            flat = values.ravel()
            if (flat == flat[:1]).all():
                value = literal(flat[0]) if flat.size else "0"
                yield f"  for (int i = 0; i < {max(flat.size, 1)}; i++) state->s{n}[i] = {value};"
            else:
                yield "  " + _array(f"start{n}", flat)
                yield f"  for (int i = 0; i < {flat.size}; i++) state->s{n}[i] = start{n}[i];"
        if not self.loops.program.state:
            yield "  state->none = 0;"
        yield "}"

    def _step(self) -> Iterator[str]:
        program, loops = self.loops.program, self.loops
        if not program.state:
            yield "(void)state;"
        if program.symbols is not None:
            yield "const int x[1] = {symbol};"
        written: set[int] = set()
        for loop in loops.loops:
            factors = loop.factors(loops.constants)
            if loop.out not in written:
                written.add(loop.out)
                size = loops.sizes[loop.out]
                size = size if factors is None else _padded(size)
                yield f"{_type(loops.dtypes[loop.out])} {self.printer.name(loop.out)}[{size}];"
            if factors is None:
                yield from loop.lines(self.printer)
            else:
                yield from self._product(loop.out, *factors)
        yield from self.printer.copy(loops.y, "y")
        for n, read in enumerate(loops.state):
            yield from self.printer.copy(read, f"state->s{n}")

    def _product(self, product: int, vector: Read, weights: Read) -> Iterator[str]:
        """A vector times constant weights, in blocks."""
        columns, rows = weights.places.shape
        matrix = self.loops.constants[weights.value][weights.places].T  # (rows, columns)
        name = f"{self.name}_w{len(self.fixed)}"
        index = affine(vector.places[0])
        assert index is not None
        offset = f" + {index[0]}" if index[0] else ""
        x, out = f"{self.printer.name(vector.value)}{offset}", self.printer.name(product)
        if self.bits == 8:
            factors = np.abs(matrix).max(axis=0) / 127
            factors = np.where(factors > 0, factors, 1).astype(np.float32)
            matrix = np.rint(matrix / factors).astype(np.int8)
        wide = columns // WIDE * WIDE
        blocks = [matrix[:, n : n + WIDE] for n in range(0, wide, WIDE)]
        narrow = [_widened(matrix[:, n : n + NARROW]) for n in range(wide, columns, NARROW)]
        packed = np.concatenate([block.ravel() for block in [*blocks, *narrow]])
        self.fixed.append(_array(name, packed, f" {self.name}_ALIGNED"))
        counts = f"{len(blocks)}, {len(narrow)}"
        yield f"{self.name}_product({out}, {x}, {name}, {rows}, {counts});"
        if self.bits == 8:
            self.fixed.append(_array(f"{name}_factors", factors))
            yield f"for (int i = 0; i < {columns}; i++) {out}[i] *= {name}_factors[i];"


def _functions(step: str, name: str) -> str:
    """The functions that a step calls, of which the product is for weights of one kind."""
    words = {"name": name, "registers": _registers(name)}
    functions = fill(template("functions.c"), words)
    if "_product(" not in step:
        return functions
    if "_factors" in step:
        words["rows"] = " ".join(f"{name}_ADD(s, x[k + {n}], w[j + {WIDE * n}]);" for n in range(8))
        words |= {"kind": "signed char", "block": fill(template("product_bytes.c"), words)}
    else:
        functions += fill(template("vectors.c"), words)
        words |= {"kind": "float", "block": fill(template("product_floats.c"), words)}
    return functions + fill(template("product.c"), words)


def _registers(name: str) -> str:
    """A block, its sums in variables."""
    places = range(WIDE)
    lines = [f"float {', '.join(f'a{n} = 0' for n in places)};"]
    lines += ["for (int k = 0; k < rows; k++, w += 32) {", "  const float h = x[k];"]
    lines += ["  " + "; ".join(f"{name}_ADD(a{n}, h, w[{n}])" for n in places) + ";", "}"]
    lines += ["; ".join(f"y[{n}] = a{n}" for n in places) + ";"]
    return "\n".join(lines)


def _type(dtype: np.dtype) -> str:
    return "float" if dtype.kind == "f" else "int"


def _array(name: str, values: np.ndarray, align: str = "") -> str:
    kind = {"f": "float", "i": "int", "u": "int", "b": "int"}[values.dtype.kind]
    kind = "signed char" if values.dtype == np.int8 else kind
    words = (
        [literal(x) for x in values.ravel().tolist()]
        if kind != "float"
        else [literal(np.float32(x)) for x in values.ravel()]
    )
    lines = [", ".join(words[n : n + PER_LINE]) for n in range(0, len(words), PER_LINE)]
    return f"static const {kind} {name}[{len(words)}]{align} = {{\n  " + ",\n  ".join(lines) + "};"


def _padded(size: int) -> int:
    return -(-size // NARROW) * NARROW


def _widened(block: np.ndarray) -> np.ndarray:
    return np.pad(block, ((0, 0), (0, NARROW - block.shape[1])))
