"""One matrix product of a step: its value, its error, and the cotangent of its weight."""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import JaxprEqn, Var

from ..cells.building import rows_are_one_axis
from ..errors import BadInput
from .mesh_axes import explicit_sharding

_REAL = ("float16", "bfloat16", "float32", "float64")


@dataclasses.dataclass(frozen=True)
class Tap:
    """One product of a step, as an einsum `v,weight->out`.

    Attributes:
        equation: the product in the traced step.
        total: the equation that adds something to it, if any.
        weight_first: whether the weight is its first operand.
        from_state: True if the operand reads the previous state directly, not through another
            product and not through the new state.
        v, w, out: the axes of the changing operand, of the weight and of the value.
    """

    equation: JaxprEqn
    total: JaxprEqn | None
    weight_first: bool
    from_state: bool
    v: str
    w: str
    out: str

    @property
    def weight(self) -> Any:
        return self.equation.invars[0 if self.weight_first else 1]

    @property
    def changing(self) -> Any:
        return self.equation.invars[1 if self.weight_first else 0]

    @property
    def addend(self) -> Any:
        if self.total is None:
            return None
        return next(x for x in self.total.invars if x is not self.equation.outvars[0])

    @property
    def result(self) -> Var:
        """The value: the product, or its sum with the addend."""
        return (self.total or self.equation).outvars[0]

    @property
    def shape(self) -> Any:
        """The type of the value for one step: its shape, dtype and mesh axes."""
        return self.result.aval

    @property
    def is_real(self) -> bool:
        """Whether both operands and the value are real floats, and are treated alike."""
        avals: list[Any] = [var.aval for var in (*self.equation.invars, *self.equation.outvars)]
        precision = self.equation.params["precision"]
        alike = type(precision) is not tuple or len(set(precision)) == 1
        return alike and all(aval.dtype.name in _REAL for aval in avals)

    def value(
        self, v: jax.Array, weight: jax.Array, compute: Any = None, out: Any = None
    ) -> jax.Array:
        """The product itself, in the dtype `out`; by default that of the traced product."""
        if jnp.issubdtype(v.dtype, jnp.inexact) and not jnp.issubdtype(self._out, jnp.inexact):
            raise BadInput(f"a product in {self._out} cannot read {v.dtype}")
        subscripts = f"{self.v},{self.w}->{self.out}"
        return self._einsum(subscripts, v, weight, compute, out or self._out)

    def back(self, error: jax.Array, weight: jax.Array, compute: Any = None) -> jax.Array:
        """`error @ weightᵀ`: what an error at the value is at the changing operand."""
        like = self.changing.aval.dtype
        return self._einsum(f"{self.out},{self.w}->{self.v}", error, weight, compute, like)

    def turned(self, weight: jax.Array) -> jax.Array:
        """The weight transposed, for `back`: once before a scan, instead of in each step."""
        return weight.T

    def back_turned(self, error: jax.Array, turned: jax.Array) -> jax.Array:
        """`back` with the weight that `turned` returns."""
        like = self.changing.aval.dtype
        return self._einsum(f"{self.out},{self.w[::-1]}->{self.v}", error, turned, None, like)

    def spread(self, vs: jax.Array, change: jax.Array, compute: Any = None) -> jax.Array:
        """`v_t @ change` for all times at once: the tangent that a weight's change brings.

        It is an array like the inputs, and like these it is rounded to `compute`.
        """
        subscripts = f"T{self.v},{self.w}->T{self.out}"
        return self._einsum(subscripts, vs, change, compute, compute or self._out)

    def change(
        self, v: jax.Array, d_v: jax.Array, weight: jax.Array, d_weight: jax.Array
    ) -> jax.Array:
        """`d_v @ weight + v @ d_weight` as one product of twice the inner size, where it can be."""
        inner = set(self.v) - set(self.out)
        subscripts = f"{self.v},{self.w}->{self.out}"
        if len(inner) == 1:
            (axis,) = inner
            left = jnp.concatenate([d_v, v], self.v.index(axis))
            right = jnp.concatenate([weight, d_weight], self.w.index(axis))
            return self._einsum(subscripts, left, right, None, self._out)
        first = self._einsum(subscripts, d_v, weight, None, self._out)
        return first + self._einsum(subscripts, v, d_weight, None, self._out)

    def gather(self, vs: jax.Array, errors: jax.Array, compute: Any = None) -> jax.Array:
        """`Σ_t v_tᵀ error_t`: the cotangent of the weight.

        A GPU makes it in parts of time, where it would be too few pieces for its multiprocessors.
        """
        like = self.weight.aval
        sizes = zip(self.v, vs.shape[1:], strict=True)
        rows = math.prod(size for axis, size in sizes if axis not in self.w)
        placed = explicit_sharding(like)
        if (parts := _parts(len(vs), rows, like.size)) == 1 or placed is not None:
            return self._gather_all(vs, errors, compute, placed)
        vs, errors = (x.reshape(parts, -1, *x.shape[1:]) for x in (vs, errors))
        subscripts = f"PT{self.v},PT{self.out}->P{self.w}"
        return self._einsum(subscripts, vs, errors, compute, like.dtype).sum(0)

    def _gather_all(self, vs: jax.Array, errors: jax.Array, compute: Any, placed: Any) -> jax.Array:
        """`gather` as one product, sharded so."""
        v, out, dtype = self.v, self.out, self.weight.aval.dtype
        if rows_are_one_axis(vs, errors) and v[:1] == out[:1] and v[0] not in self.w:
            vs, errors = (x.reshape(-1, *x.shape[2:]) for x in (vs, errors))
            return self._einsum(f"{v},{out}->{self.w}", vs, errors, compute, dtype)
        return self._einsum(f"T{v},T{out}->{self.w}", vs, errors, compute, dtype, placed)

    @property
    def _out(self) -> Any:
        return self.shape.dtype

    def _einsum(
        self,
        subscripts: str,
        left: jax.Array,
        right: jax.Array,
        compute: Any,
        dtype: Any,
        placed: Any = None,
    ) -> jax.Array:
        """Operands in `compute`, by default as they are; the result in `dtype`, sharded so."""
        if compute is not None:
            left, right = left.astype(compute), right.astype(compute)
        # A cotangent is summed in the dtype of the product and then rounded, as JAX does it.
        wide = jnp.promote_types(dtype, self._out) if compute is None else dtype
        return jnp.einsum(
            subscripts,
            left,
            right,
            precision=self.equation.params["precision"],
            preferred_element_type=wide,
            out_sharding=placed,
        ).astype(dtype)


def _parts(steps: int, rows: int, weight: int) -> int:
    """Into how many equal parts of time the sum of so many products is cut.

    On a GPU, as many as give about 128 pieces of 128 by 128, but none with fewer than 256 rows to
    sum over.

    Args:
        steps: of time.
        rows: that are summed over at each of them.
        weight: the size of the sum.
    """
    if jax.default_backend() != "gpu":
        return 1
    limit = min(128**3 // max(1, weight), steps * rows // 256)
    return max((n for n in range(1, limit + 1) if steps % n == 0), default=1)
