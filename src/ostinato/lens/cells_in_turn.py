"""A network through time, one cell after the other, each with its path.

`cells_in_turn` runs the cells as `unroll` does. `open_cells` opens their steps: besides state and
output they return everything that they squash.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Layer
from ..through_time.check import sizes
from ..through_time.lengths_and_resets import Borders, held, restarted, without_padding
from ..through_time.running import over_parts, starting_state
from ..through_time.step import evaluate, read, take_apart
from .squashing_functions import cells_within, names_of, squashed_blocks

# path, cell, inputs, state or None, backwards -> outputs, final state
RunCell = Callable[[str, Layer, Any, Any, bool], tuple[Any, Any]]


class Instrumented(NamedTuple):
    """A cell whose step is open.

    Attributes:
        step: `step(state, received) -> (state, output, squashed)`, the last `(sequences, units)`,
            all blocks side by side.
        state: before the first step.
        received: what the steps receive, time first: inputs, and from `Borders` which steps are
            valid and before which the state restarts, or `None`.
        reverse: whether the cell is read backwards.
        names, kinds, units: of each block: its name within the network, the squashing function and
            its number of units.
    """

    step: Callable[[Any, Any], tuple[Any, Any, jax.Array]]
    state: Any
    received: Any
    reverse: bool
    names: list[str]
    kinds: list[str]
    units: list[int]


def open_cells(
    cell: Layer,
    xs: Any,
    state: Any,
    borders: Borders,
    run: Callable[[Instrumented], tuple[Any, Any]],
) -> tuple[Any, Any]:
    """Open a cell, or each of the cells of a layer, and run it through time.

    Args:
        cell, xs, state: as for `unroll`.
        borders: where the sequences begin and end.
        run: runs an opened cell and returns its outputs and its final state.
    """
    places = {id(part): path for path, part in cells_within(cell).items()}

    def run_part(part: Layer, xs: Any, state: Any, reverse: bool) -> tuple[Any, Any]:
        if not part.can_step:
            return over_parts(part, xs, state, run_part, reverse)
        path, own = places.get(id(part)), ""
        if path is None:  # a wrapper that the network itself has put around a cell
            path, own = places.get(id(part.stands_for()), ""), ".cell"
        opened = _opened(part, xs, state, reverse, borders)
        names = [(path + name.removeprefix(own)).strip() for name in opened.names]
        return run(opened._replace(names=names))

    return run_part(cell, xs, state, False)


def _opened(cell: Layer, xs: Any, state: Any, reverse: bool, borders: Borders) -> Instrumented:
    state, (_, batch) = starting_state(cell, xs, state), sizes(cell, xs)
    parameters, static = eqx.partition(cell, eqx.is_array)
    received = (xs, borders.valid, borders.resets(reverse))

    def closed(parameters: Any, state: Any, at: Any) -> tuple[Any, Any]:
        cell, (x, valid, reset) = eqx.combine(parameters, static), at
        if reset is not None:
            state = restarted(state, cell.initial((1,) * len(batch)), reset)
        new, y = cell.step(state, cell.inputs(x))
        return held(new, state, valid), without_padding(y, valid)

    one = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), received)
    traced = take_apart(closed, parameters, state, one)
    jaxpr, count = traced.jaxpr, traced.parameter_count
    known = dict(zip(jaxpr.constvars, traced.consts, strict=True))
    known |= dict(zip(jaxpr.invars[:count], jax.tree.leaves(parameters), strict=True))
    for equation in traced.prologue:
        evaluate(equation, known)

    def rows(y: jax.Array) -> jax.Array:
        """`(sequences, units)`; what is the same for all sequences is repeated."""
        own = y.shape[: len(batch)] == batch
        y = y if own else jnp.broadcast_to(y, (*batch, *y.shape))
        return y.reshape(math.prod(batch), -1)

    cells = cells_within(cell)
    blocks = squashed_blocks(cells, parameters, traced)
    nothing = jnp.zeros((math.prod(batch), 0), jnp.float32)

    def step(state: Any, x: Any) -> tuple[Any, Any, jax.Array]:
        leaves = jax.tree.leaves((state, x))
        env = known | dict(zip(jaxpr.invars[count:], leaves, strict=True))
        for equation in traced.remainder:
            evaluate(equation, env)
        out = [read(env, var) for var in jaxpr.outvars]
        new, y = jax.tree.unflatten(traced.out_tree, out)
        squashed = [rows(env[block.var]) for block in blocks]
        return new, y, jnp.concatenate([nothing, *squashed], axis=1)

    return Instrumented(
        step,
        state,
        received,
        reverse,
        names_of(cells, blocks),
        [block.kind for block in blocks],
        [jax.eval_shape(rows, block.var.aval).shape[1] for block in blocks],
    )


def cells_in_turn(network: Layer, xs: Any, state: Any, run_cell: RunCell) -> tuple[Any, Any]:
    """Run every cell that is stepped on its own by `run_cell`, as `unroll` does.

    Args:
        network, xs, state: as for `unroll`.
        run_cell: `run_cell(path, cell, xs, state, reverse)`, called in the order of computation.
            The path is that in the network, for example `.cell.layers[0]`.

    Returns:
        Outputs and final state of the network.
    """
    places = {id(part): path for path, part in cells_within(network).items()}

    def run_part(part: Layer, xs: Any, state: Any, reverse: bool) -> tuple[Any, Any]:
        if part.in_parts:
            return over_parts(part, xs, state, run_part, reverse)
        path = places.get(id(part), places.get(id(part.stands_for()), ""))
        return run_cell(path, part, xs, state, reverse)

    return run_part(network, xs, state, False)
