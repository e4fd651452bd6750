"""What a traced program has to compute: its products and its loops through time.

A program is counted as JAX traces it, with shapes in place of arrays, so nothing is computed. A
loop whose end depends on numbers is counted once, and of branches the one with more operations.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn

from ..through_time.backends.persistent import kernel_of
from ..through_time.linear_map import forward_of
from ..through_time.step import loop_operands

EXACT = jax.lax.Precision.HIGHEST


class Product(NamedTuple):
    """A matrix product: its operations, and in what they are done.

    `kind` is the dtype of its operands, or `"exact"` for float32 without rounded operands.
    """

    operations: float
    kind: str


class Part(NamedTuple):
    """A part of a program: an iteration of a loop, or what is outside of all loops.

    Attributes:
        times: how often it is done.
        loop: whether it is an iteration of a loop.
        products: its own; in a kernel, the share of one of its programs.
        sums: over the batch, each of which is a pass of its own.
        bytes: that a loop reads and writes at each step, besides its constants.
        stacked: bytes of the arrays of all its steps that a loop reads and writes.
        exchanges: of a kernel's programs; `None` for other parts.
        read: bytes that a kernel's program reads of what others hand out.
        looks: how often the host looks whether a kernel has failed, for all of the times.
    """

    times: int
    loop: bool
    products: list[Product]
    sums: int
    bytes: float
    stacked: float = 0.0
    exchanges: int | None = None
    read: float = 0.0
    looks: int = 0

    @property
    def operations(self) -> float:
        return self.times * sum(product.operations for product in self.products)


def parts_of(function: Callable, *arguments: Any) -> list[Part]:
    """The parts of a function of arrays or shapes.

    Example:
        >>> def f(x):
        ...     return jax.lax.scan(lambda h, _: (h @ x, None), x, length=7)[0]
        >>> outside, loop = parts_of(f, jax.ShapeDtypeStruct((10, 10), "float32"))
        >>> loop.times, loop.operations
        (7, 14000)
    """
    closed = eqx.filter_make_jaxpr(function)(*arguments)[0]
    return [*_parts(closed.jaxpr, Part(1, False, [], 0, 0))]


def _parts(jaxpr: Jaxpr, part: Part) -> Iterator[Part]:
    """The part that an expression is, with its products, and those of the loops within it."""
    within = list[Part]()
    for equation in _equations(jaxpr):
        name = equation.primitive.name
        if name == "dot_general":
            part.products.append(product_of(equation))
        elif name == "scan":
            body = equation.params["jaxpr"].jaxpr
            _, carry, xs = loop_operands(equation.params, equation.invars)
            _, before, rows = loop_operands(equation.params, body.invars)
            moved = sum(map(_bytes, (*before, *rows, *body.outvars)))
            stacked = [*xs, *equation.outvars[len(carry) :]]
            some = part.times * equation.params["length"]
            within += _parts(body, Part(some, True, [], 0, moved, sum(map(_bytes, stacked))))
        elif name == "persistent":
            kernel = kernel_of(equation)
            products = [
                Product(kernel.share * one.operations, one.kind)
                for one in map(product_of, kernel.products)
            ]
            some, size = part.times * kernel.steps, sum(map(_bytes, kernel.stacked))
            moved = size / kernel.steps
            waits = kernel.exchanges, kernel.read, part.times * kernel.looks
            within.append(Part(some, True, products, 0, moved, size, *waits))
        elif name == "reduce_sum" and part.loop and 0 in equation.params["axes"]:
            part = part._replace(sums=part.sums + (len(_shape(equation.invars[0])) > 1))
    yield part
    yield from within


def _equations(jaxpr: Jaxpr) -> Iterator[JaxprEqn]:
    """The equations of an expression, with those of the calls and branches in it."""
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if name == "paired":
            yield from _equations(forward_of(equation).jaxpr)
        elif name == "cond":
            branches = [branch.jaxpr for branch in equation.params["branches"]]
            yield from _equations(max(branches, key=_operations))
        elif name in ("scan", "persistent"):
            yield equation
        else:
            yield equation
            for inner in _inner(equation.params.values()):
                yield from _equations(inner)


def _operations(jaxpr: Jaxpr) -> float:
    return sum(part.operations for part in _parts(jaxpr, Part(1, False, [], 0, 0)))


def _inner(values: Iterable[Any]) -> Iterator[Jaxpr]:
    for value in values:
        if type(value) is ClosedJaxpr:
            yield value.jaxpr
        elif type(value) is Jaxpr:
            yield value


def product_of(equation: JaxprEqn) -> Product:
    """A product from its equation."""
    (contracted, _), _ = equation.params["dimension_numbers"]
    operand: Any = equation.invars[0]
    out = equation.outvars[0]
    terms = math.prod(_shape(operand)[axis] for axis in contracted)
    kind, precision = str(operand.aval.dtype), equation.params["precision"]
    exact = kind == "float32" and precision is not None and EXACT in precision
    return Product(2 * terms * math.prod(_shape(out)), "exact" if exact else kind)


def _shape(var: Any) -> tuple[int, ...]:
    return var.aval.shape


def _bytes(var: Any) -> float:
    aval = var.aval
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key):
        return 0
    return math.prod(aval.shape) * aval.dtype.itemsize
