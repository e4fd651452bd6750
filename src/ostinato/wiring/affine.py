"""Whether a function is affine in its argument, found by tracing it."""

from collections.abc import Callable
from typing import Any

import jax
from jax.extend.core import Jaxpr, Literal

# What keeps a sum of constants and linear functions of the argument such a sum.
LINEAR = frozenset(
    "add sub add_any neg convert_element_type copy reshape squeeze expand_dims transpose slice "
    "broadcast_in_dim concatenate pad rev reduce_sum dynamic_slice".split()
)
PRODUCTS = frozenset(["mul", "dot_general"])  # of which one factor may depend on the argument

RANDOM = ("random_", "threefry", "rng_")


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
        inner = equation.params.get("jaxpr") if name in ("jit", "pjit", "closed_call") else None
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
