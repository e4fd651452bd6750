"""The gates of a network over time: everything that its steps squash, by name."""

from itertools import accumulate
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Layer
from ..through_time import check_structure, sizes
from ..through_time.borders import Borders, find_borders
from ._opened import Instrumented, open_cells
from .names import plain_name


def gates_over_time(
    cell: Layer, xs: Any, state: Any = None, *, lengths: Any = None, resets: Any = None
) -> tuple[dict[str, jax.Array], Any]:
    """The values of every tanh, σ and ReLU within a step, at each step; see `saturation`.

    Args:
        cell: a cell, a network, or a layer for `unroll`.
        xs: the inputs, time first.
        state: the state before the first step.
        lengths, resets: as for `unroll`.

    Returns:
        Arrays `(T, *batch, units)` by the names that `ostinato lens` shows, and the final state.

    Example:
        >>> found, _ = gates_over_time(ostinato.cells.LSTM(3, 16, key=key), jnp.ones((20, 8, 3)))
        >>> sorted(found)
        ['block input', 'forget gate', 'input gate', 'memory', 'output gate']
        >>> found["forget gate"].shape
        (20, 8, 16)
    """
    steps, batch = sizes(cell, xs)
    xs, borders = find_borders(jax.tree.map(jnp.asarray, xs), lengths, resets, steps, batch)
    cell.check_inputs(xs)
    if state is not None and not cell.can_step:
        check_structure(cell, state, batch)
    arrays, final = _recorded(cell, xs, state, borders)
    found = {plain_name(name): x for name, x in arrays.items()}
    return {name: x.reshape(steps, *batch, -1) for name, x in found.items()}, final


@eqx.filter_jit
def _recorded(cell: Layer, xs: Any, state: Any, borders: Borders) -> tuple[dict[str, Any], Any]:
    """What is squashed, `(T, sequences, units)` by path, and the final state."""
    found: dict[str, Any] = {}

    def record(opened: Instrumented) -> tuple[Any, Any]:
        def body(state: Any, x: Any) -> tuple[Any, Any]:
            new, y, squashed = opened.step(state, x)
            return new, (y, squashed)

        state, (ys, squashed) = jax.lax.scan(
            body, opened.state, opened.received, reverse=opened.reverse
        )
        cuts = [*accumulate(opened.units)][:-1]
        found.update(zip(opened.names, jnp.split(squashed, cuts, axis=-1), strict=False))
        return ys, state

    _, final = open_cells(cell, xs, state, borders, record)
    return found, final
