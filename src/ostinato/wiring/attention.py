"""Attention: a decoder looks at all outputs of an encoder, at each of its steps.

With the encoder's outputs m_1 … m_S and a query q, the context is their weighted mean

    c = Σ_s α_s m_s,   α = softmax(e),   e_s = score(q, m_s)

    Additive    e_s = v · tanh(Q q + K m_s)    the query is the output before the step, and the
                                               step reads the context (Bahdanau et al., 2015)
    Dot         e_s = (Q q) · m_s              the query is the output of the step, and only the
                                               readout reads the context (Luong et al., 2015)

The score of `Dot` needs nothing from inside the step, so all steps are looked at in one product
after the scan. Where the inputs of a decoder's cell are affine (`is_affine`), what they make of the
encoder's outputs is computed once.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend.core import Jaxpr, Literal

from ..cells import Cell
from ..cells.building import draw, zeros
from ..cells.cell import Run
from ..cells.initialisers import glorot
from ..through_time.step import CALLS, called

# What keeps a sum of constants and linear functions of the argument such a sum.
LINEAR = frozenset(
    "add sub add_any neg convert_element_type copy reshape squeeze expand_dims transpose slice "
    "broadcast_in_dim concatenate pad rev reduce_sum dynamic_slice".split()
)
PRODUCTS = frozenset(["mul", "dot_general"])  # of which one factor may depend on the argument

RANDOM = ("random_", "threefry", "rng_")


class Additive(eqx.Module):
    """`e_s = v · tanh(Q q + K m_s + b)`.

    Shapes: q `(..., units)`, m `(..., S, memory)`, e `(..., S)`.
    """

    Q: jax.Array
    K: jax.Array
    b: jax.Array
    v: jax.Array

    def __init__(self, units: int, memory: int, size: int, *, key: jax.Array):
        """
        Args:
            units: size of the query.
            memory: size of the encoder's outputs.
            size: of the layer that compares them.
            key: random key for the initial weights.
        """
        one, two, three = jax.random.split(key, 3)
        self.Q, self.K = draw(glorot(), one, units, size), draw(glorot(), two, memory, size)
        self.b, self.v = zeros(size), draw(glorot(), three, size, 1)[:, 0]

    def around(self, cell: Cell, memory: jax.Array, valid: jax.Array) -> Cell:
        """The cell of a decoder, which reads the context beside its input."""
        keys = memory @ self.K + self.b
        return _AttendBefore(_Looking(cell, self, keys, memory, valid, _reading(cell, memory)))

    def scores(self, query: jax.Array, keys: jax.Array) -> jax.Array:
        return jnp.tanh((query @ self.Q)[..., None, :] + keys) @ self.v


class Dot(eqx.Module):
    """`e_s = (Q q) · m_s`.

    Shapes: q `(..., units)`, m `(..., S, memory)`, e `(..., S)`.
    """

    Q: jax.Array

    def __init__(self, units: int, memory: int, size: int = 0, *, key: jax.Array):
        """
        Args:
            units: size of the query.
            memory: size of the encoder's outputs.
            size: not used.
            key: random key for the initial weights.
        """
        self.Q = draw(glorot(), key, units, memory)

    def around(self, cell: Cell, memory: jax.Array, valid: jax.Array) -> Cell:
        """The cell of a decoder, whose output is joined by the context."""
        return _AttendAfter(cell, self, memory, memory, valid)

    def scores(self, query: jax.Array, keys: jax.Array) -> jax.Array:
        return jnp.einsum("...k,...sk->...s", query @ self.Q, keys)


ATTENTION: dict[str, type] = {"additive": Additive, "dot": Dot}


class _Attending(Cell):
    """A cell with a memory for each sequence; the batch axes are those of the memory.

    Stepped with fewer batch axes, as the lens does to see what a step is made of, it looks at the
    memory of the first sequence.

    Attributes:
        keys, values: what is compared and what is read, `(*batch, S, size)`.
        valid: `(*batch, S)`, false in the padding of the source.
    """

    cell: Cell
    attention: Any
    keys: jax.Array
    values: jax.Array
    valid: jax.Array

    @property
    def input_axes(self) -> int:
        return self.cell.input_axes

    def weights(self, query: jax.Array) -> jax.Array:
        """α: where each query looks, `(..., S)`."""
        keys, valid = self._of(query, self.keys), self._of(query, self.valid)
        scores = self.attention.scores(query, keys)
        lowest = jnp.finfo(scores.dtype).min
        return jax.nn.softmax(jnp.where(valid, scores, lowest), axis=-1)

    def _of(self, query: jax.Array, memory: jax.Array) -> jax.Array:
        return memory[(0,) * max(self.valid.ndim - query.ndim, 0)]

    def starting(self, state: Any) -> Any:
        """The state before the first step, given that of the cell."""
        return state

    def queries(self, hs: jax.Array) -> jax.Array:
        """What the steps look for, `(T, *batch, units)`, given the cell's outputs."""
        return hs

    def mean(self, weights: jax.Array, values: jax.Array) -> jax.Array:
        """`Σ_s α_s v_s`."""
        return jnp.einsum("...s,...sm->...m", weights, self._of(weights, values))

    def context(self, query: jax.Array) -> jax.Array:
        return self.mean(self.weights(query), self.values)


class _Looking(_Attending):
    """`h_t = cell([x_t, c_t])` with the context c_t of h_{t-1}; the outputs are h_t and α_t.

    Where the cell's `inputs` are affine, their part that reads the context is applied to the
    encoder's outputs before the first step, because it can be done before or after the mean:

        inputs([x, Σ_s α_s m_s]) = inputs([x, 0]) + Σ_s α_s L m_s

    Then no step has a product with the input weights.

    Shapes: state `(the cell's, h (*batch, units))`; outputs `(*batch, units)`, `(*batch, S)`.

    Attributes:
        read: `L m_s` in the form of the cell's inputs, or `None` if the step reads the context.
    """

    read: Any = None

    def initial(self, batch: tuple[int, ...]) -> Any:
        return self.cell.initial(batch), self.nothing(batch)

    def nothing(self, batch: tuple[int, ...]) -> jax.Array:
        """The first query."""
        return jnp.zeros((*batch, len(self.attention.Q)), self.attention.Q.dtype)

    def inputs(self, x: Any) -> Any:
        if self.read is None:
            return x
        context = jnp.zeros((*x.shape[:-1], self.values.shape[-1]), x.dtype)
        return self.cell.inputs(jnp.concatenate([x, context], axis=-1))

    def step(self, state: Any, u: Any) -> tuple[Any, tuple[jax.Array, jax.Array]]:
        state, h = state
        weights = self.weights(h)
        if self.read is None:
            u = self.cell.inputs(jnp.concatenate([u, self.mean(weights, self.values)], axis=-1))
        else:
            u = jax.tree.map(lambda x, read: x + self.mean(weights, read), u, self.read)
        state, h = self.cell.step(state, u)
        return (state, h), (h, weights)


def _reading(cell: Cell, memory: jax.Array) -> Any:
    """`L m_s`, where the cell's inputs are affine and that is less to compute; see `_Looking`."""
    size = cell.vector_size()
    if size is None or memory.shape[-2] > memory.shape[-1]:
        return None
    alone = jnp.zeros((*memory.shape[:-1], size - memory.shape[-1]), memory.dtype)
    vectors = jnp.concatenate([alone, memory], axis=-1)
    if not is_affine(cell.inputs, vectors):
        return None
    both = cell.inputs(vectors), cell.inputs(jnp.zeros_like(vectors[(0,) * (vectors.ndim - 1)]))
    read = jax.tree.map(jnp.subtract, *both)
    return read if all(x.ndim == memory.ndim for x in jax.tree.leaves(read)) else None


class _AttendBefore(Cell):
    """A cell that reads the context of its last output; the output is `[h_t, c_t]`."""

    in_parts: ClassVar[bool] = True

    decoder: _Looking

    @property
    def input_axes(self) -> int:
        return self.decoder.input_axes

    @property
    def values(self) -> jax.Array:
        return self.decoder.values

    def weights(self, query: jax.Array) -> jax.Array:
        return self.decoder.weights(query)

    def starting(self, state: Any) -> Any:
        return state, self.decoder.nothing(self.decoder.valid.shape[:-1])

    def queries(self, hs: jax.Array) -> jax.Array:
        return jnp.concatenate([self.decoder.nothing(hs.shape[1:-1])[None], hs[:-1]])

    def initial(self, batch: tuple[int, ...]) -> Any:
        return self.decoder.initial(batch)

    def inputs(self, x: Any) -> Any:
        return self.decoder.inputs(x)

    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        state, outputs = self.decoder.step(state, u)
        return state, self._joined(*outputs)

    def over_time(self, run: Run, xs: Any, state: Any) -> tuple[Any, Any]:
        """The steps first, then the contexts of all of them at once."""
        outputs, state = run(self.decoder, xs, state)
        return self._joined(*outputs), state

    def _joined(self, hs: jax.Array, weights: jax.Array) -> jax.Array:
        return jnp.concatenate([hs, self.decoder.mean(weights, self.values)], axis=-1)


class _AttendAfter(_Attending):
    """`h_t = cell(x_t)`, and the output is `[h_t, c_t]` with the context c_t of h_t."""

    in_parts: ClassVar[bool] = True

    def initial(self, batch: tuple[int, ...]) -> Any:
        return self.cell.initial(batch)

    def inputs(self, x: Any) -> Any:
        return self.cell.inputs(x)

    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        state, h = self.cell.step(state, u)
        return state, jnp.concatenate([h, self.context(h)], axis=-1)

    def over_time(self, run: Run, xs: Any, state: Any) -> tuple[Any, Any]:
        """The cell first, then the contexts of all steps at once."""
        hs, state = run(self.cell, xs, state)
        return jnp.concatenate([hs, self.context(hs)], axis=-1), state


def is_affine(function: Callable[..., Any], *arguments: Any) -> bool:
    """Whether `function` surely is of the form `A x + b`, with the same A and b at each call.

    So a function that draws random numbers is not, even if it adds or multiplies by them only.

    Args:
        function: of arrays, one or more of which it returns.
        arguments: arrays or shapes; values do not matter.

    Example:
        >>> is_affine(lambda x: 2 * x + 1, jnp.ones(3)), is_affine(jnp.tanh, jnp.ones(3))
        (True, False)
    """
    closed = jax.make_jaxpr(function)(*arguments)
    if any(name in str(closed) for name in RANDOM):
        return False
    return _affine(closed.jaxpr, set(closed.jaxpr.invars)) is not None


def _affine(jaxpr: Jaxpr, moving: set[Any]) -> list[bool] | None:
    """Which outputs depend on what is moving; `None` if one may not do so in an affine way."""
    moving = set(moving)
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        which = [not isinstance(v, Literal) and v in moving for v in equation.invars]
        if not any(which):
            continue
        inner = called(equation) if name in CALLS else None
        if inner is not None:
            pairs = zip(inner.jaxpr.invars, which, strict=True)
            outputs = _affine(inner.jaxpr, {v for v, moves in pairs if moves})
            if outputs is None:
                return None
        elif (
            name in LINEAR
            or (name in PRODUCTS and sum(which) == 1)
            or (name == "div" and not which[1])
        ):
            outputs = [True] * len(equation.outvars)
        else:
            return None
        moving.update(v for v, moves in zip(equation.outvars, outputs, strict=True) if moves)
    return [not isinstance(v, Literal) and v in moving for v in jaxpr.outvars]
