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

WIDE, NARROW = 32, 8  # outputs in a block
WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
PER_LINE = 8


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
    functions = {
        **{f: f"{f}f({{}})" for f in ("cos", "erf", "exp", "expm1", "log", "log1p", "sin", "sqrt")},
        "tan": "tanf({})",
        "floor": "floorf({})",
        "ceil": "ceilf({})",
        "abs": "fabsf({})",
        "tanh": f"{name}_tanh({{}})",
        "logistic": f"{name}_logistic({{}})",
        "neg": "(-{})",
        "max": "fmaxf({}, {})",
        "min": "fminf({}, {})",
        "pow": "powf({}, {})",
        "sign": f"{name}_sign({{}})",
        "square": f"{name}_square({{}})",
        "not": "(!{})",
        "rsqrt": "(1.0f / sqrtf({}))",
        "round": "rintf({})",
        "is_finite": "(isfinite({}) != 0)",
        "clamp": f"{name}_row({{}}, {{}})",
    }
    convert = {"float": "(float)({})", "int": "(int)({})"}
    return Language("int", "float", functions, literal, convert)


HELPERS = """\
static inline float NAME_square(float x) { return x * x; }

static inline float NAME_sign(float x) { return (float)((x > 0) - (x < 0)); }

static inline int NAME_row(int row, int last) { return row < 0 ? 0 : row > last ? last : row; }

/* x between -c and c, in the form that a compiler makes vectors of. */
static inline float NAME_limit(float x, float c) {
#ifdef __SSE2__
  const float y = x < c ? x : c;
  return y > -c ? y : -c;
#else
  return fminf(fmaxf(x, -c), c);
#endif
}

#ifdef FP_FAST_FMAF
#define NAME_FMA(x, y, z) fmaf(x, y, z)
#else
#define NAME_FMA(x, y, z) ((x) * (y) + (z))
#endif
#define NAME_ADD(sum, x, w) (sum) = NAME_FMA(x, w, sum)

/* tanh as a quotient of polynomials, with an error of a few units in the last place. */
static inline float NAME_tanh(float x) {
  const float z = NAME_limit(x, 7.9053111f);
  const float s = z * z;
  float p = -2.76076847742355e-16f, q = 1.19825839466702e-06f;
  p = NAME_FMA(p, s, 2.00018790482477e-13f);
  p = NAME_FMA(p, s, -8.60467152213735e-11f);
  p = NAME_FMA(p, s, 5.12229709037114e-08f);
  p = NAME_FMA(p, s, 1.48572235717979e-05f);
  p = NAME_FMA(p, s, 6.37261928875436e-04f);
  p = NAME_FMA(p, s, 4.89352455891786e-03f);
  q = NAME_FMA(q, s, 1.18534705686654e-04f);
  q = NAME_FMA(q, s, 2.26843463243900e-03f);
  q = NAME_FMA(q, s, 4.89352518554385e-03f);
  const float y = z * p / q;
  return isnan(x) ? x : y;
}

/* 1 / (1 + exp(-x)), with exp(z) = 2^n exp(r) and a polynomial for exp(r). */
static inline float NAME_logistic(float x) {
  const float z = NAME_limit(-x, 87.0f);
  /* to the nearest whole number */
  const float n = NAME_FMA(z, 1.44269504f, 12582912.0f) - 12582912.0f;
  const float r = NAME_FMA(n, 2.12194440e-4f, NAME_FMA(n, -0.693359375f, z));
  float p = 1.9875691500e-4f;
  union { int32_t bits; float value; } power;
  p = NAME_FMA(p, r, 1.3981999507e-3f);
  p = NAME_FMA(p, r, 8.3334519073e-3f);
  p = NAME_FMA(p, r, 4.1665795894e-2f);
  p = NAME_FMA(p, r, 1.6666665459e-1f);
  p = NAME_FMA(p, r, 5.0000001201e-1f);
  p = NAME_FMA(p * r, r, r) + 1.0f;
  power.bits = ((int32_t)n + 127) << 23;
  const float y = 1.0f / (1.0f + p * power.value);
  return isnan(x) ? x : y;
}
"""


RESTRICT = ("#ifdef __cplusplus", "#define restrict __restrict", "#endif")


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
        self.kept = {n: f"{name}_c{k}" for k, n in enumerate(loops.constants)}
        self.states = {n: f"state->s{k}" for k, n in enumerate(loops.program.state)}
        self.printer = Printer(language(name), loops.dtypes, loops.constants, self._called)

    def _called(self, number: int) -> str:
        if number < 0:
            return f"{self.name}_places"
        if number == self.loops.program.x:
            return "x"
        known = self.kept.get(number) or self.states.get(number)
        return known or f"v{number}"

    def text(self) -> str:
        program, step = self.loops.program, [*self._step()]
        used = "\n".join(step)
        for number, values in self.loops.constants.items():
            if re.search(rf"\b{self.kept[number]}\b", used):
                self.fixed.append(_array(self.kept[number], values))
        for table, places in self.printer.tables.items():
            self.fixed.append(_array(table, places))
        x = "int symbol" if program.symbols is not None else "const float *x"
        symbols = program.symbols
        lines = [
            f"#ifndef {self.name.upper()}_H",
            f"#define {self.name.upper()}_H",
            "",
            "#include <math.h>",
            "#include <stdint.h>",
            "",
            *RESTRICT,
            "",
            *([f"#define {self.name.upper()}_SYMBOLS {symbols}"] if symbols is not None else []),
            *([f"#define {self.name.upper()}_INPUTS {program.inputs}"] if symbols is None else []),
            f"#define {self.name.upper()}_OUTPUTS {program.outputs}",
            "",
            *self._struct(),
            "",
            (HELPERS + _products(used)).replace("NAME", self.name),
            *self.fixed,
            "",
            *self._start(),
            "",
            f"static inline void {self.name}_step({self.name}_state *state, {x}, float *y) {{",
            *(f"  {line}" for line in step),
            "}",
            "",
            "#ifdef __cplusplus",
            "#undef restrict",
            "#endif",
            "",
            "#endif",
            "",
        ]
        return "\n".join(lines)

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
                yield "  " + _array("start", flat)
                yield f"  for (int i = 0; i < {flat.size}; i++) state->s{n}[i] = start[i];"
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
                yield f"{_type(loops.dtypes[loop.out])} {self._called(loop.out)}[{size}];"
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
        found = affine(vector.places[0])
        assert found is not None
        offset = f" + {found[0]}" if found[0] else ""
        x, out = f"{self._called(vector.value)}{offset}", self._called(product)
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


def _products(step: str) -> str:
    """The function that multiplies, for blocks of both widths."""
    if "_product(" not in step:
        return ""
    kind, block = ("signed char", IN_MEMORY) if "_factors" in step else ("float", IN_VECTORS)
    vectors = VECTORS if block is IN_VECTORS else ""
    made = PRODUCT.replace("BLOCK", block.replace("ROWS", _rows()))
    return vectors + made.replace("REGISTERS", _registers()).replace("KIND", kind)


def _registers() -> str:
    """A block, its sums in variables."""
    places = range(WIDE)
    lines = [f"float {', '.join(f'a{n} = 0' for n in places)};"]
    lines += ["for (int k = 0; k < rows; k++, w += 32) {", "  const float h = x[k];"]
    lines += ["  " + "; ".join(f"NAME_ADD(a{n}, h, w[{n}])" for n in places) + ";", "}"]
    lines += ["; ".join(f"y[{n}] = a{n}" for n in places) + ";"]
    return "\n    ".join(lines)


def _rows() -> str:
    """What eight rows add to a sum."""
    return " ".join(f"NAME_ADD(s, x[k + {n}], w[j + {WIDE * n}]);" for n in range(8))


# All forms read the weights from the first to the last. With vectors, eight sums go on side by
# side, and those of the same outputs are added at the end: no product waits for another's sum.
VECTORS = """
#ifdef __SSE2__
#if defined __AVX512F__
#define NAME_LANES 16
#elif defined __AVX__
#define NAME_LANES 8
#else
#define NAME_LANES 4
#endif
typedef float NAME_vector __attribute__((vector_size(4 * NAME_LANES), aligned(4), may_alias));
#define NAME_SUM(n) a##n += x[k + n * NAME_LANES / 32] * ((const NAME_vector *)w)[n]
#define NAME_PUT(n) ((NAME_vector *)y)[n] = a##n
#endif
"""
IN_VECTORS = """\
    NAME_vector a0 = {0}, a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0;
    int k = 0;
    for (; k + NAME_LANES / 4 <= rows; k += NAME_LANES / 4, w += 8 * NAME_LANES) {
      NAME_SUM(0), NAME_SUM(1), NAME_SUM(2), NAME_SUM(3);
      NAME_SUM(4), NAME_SUM(5), NAME_SUM(6), NAME_SUM(7);
    }
#if NAME_LANES > 4
    a0 += a4, a1 += a5, a2 += a6, a3 += a7;
#endif
#if NAME_LANES > 8
    a0 += a2, a1 += a3;
#endif
    NAME_PUT(0), NAME_PUT(1);
#if NAME_LANES < 16
    NAME_PUT(2), NAME_PUT(3);
#endif
#if NAME_LANES < 8
    NAME_PUT(4), NAME_PUT(5), NAME_PUT(6), NAME_PUT(7);
#endif"""
IN_MEMORY = """\
    int k = 0;
    for (int j = 0; j < 32; j++) y[j] = 0;
    for (; k + 8 <= rows; k += 8, w += 256)
      for (int j = 0; j < 32; j++) {
        float s = y[j];
        ROWS
        y[j] = s;
      }"""
PRODUCT = """
#ifdef __GNUC__
#define NAME_ALIGNED __attribute__((aligned(64)))
#else
#define NAME_ALIGNED
#endif

static inline void NAME_product(float *restrict y, const float *restrict x, const KIND *restrict w,
                                int rows, int wide, int narrow) {
  for (int n = 0; n < wide; n++, y += 32) {
#ifdef __SSE2__
BLOCK
    for (; k < rows; k++, w += 32)
      for (int j = 0; j < 32; j++) NAME_ADD(y[j], x[k], w[j]);
#else
    REGISTERS
#endif
  }
  for (int n = 0; n < narrow; n++, y += 8) {
    float a[8];
    for (int j = 0; j < 8; j++) a[j] = 0;
    for (int k = 0; k < rows; k++, w += 8)
      for (int j = 0; j < 8; j++) NAME_ADD(a[j], x[k], w[j]);
    for (int j = 0; j < 8; j++) y[j] = a[j];
  }
}
"""
