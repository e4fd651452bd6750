"""Weakly typed arrays in a state.

JAX lets `jnp.full(shape, 0.5)`, made of a Python number, take on the dtype of whatever it meets: it
is weakly typed. A loop of steps reads such a state at its first step, and from then on what `step`
returned; the engine has one dtype for all steps. Here it is found out whether that matters.
"""

from collections.abc import Callable
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr

from .tracing import inline


def is_weak(x: Any) -> bool:
    """Whether an array, or a shape and dtype, is weakly typed."""
    return bool(getattr(x, "weak_type", False))


def strong(tree: Any) -> Any:
    """The shapes and dtypes of a tree, none of them weakly typed."""
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), tree)


def weakness_matters(step: Callable, states: list, u: Any) -> bool:
    """Whether a step computes in other dtypes because a part of its state is weakly typed.

    Args:
        step: `(state, u) -> (state, y)`.
        states: shapes and dtypes of the states that it reads, for example the initial one and the
            one after a step.
        u: shapes and dtypes of what it receives.
    """
    weak = [state for state in states if any(map(is_weak, jax.tree.leaves(state)))]
    return any(_dtypes(step, state, u) != _dtypes(step, strong(state), u) for state in weak)


def _dtypes(step: Callable, state: Any, u: Any) -> list:
    """What a step computes and in which dtypes; conversions from a dtype to itself do not count."""
    closed = jax.make_jaxpr(step)(state, u)
    flat = jax.make_jaxpr(lambda *args: inline(closed.jaxpr, closed.consts, args))(*closed.in_avals)
    found = []
    for equation in flat.eqns:
        operands: list[Any] = [var.aval for var in equation.invars]
        results: list[Any] = [var.aval for var in equation.outvars]
        ins, outs = ([aval.dtype for aval in avals] for avals in (operands, results))
        inner = [str(x) for x in equation.params.values() if isinstance(x, ClosedJaxpr | Jaxpr)]
        if equation.primitive.name != "convert_element_type" or ins != outs:
            found.append((equation.primitive.name, ins, outs, inner))
    return found
