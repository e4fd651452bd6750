"""A step whose output is read off another state than the one that it computes.

A step computes `(state, y)` from the state before it, so JAX alone cannot say what a loss on `y`
has to do with the state after the step. Yet nearly every cell reads its output off that state:
`y = h`, or a readout of it. Here the step is traced, and wherever it goes on with a value that is
part of the new state, it is given that part of another state instead.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jax.extend.core import Jaxpr, Literal

from ..cells import Layer
from .step import evaluate, read, take_apart


def step_changing(
    cell: Layer, change: Callable[[Any], Any], before: Any, u: Any
) -> tuple[Any, Any]:
    """`cell.step(before, u)` with `change(state)` in place of the state that it computes.

    The output is read off the changed state, whose arrays count as independent of each other, and
    of `before` and `u`. What an output takes from `before` past the new state, it still takes from
    there. Only what the output needs of the changed state is computed twice.

    Returns:
        The changed state, and the output.

    Example:
        >>> lstm = ostinato.cells.LSTM(3, 4, key=jax.random.key(0))
        >>> before, u = lstm.initial(()), lstm.inputs(jnp.ones(3))
        >>> (h, c), y = step_changing(lstm, lambda state: (2 * state[0], state[1]), before, u)
        >>> y is h
        True
    """
    traced = take_apart(lambda cell, state, u: cell.step(state, u), cell, before, u)
    jaxpr = traced.jaxpr
    known = dict(zip(jaxpr.constvars, traced.consts, strict=True))
    given = eqx.filter(cell, eqx.is_array), before, u
    known |= dict(zip(jaxpr.invars, jax.tree.leaves(given), strict=True))
    env = dict(known)
    for equation in jaxpr.eqns:
        evaluate(equation, env)
    new, _ = jax.tree.unflatten(traced.out_tree, [read(env, var) for var in jaxpr.outvars])
    after = change(new)
    leaves = jax.tree.leaves(after)
    replaced = {
        var: value
        for var, value in zip(jaxpr.outvars[: len(leaves)], leaves, strict=True)
        if not isinstance(var, Literal) and var not in known
    }
    changed = env | replaced
    for equation in _between(jaxpr, replaced, jaxpr.outvars[len(leaves) :]):
        evaluate(equation, changed)
        changed |= replaced
    _, y = jax.tree.unflatten(traced.out_tree, [read(changed, var) for var in jaxpr.outvars])
    return after, y


def output_from(cell: Layer, after: Any, before: Any, u: Any) -> Any:
    """`y` of `cell.step(before, u)`, read off `after`; see `step_changing`.

    Example:
        >>> lstm = ostinato.cells.LSTM(3, 4, key=jax.random.key(0))
        >>> before, u = lstm.initial(()), lstm.inputs(jnp.ones(3))
        >>> h, c = jnp.ones(4), jnp.zeros(4)
        >>> output_from(lstm, (h, c), before, u) is h
        True
    """
    return step_changing(cell, lambda _: after, before, u)[1]


def _between(jaxpr: Jaxpr, given: dict, wanted: list) -> list:
    """The equations by which the wanted variables follow from the given ones, in order."""
    reached, needed = set(given), {var for var in wanted if not isinstance(var, Literal)}
    follow: list = []
    for equation in jaxpr.eqns:
        if any(var in reached for var in equation.invars if not isinstance(var, Literal)):
            follow.append(equation)
            reached.update(equation.outvars)
    found: list = []
    for equation in reversed(follow):
        if any(var in needed and var not in given for var in equation.outvars):
            found.append(equation)
            needed.update(var for var in equation.invars if not isinstance(var, Literal))
    return found[::-1]
