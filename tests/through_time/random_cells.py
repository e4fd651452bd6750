"""Random small cells over all dtypes, and the plain loop of steps that `unroll` must equal."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from ostinato.cells import Cell

UNITS, BATCH, STEPS = 2, 2, 3
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint32", "uint64", "bool")
COMPLEX = ("complex64", "complex128")
FULL = ("float32", "float64")
LOW = ("float16", "bfloat16")
DTYPES = (*FULL, *FULL, *LOW, *COMPLEX, *INTEGERS)  # what learns is drawn more often
SIZES = st.integers(-6, 6).map(lambda n: n / 4)
NUMBERS = st.lists(SIZES, min_size=UNITS * UNITS, max_size=UNITS * UNITS)


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A cell in words.

    Attributes:
        inputs: dtype of the inputs.
        states: dtypes of the arrays of the state.
        weights: dtypes and entries of the matrices.
        code: instructions `(name, first operand, second operand)`; each makes one more value out
            of those before it, of which the first ones are the input and the states.
        promotes: the last part of the state keeps the dtype that it comes to.
        weak: the initial state has no dtype of its own where it can be so.
    """

    inputs: str
    states: tuple[str, ...]
    weights: tuple[tuple[str, tuple[float, ...]], ...]
    code: tuple[tuple[str, int, int], ...]
    promotes: bool = False
    weak: bool = False


@st.composite
def recipes(draw, dtypes=DTYPES) -> Recipe:
    """Every cell has a product with its state, and each value of its code is used."""
    dtype = st.sampled_from(dtypes)
    states = draw(st.lists(dtype, min_size=1, max_size=3))
    weights = draw(st.lists(st.tuples(dtype, NUMBERS.map(tuple)), min_size=1, max_size=3))
    names = st.sampled_from(("product", "product", "weight first", "add", "times", "where", "bend"))
    code = [("product", draw(st.integers(1, len(states))), draw(st.integers(0, 9)))]
    for _ in range(draw(st.integers(0, 5))):
        code.append((draw(names), draw(st.integers(0, 9)), draw(st.integers(0, 9))))
    rarely = st.integers(0, 9).map(lambda n: n == 0)
    return Recipe(
        draw(dtype), tuple(states), tuple(weights), tuple(code), draw(rarely), draw(rarely)
    )


class Random(Cell):
    """The cell of a recipe; its state is a tuple, its output the last two values of the code."""

    matrices: tuple[jax.Array, ...]
    recipe: Recipe = eqx.field(static=True)

    def __init__(self, recipe: Recipe):
        self.recipe = recipe
        shape = (UNITS, UNITS)
        self.matrices = tuple(filled(dtype, shape, x) for dtype, x in recipe.weights)

    def initial(self, batch):
        found = []
        for dtype in self.recipe.states:
            weak = self.recipe.weak and dtype in (jnp.result_type(float), jnp.result_type(int))
            one = {"f": 0.5, "i": 1}.get(dtype[0], 1)
            found.append(jnp.full((*batch, UNITS), one, None if weak else dtype))
        return tuple(found)

    def inputs(self, x):
        return x

    def step(self, state, u):
        values = [u, *state]
        for name, first, second in self.recipe.code:
            values.append(self._do(name, values, first, second))
        new = [
            in_dtype(dtype, values[-1 - j % len(values)])
            for j, dtype in enumerate(self.recipe.states)
        ]
        if self.recipe.promotes:
            new[-1] = bounded(values[-1])
        return tuple(new), tuple(values[-2:])

    def _do(self, name: str, values: list, first: int, second: int):
        v, other = values[first % len(values)], values[second % len(values)]
        weight = self.matrices[second % len(self.matrices)]
        if name == "product":
            return bounded(v @ weight)
        if name == "weight first":
            return bounded(jnp.einsum("ij,...j->...i", weight, v))
        if name == "add":
            return bounded(v + other)
        if name == "times":
            return bounded(v * other)
        if name == "where":
            return jnp.where(real(v) > 0, other, v)
        return bounded(v)


def real(x):
    return x.real if jnp.issubdtype(x.dtype, jnp.complexfloating) else x


def bounded(x):
    """Numbers that stay small whatever a step does, in the same dtype."""
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return x / (1 + real(x * jnp.conj(x)))
    if jnp.issubdtype(x.dtype, jnp.floating):
        return jnp.sin(x)
    return x if x.dtype == bool else jnp.clip(x, 0 if x.dtype.kind == "u" else -3, 3)


def in_dtype(dtype: str, x):
    """A value in any dtype; a fraction becomes an integer from -2 to 2, or the sign of it."""
    kind = jnp.dtype(dtype)
    x = x if jnp.issubdtype(kind, jnp.complexfloating) else real(x)
    if not jnp.issubdtype(kind, jnp.inexact) and jnp.issubdtype(x.dtype, jnp.inexact):
        x = x > 0 if dtype == "bool" else jnp.floor(2.7 * x)
        x = jnp.abs(x) if kind.kind == "u" else x
    return x.astype(dtype)


def filled(dtype: str, shape: tuple[int, ...], numbers) -> jax.Array:
    """Given numbers over and over, rounded to what the dtype has."""
    kind = jnp.dtype(dtype)
    x = np.resize(np.asarray(numbers), shape)
    if jnp.issubdtype(kind, jnp.complexfloating):
        x = x + 0.5j * x[::-1]
    elif not jnp.issubdtype(kind, jnp.inexact):
        x = x > 0 if dtype == "bool" else np.round(np.abs(2 * x) if kind.kind == "u" else 2 * x)
    return jnp.asarray(x, dtype)


def loop(cell: Cell, xs: Any, *, lengths=None, reverse: bool = False):
    """Outputs and final state of `state, y = cell.step(state, cell.inputs(x_t))`, step by step."""
    state, ys = cell.initial(xs.shape[1:2]), []
    for t in reversed(range(len(xs))) if reverse else range(len(xs)):
        new, y = cell.step(state, cell.inputs(xs[t]))
        if lengths is not None:
            valid = (t < np.asarray(lengths))[:, None]
            new = jax.tree.map(lambda a, b: jnp.where(valid, a, b), new, state)  # noqa: B023
            y = jax.tree.map(lambda a: jnp.where(valid, a, jnp.zeros_like(a)), y)  # noqa: B023
        state = new
        ys.append(y)
    ys = ys[::-1] if reverse else ys
    return jax.tree.map(lambda *y: jnp.stack(y), *ys), state
