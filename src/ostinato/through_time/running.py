"""A cell or layer through time, compiled: from chunks of time down to single cells.

    through_time        chunks of time, each recomputed for the gradient (`memory`)
    └ one_stretch       one chunk, or all of the time
      ├ _layer          a layer made of cells: `through_time` for each of its parts
      └ _cell           a cell: its step is taken apart and run by the engine

What is the same for all parts of a layer (direction apart) travels as `Options` and `Borders`.
Whoever wants to follow a layer through time, part by part, calls `over_parts`.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Layer
from ._engine import Inputs, run_through_time, slopes_through_time
from ._mixed import inputs_in
from .backends.backend import steps_at_once
from .check import check_batched, check_state, check_taps, expected_state, is_weak, sizes
from .lengths_and_resets import Borders, held, restarted, without_padding
from .mesh_axes import at_one_time, placed_as_stepped, varying_alike
from .step import Step, take_apart

MANY = 100  # operations of a step
# part, inputs, state or None, backwards -> outputs, final state
RunPart = Callable[[Layer, Any, Any, bool], tuple[Any, Any]]


class Options(eqx.Module):
    """How to run, as `unroll` was told, after checking.

    Attributes:
        reverse: from the last step to the first.
        chunk: steps between the states that are kept.
        compute: dtype of the products' operands, or `None`.
        watch: what to return besides the outputs, or `None`.
        backend, on_failure: see `unroll`.
    """

    reverse: bool
    chunk: int
    compute: Any
    watch: str | None
    backend: str | None
    on_failure: str


class Start(eqx.Module):
    """An array of the state: before the first step, and wherever a sequence begins.

    The first has the batch axes, the second has axes of size 1 in their place.
    """

    first: Any
    restart: Any


@eqx.filter_jit
def compiled(cell, xs, state, borders: Borders, taps, options: Options):
    """`through_time`, compiled; the state may be `None`."""
    return through_time(cell, xs, _starts(cell, xs, state, borders), borders, taps, options)


def through_time(cell, xs, state, borders: Borders, taps, options: Options):
    """Outputs and final state; of chunks of time only the first state is kept.

    The state is one of arrays, or with resets one of `Start`s.
    """
    cell, xs, state, borders, taps = varying_alike((cell, xs, state, borders, taps))
    steps = jax.tree.leaves(xs)[0].shape[0]
    chunk = options.chunk
    if chunk >= steps or not cell.can_step:
        return one_stretch(cell, xs, state, borders, taps, options)
    parameters, static = eqx.partition(cell, eqx.is_array)
    state, restart = _split(state)

    @jax.checkpoint
    def run(parameters, restart, state, piece):
        xs, borders = piece
        cell, state = eqx.combine(parameters, static), _joined(state, restart)
        ys, state = one_stretch(cell, xs, state, borders, None, options)
        return state, ys

    # What does not fill a chunk is run last, whichever the direction.
    whole, rest = divmod(steps, chunk)
    cut = rest if options.reverse else whole * chunk
    early, late = (_between(start, stop, (xs, borders)) for start, stop in ((0, cut), (cut, steps)))
    looped, last = (late, early) if options.reverse else (early, late)
    pieces = jax.tree.map(lambda x: x.reshape(whole, chunk, *x.shape[1:]), looped)
    state, ys = jax.lax.scan(
        lambda state, piece: run(parameters, restart, state, piece),
        state,
        pieces,
        reverse=options.reverse,
        unroll=steps_at_once(pieces),
    )
    ys = jax.tree.map(lambda y: y.reshape(whole * chunk, *y.shape[2:]), ys)
    if rest:
        state, more = run(parameters, restart, state, last)
        order = (more, ys) if options.reverse else (ys, more)
        ys = jax.tree.map(lambda *parts: jnp.concatenate(parts), *order)
    return ys, state


def one_stretch(cell, xs, state, borders: Borders, taps, options: Options):
    """A stretch of time with everything kept."""
    if cell.in_parts and (taps is None or not cell.can_step):
        return _layer(cell, xs, state, borders, taps, options)
    return _cell(cell, xs, state, borders, taps, options)


def _layer(layer, xs, state, borders: Borders, taps, options: Options):
    """A layer made of cells, by its own `over_time`."""
    watched: list = []

    def run_part(part, xs, state, reverse):
        state = _starts(part, xs, state, borders)
        own = None if taps is None else _below(path_of(part, layer), taps)
        directed = dataclasses.replace(options, reverse=reverse)
        ys, state = through_time(part, xs, state, borders, own, directed)
        if options.watch is not None:
            ys, more = ys
            watched.extend(more)
        return ys, state

    ys, state = over_parts(layer, xs, state, run_part, options.reverse)
    ys = without_padding(ys, borders.valid)
    return (ys if options.watch is None else (ys, watched)), state


def _cell(cell, xs, state, borders: Borders, taps, options: Options):
    """A cell, by the engine."""
    state, restart = _split(state)
    compute, watch = options.compute, options.watch
    us, late = (cell.inputs(xs), None) if compute is None else inputs_in(compute, cell, xs)
    state = placed_as_stepped(cell, state, us)
    received = (us, borders.valid, borders.resets(options.reverse))
    step = step_of(cell, state, xs, received, late=late, restart=restart, watch=watch)
    weights, small = step.prepare(cell)
    steps = jax.tree.leaves(xs)[0].shape[0]
    offsets = [] if taps is None else check_taps(taps, step, steps)
    inputs = Inputs(weights, small, jax.tree.leaves(state), jax.tree.leaves(received), offsets)
    how: dict[str, Any] = {
        "reverse": options.reverse,
        "compute": compute,
        "unroll": _steps_per_iteration(steps, len(step.remainder)),
    }
    final, stacked = run_through_time(
        step,
        inputs,
        **how,
        watch=watch == "products",
        backend=options.backend,
        on_failure=options.on_failure,
    )
    y_tree = step.out_tree.children()[1]
    ys = jax.tree.unflatten(y_tree, stacked[: y_tree.num_leaves])
    if watch == "products":
        ys = ys, stacked[y_tree.num_leaves :]
    if watch == "slopes":
        ys = ys, slopes_through_time(step, inputs, **how)
    return ys, jax.tree.unflatten(jax.tree.structure(state), final)


def step_of(cell, state, xs, received, *, late=None, restart=None, watch=None) -> Step:
    """The step of a cell, taken apart, as the engine runs it.

    Args:
        cell: the cell.
        state: the state before the first step.
        xs: the cell's inputs, time first.
        received: what the steps receive, time first: `inputs(xs)`, and from `Borders` which steps
            are valid and before which the state restarts, or `None`.
        late: what each step still has to add to the leaves of `inputs(xs)`; see `inputs_in`.
        restart: the state with which a sequence begins after a reset.
        watch: with `"states"`, the new state is part of what the step returns.
    """
    exact = eqx.filter_eval_shape(cell.inputs, xs)

    def step(cell, state, received):
        u, valid, reset = received
        u = jax.tree.map(
            lambda u, like: u if u.dtype == like.dtype else u.astype(like.dtype), u, exact
        )
        if late is not None:
            leaves, tree = jax.tree.flatten(u)
            added = [u if b is None else u + b for u, b in zip(leaves, late, strict=True)]
            u = jax.tree.unflatten(tree, added)
        if reset is not None:
            check_batched("state", state, reset.shape)
        new, y = cell.step(restarted(state, restart, reset), u)
        if watch == "states":
            y = y, jax.tree.leaves(eqx.filter(new, eqx.is_inexact_array))
        if valid is not None:
            check_batched("state and output of a step", (new, y), valid.shape)
        return held(new, state, valid), without_padding(y, valid)

    return take_apart(step, cell, state, at_one_time(received), real_only=True)


def _below(path: str, taps: dict) -> dict:
    """The offsets of a part, by the names that they have in it."""
    return {name[len(path) :]: x for name, x in taps.items() if name.startswith(path)}


def _between(start: int, stop: int, tree):
    return jax.tree.map(lambda x: x[start:stop], tree)


def _starts(cell, xs, state, borders: Borders):
    """The state to begin with: checked, or the cell's own; with resets as `Start`s."""
    _, batch = sizes(cell, xs)
    if borders.forward is None:
        if cell.can_step:
            return starting_state(cell, xs, state)
        return cell.initial(batch) if state is None else state
    first, restart = _split(state)
    first = starting_state(cell, xs, first) if cell.can_step else first
    first = cell.initial(batch) if first is None else first
    if restart is None:
        restart = cell.initial((1,) * len(batch))
    return _joined(first, jax.tree.map(lambda x, like: jnp.asarray(x, like.dtype), restart, first))


def _joined(first, restart):
    if restart is None:
        return first
    return jax.tree.map(Start, first, restart)


def _split(state) -> tuple[Any, Any]:
    """The first state, and that of restarts or `None`."""
    if not any(isinstance(x, Start) for x in jax.tree.leaves(state, is_leaf=_is_start)):
        return state, None
    first = jax.tree.map(lambda x: x.first, state, is_leaf=_is_start)
    return first, jax.tree.map(lambda x: x.restart, state, is_leaf=_is_start)


def _is_start(x) -> bool:
    return isinstance(x, Start)


def starting_state(cell: Layer, xs, state):
    """The given state, checked, or else the cell's own."""
    _, batch = sizes(cell, xs)
    expected = expected_state(cell, batch, xs)
    if state is not None:
        check_state(cell, state, expected, xs)
        return jax.tree.map(lambda x: jnp.asarray(x, x.dtype) if is_weak(x) else x, state)
    return jax.tree.map(lambda x, like: jnp.asarray(x, like.dtype), cell.initial(batch), expected)


def _steps_per_iteration(steps: int, operations: int) -> int:
    """How many steps to write out in one iteration of the compiled loop.

    On a GPU an iteration has a cost of its own, and about eight steps hide it (measured; a number
    of steps that does not divide the whole costs more than it saves). On a CPU one is best, and so
    it is for steps of many operations: eight steps of a neural Turing machine, of 150 operations
    each, took XLA minutes to compile for a GPU.
    """
    if jax.default_backend() != "gpu" or operations > MANY:
        return 1
    return next((n for n in range(10, 3, -1) if steps % n == 0), 8)


def over_parts(layer: Layer, xs: Any, state: Any, run_part: RunPart, reverse: bool = False) -> Any:
    """Run a layer by its own `over_time`, and each of its parts by `run_part`.

    Args:
        layer: a layer, such as `Stack` or `Bidirectional`.
        xs: inputs of the layer, time first.
        state: state of the layer, or `None`.
        run_part: `run_part(part, xs, state, reverse)`, called in the order of computation.
        reverse: whether the layer itself is read backwards. A part that the layer reads backwards
            is then read forwards.

    Returns:
        Outputs and final state of the layer.
    """

    def run(part: Layer, xs: Any, state: Any = None, *, reverse: bool = False) -> tuple[Any, Any]:
        return run_part(part, xs, state, backwards != reverse)

    backwards = reverse
    return layer.over_time(run, xs, state)


def parts_with_inputs(layer: Layer, xs: Any, run: Callable) -> list[tuple[str, Layer, Any]]:
    """The parts of a layer: the path of each, the part, and shapes and dtypes of its inputs.

    Args:
        layer, xs: the layer and its inputs.
        run: `run(part, xs, state, reverse=...)` gives a part's outputs, as `unroll` does.
    """
    cells = []
    layer = jax.tree.map(lambda x: x, layer)  # a part that is there twice becomes two objects

    def visit(part: Layer, xs: Any, state: Any, reverse: bool) -> tuple[Any, Any]:
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), xs)
        cells.append((path_of(part, layer), part, shapes))
        return run(part, xs, state, reverse=reverse)

    eqx.filter_eval_shape(lambda xs: over_parts(layer, xs, None, visit), xs)
    return cells


def path_of(part: Any, whole: Any) -> str:
    """Where a module is in another one, for example `.forward`; nothing for one made on the way."""
    leaves = jax.tree_util.tree_leaves_with_path(whole, is_leaf=lambda x: x is part)
    return next((jax.tree_util.keystr(path) for path, leaf in leaves if leaf is part), "")
