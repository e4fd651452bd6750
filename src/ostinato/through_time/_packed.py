"""Padding and packed sequences for the methods that go step by step."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..cells import Layer
from ..cells.cell import Wrapper
from .borders import Borders, find_borders, held, restarted
from .check import check_batched, sizes

Loss = Callable[[Any, Any], jax.Array]


class Packed(Wrapper):
    """A cell that reads `(x, valid, reset)`: its step keeps or restarts the state.

    `valid` and `reset` are booleans `(*batch,)` or `None`; see `Borders`. The state restarts at the
    cell's own `initial`, whose parameters the derivative reaches.
    """

    def check_inputs(self, xs):
        self.cell.check_inputs(xs[0])

    def inputs(self, x):
        x, valid, reset = x
        return self.cell.inputs(x), valid, reset

    def step(self, state, u):
        u, valid, reset = u
        return self.step_from(self.begin(state, reset), state, u, valid)

    def begin(self, state, reset):
        """The state that the cell steps from."""
        if reset is None:
            return state
        check_batched("state", state, reset.shape)
        first = self.cell.initial((1,) * reset.ndim)
        first = jax.tree.map(lambda x, like: jnp.asarray(x, like.dtype), first, state)
        return restarted(state, first, reset)

    def step_from(self, begin, state, u, valid):
        new, y = self.cell.step(begin, u)
        if valid is not None:
            check_batched("state and output of a step", (new, y), valid.shape)
        return held(new, state, valid), y


def packed(cell: Layer, xs: Any, lengths: Any, resets: Any) -> tuple[Packed, tuple, Borders]:
    """The cell that knows where sequences begin and end, its inputs, and the borders."""
    cell.check_inputs(xs)
    xs, borders = find_borders(xs, lengths, resets, *sizes(cell, xs))
    return Packed(cell), (xs, borders.valid, borders.forward), borders


def valid_loss(loss: Loss, targets: Any, valid: jax.Array | None) -> tuple[Loss, Any]:
    """A loss that leaves out padding, and its targets.

    Since a loss is a sum over the batch, each sequence's share is its loss alone.
    """
    if valid is None:
        return loss, targets
    check_batched("targets", targets, valid.shape)

    def of_valid(y, at):
        target, valid = at
        alone = loss
        for _ in valid.shape:
            alone = jax.vmap(alone)
        return jnp.sum(jnp.where(valid, alone(y, target), 0))

    return of_valid, (targets, valid)
