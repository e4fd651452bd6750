"""The output of a step as a function of the state after it.

A step computes `(state, y)` from the state before it, so JAX alone cannot say what a loss on `y`
has to do with the state after the step. Yet nearly every cell reads its output off that state:
`y = h`, or a readout of it. Here the step is traced, and wherever it goes on with a value that is
part of the new state, it is given that part of another state instead.
"""

from typing import Any

import equinox as eqx
import jax
from jax.extend.core import Literal

from ..cells import Cell
from .step import take_apart
from .tracing import evaluate, read


def output_from(cell: Cell, after: Any, before: Any, u: Any) -> Any:
    """`y` of `cell.step(before, u)`, with `after` in place of the state that it computes.

    The arrays of `after` count as independent of each other, and of `before` and `u`. What an
    output takes from `before` past the new state, it still takes from there.

    Example:
        >>> lstm = ostinato.cells.LSTM(3, 4, key=jax.random.key(0))
        >>> before, u = lstm.initial(()), lstm.inputs(jnp.ones(3))
        >>> h, c = jnp.ones(4), jnp.zeros(4)
        >>> output_from(lstm, (h, c), before, u) is h
        True
    """
    parameters, static = eqx.partition(cell, eqx.is_array)

    def step(parameters, state, u):
        return eqx.combine(parameters, static).step(state, u)

    traced = take_apart(step, parameters, before, u)
    jaxpr, leaves = traced.jaxpr, jax.tree.leaves(after)
    known = dict(zip(jaxpr.constvars, traced.consts, strict=True))
    known |= dict(zip(jaxpr.invars, jax.tree.leaves((parameters, before, u)), strict=True))
    given = {
        var: value
        for var, value in zip(jaxpr.outvars[: len(leaves)], leaves, strict=True)
        if not isinstance(var, Literal) and var not in known
    }
    env = known | given
    for equation in jaxpr.eqns:
        evaluate(equation, env)
        env |= given
    _, y = jax.tree.unflatten(traced.out_tree, [read(env, var) for var in jaxpr.outvars])
    return y
