"""Checks of what a cell says about its equations: they must be those of its step."""

from typing import Any

import jax
import jax.numpy as jnp

from ..cells import Layer
from ..cells.activations import activation
from ..wiring.operators import network_of
from .case import BATCH, Case, of_steps, quickly
from .explain import CellError
from .trees import apart


def operators_are_the_layer(case: Case) -> None:
    """`operators` describe layers that give the same outputs, from the state of `initial`."""
    rows = case.cell.operators()
    if rows is None:
        return
    ys, final = case.unroll(case.xs, case.start)
    network = network_of(rows)
    outputs, last = case.unroll(case.xs, network.initial((BATCH,)), cell=network)
    leaves = jax.tree.leaves
    if len(leaves(final)) != len(leaves(last)) or apart(
        (outputs, leaves(last)), (ys, leaves(final))
    ):
        raise CellError(
            "operators: other libraries would compute other numbers from these weights than the "
            "cell does: return weights that make it the same from a first state of zeros, or None"
        )


@of_steps
def memory_rules_are_the_step(case: Case) -> None:
    """`memory_rules` and the weights that they name compute `inputs` and `step`."""
    if case.cell.in_parts or not case.cell.memory_cell:
        return

    def by_rules(cell: Layer, state: Any, x: Any) -> tuple[Any, Any]:
        memory, output, (W, R, *b) = cell.memory_rules()
        u = x @ W + sum(b)
        h, c = state
        a = u + h @ R
        c = memory(a, c)
        h = output(a[..., -R.shape[0] :], c)
        return u, ((h, c), h)

    given = case.cell, case.state, case.xs[0]
    if apart(quickly(by_rules)(*given), case.once(*given)):
        raise CellError(
            "memory_cell: step and inputs are not what memory_rules says, so online1997 would "
            "learn another cell: set memory_cell = False, or write its memory_rules"
        )


@of_steps
def simple_is_the_step(case: Case) -> None:
    """A cell that `is_simple` computes `f(u + h R)`."""
    if case.cell.in_parts or not case.cell.is_simple:
        return
    u, (state, _) = case.once(case.cell, case.state, case.xs[0])
    if apart(activation(case.cell.f)(u + jnp.asarray(case.state) @ case.cell.R), state):
        raise CellError(
            "is_simple: the next state is not f(u + h R), so published bounds on its gradient do "
            "not hold: set is_simple = False"
        )
