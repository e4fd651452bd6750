"""Count the multiplications in matrix products from the traced program, without running it."""

from collections.abc import Callable, Iterable, Iterator
from math import prod
from typing import Any

import jax


def multiplications(function: Callable, *arguments: Any) -> int:
    """The scalar multiplications in all matrix products that the result depends on."""
    return _of(jax.make_jaxpr(function)(*arguments).jaxpr)


def _of(jaxpr: Any) -> int:
    needed = set(_variables(jaxpr.outvars))
    total = 0
    for equation in reversed(jaxpr.eqns):
        if needed.intersection(equation.outvars):
            needed.update(_variables(equation.invars))
            total += _of_equation(equation)
    return total


def _of_equation(equation: Any) -> int:
    name, parameters = equation.primitive.name, equation.params
    if name == "dot_general":
        (contracted, _), _ = parameters["dimension_numbers"]
        left = equation.invars[0].aval.shape
        return prod(equation.outvars[0].aval.shape) * prod(left[axis] for axis in contracted)
    if name == "paired":  # the engine's primitive: a linear map given as a function
        count, forward = parameters["count"], parameters["forward"]
        operands = [jax.ShapeDtypeStruct(x.aval.shape, x.aval.dtype) for x in equation.invars]
        return multiplications(lambda *xs: forward(xs[:count], xs[count:]), *operands)
    inside = sum(_of(getattr(x, "jaxpr", x)) for x in _parts(parameters.values()))
    return inside * (parameters["length"] if name == "scan" else 1)


def _parts(values: Iterable[Any]) -> Iterator[Any]:
    """The jaxprs among an equation's parameters."""
    for value in values:
        if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
            yield value
        elif isinstance(value, tuple | list):
            yield from _parts(value)


def _variables(atoms: Iterable[Any]) -> list[Any]:
    return [atom for atom in atoms if not hasattr(atom, "val")]
