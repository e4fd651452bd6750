"""Running a cell through time."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Cell
from ._check import (
    can_step,
    check_batched,
    check_compute,
    check_lengths,
    check_memory,
    check_state,
    check_structure,
    check_taps,
    expected_state,
    in_line,
    one_time,
    sizes,
)
from ._engine import Inputs
from ._mixed import inputs_in
from ._rule import run_through_time, slopes_through_time
from ._step import Step, take_apart
from ._weak import is_weak


def unroll(
    cell: Any,
    xs: Any,
    state: Any = None,
    *,
    lengths: Any = None,
    reverse: bool = False,
    memory: str | int = "all",
    compute: Any = None,
    taps: dict[str, jax.Array] | None = None,
    watch: str | None = None,
    backend: str | None = None,
    on_failure: str = "scan",
) -> tuple[Any, Any]:
    """Run a cell over a sequence: `state, y_t = cell.step(state, cell.inputs(x_t))` for all t.

    Any transform of JAX may be applied to it. First derivatives (`grad`, `jvp`, `linearize`,
    `linear_transpose`) go through the engine's one rule, whose weight gradients are a single
    product over all steps; second derivatives are exact.

    Args:
        cell: a `Cell`, or a layer made of cells such as `Bidirectional`.
        xs: the inputs, time first: `(T, *batch, inputs)` with any number of batch axes.
        state: the state before the first step; by default `cell.initial(batch)`.
        lengths: integers `(*batch,)`, the number of valid steps of each sequence. The result is
            what each sequence alone would give: the final state is that after its last valid
            step, and outputs past its end are zero.
        reverse: run from the last (valid) step to the first. Outputs stay where their inputs are.
        memory: what the gradient keeps. `"all"`: the states of every step. `"sqrt"`: those of
            every 2⌊√T⌋-th, recomputing the rest, O(√T) memory for about one more forward pass. A
            number: those of every so many steps.
        compute: dtype of the operands of all products, for example `"bfloat16"`; sums, states
            and parameters keep theirs. By default nothing is rounded.
        taps: offsets for the recurrent products, from `taps(cell, xs)`; their gradient is the
            error at each pre-activation. Products of integers, truth values or complex numbers
            have none, and are not watched.
        watch: also return what happens inside, for every cell that is stepped: its `"states"` after
            each step, its `"products"`, the values of its recurrent products (pre-activations), or
            their `"slopes"`, by how much each pre-activation moves the state of that step alone
            (`1 - h²` for tanh units).
        backend: `"scan"`, or `"persistent"`: on a GPU, kernels that stay for all of time; an error
            says why where a cell, a shape or a device does not allow them. By default these where
            they can be had and one launch holds the batch, on a machine with one GPU of the
            generation of the H100; the scan everywhere else.
        on_failure: what follows when a kernel gives up, as its programs cannot all be on the GPU
            at once. `"scan"`: the scan does the work again, with a warning; the host waits for each
            kernel to know. `"nan"`: nobody waits, and the results, or a gradient if that failed,
            are NaN; for a loop that looks at its losses anyway.

    Returns:
        The outputs `(T, *batch, ...)` and the final state. With `watch` the first is a pair: the
        outputs, and a list of arrays with time first.

    Example:
        >>> cell = ostinato.cells.LSTM(3, 16, key=jax.random.key(0))
        >>> ys, (h, c) = ostinato.unroll(cell, jnp.ones((100, 8, 3)))
        >>> ys.shape
        (100, 8, 16)
    """
    steps, batch = sizes(cell, xs)
    chunk = check_memory(memory, steps)
    valid = None
    if lengths is not None:
        lengths = check_lengths(lengths, steps, batch)
        check_batched("inputs", xs, (steps, *batch))
        valid = jnp.arange(steps).reshape(-1, *(1 for _ in batch)) < lengths
        xs = jax.tree.map(lambda x: _where(valid, x, _padding(x, lengths)), xs)
    if isinstance(cell, Cell):
        cell.check_inputs(xs)
    compute = check_compute(compute)
    if not isinstance(reverse, bool | np.bool_):
        raise ValueError(f"reverse must be True or False, got {in_line(reverse)}")
    if watch not in WATCHED:
        raise ValueError(f"watch must be 'states', 'products' or 'slopes', got {watch!r}")
    if backend not in BACKENDS:
        raise ValueError(f"backend must be 'scan' or 'persistent', got {backend!r}")
    if on_failure not in FAILURES:
        raise ValueError(f"on_failure must be 'scan' or 'nan', got {on_failure!r}")
    options = _Options(bool(reverse), chunk, compute, watch, backend, on_failure)
    if taps is not None:
        if watch is not None:
            raise ValueError("give either taps or watch, not both")
        if chunk < steps:
            raise ValueError(
                f"taps need memory='all', as they hold an array for every step, got {memory!r}"
            )
    if state is not None and not can_step(cell):
        check_structure(cell, state, batch)
    return _compiled(cell, xs, state, valid, taps, options)


def taps(cell: Any, xs: Any) -> dict[str, jax.Array]:
    """Zero offsets for the recurrent products of a cell or layer, by the path of their weight.

    The gradient with respect to them is the error at each pre-activation.

    Example:
        >>> def loss(offsets):
        ...     ys, _ = unroll(cell, xs, taps=offsets)
        ...     return jnp.sum(ys[-1])
        >>> jax.grad(loss)(taps(cell, xs))
        {'.R': Array(...)}
    """
    shapes = _tap_shapes(cell, xs)
    return {name: jnp.zeros(x.shape, x.dtype) for name, x in shapes.items()}


def _tap_shapes(cell: Any, xs: Any) -> dict[str, jax.ShapeDtypeStruct]:
    steps, batch = sizes(cell, xs)
    if not can_step(cell):
        return _tap_shapes_of_parts(cell, xs)
    parameters, static = eqx.partition(cell, eqx.is_array)
    state = expected_state(cell, batch, xs)
    us = eqx.filter_eval_shape(cell.inputs, xs)
    step = _take_apart(static, parameters, state, xs, us, None)
    return {
        name: jax.ShapeDtypeStruct((steps, *tap.shape.shape), tap.shape.dtype)
        for name, tap in zip(step.names, step.taps, strict=True)
    }


def _tap_shapes_of_parts(layer: Any, xs: Any) -> dict[str, jax.ShapeDtypeStruct]:
    """Those of all cells of a layer that has no step of its own."""
    found: dict[str, jax.ShapeDtypeStruct] = {}

    def run(part, xs, state=None, *, reverse=False):
        path = _path(part, layer)
        found.update({path + name: shape for name, shape in _tap_shapes(part, xs).items()})
        return unroll(part, xs, state, reverse=reverse)

    eqx.filter_eval_shape(lambda xs: layer.over_time(run, xs, None), xs)
    return found


def _path(part: Any, whole: Any) -> str:
    """Where a module stands in another one, for example `.forward`; nothing for one made anew."""
    leaves = jax.tree_util.tree_leaves_with_path(whole, is_leaf=lambda x: x is part)
    return next((jax.tree_util.keystr(path) for path, leaf in leaves if leaf is part), "")


WATCHED = (None, "states", "products", "slopes")
BACKENDS = (None, "scan", "persistent")
FAILURES = ("scan", "nan")


class _Options(eqx.Module):
    reverse: bool
    chunk: int
    compute: Any
    watch: str | None
    backend: str | None
    on_failure: str


@eqx.filter_jit
def _compiled(cell, xs, state, valid, taps, options: _Options):
    if can_step(cell):
        state = starting_state(cell, xs, state)
    return _in_chunks(cell, xs, state, valid, taps, options)


def _in_chunks(cell, xs, state, valid, taps, options: _Options):
    """Split the time into chunks of which only the first state is kept."""
    steps = jax.tree.leaves(xs)[0].shape[0]
    chunk = options.chunk
    if chunk >= steps or not can_step(cell):
        return _run(cell, xs, state, valid, taps, options)
    parameters, static = eqx.partition(cell, eqx.is_array)

    @jax.checkpoint
    def run(parameters, state, piece):
        ys, state = _run(eqx.combine(parameters, static), piece[0], state, piece[1], None, options)
        return state, ys

    # What does not fill a chunk is run last, whichever the direction.
    whole, rest = divmod(steps, chunk)
    cut = rest if options.reverse else whole * chunk
    early, late = (_between(start, stop, (xs, valid)) for start, stop in ((0, cut), (cut, steps)))
    looped, last = (late, early) if options.reverse else (early, late)
    pieces = jax.tree.map(lambda x: x.reshape(whole, chunk, *x.shape[1:]), looped)
    state, ys = jax.lax.scan(
        lambda state, piece: run(parameters, state, piece), state, pieces, reverse=options.reverse
    )
    ys = jax.tree.map(lambda y: y.reshape(whole * chunk, *y.shape[2:]), ys)
    if rest:
        state, more = run(parameters, state, last)
        order = (more, ys) if options.reverse else (ys, more)
        ys = jax.tree.map(lambda *parts: jnp.concatenate(parts), *order)
    return ys, state


def _run(cell, xs, state, valid, taps, options: _Options):
    """One stretch of time with everything kept."""
    watch = options.watch
    if hasattr(cell, "over_time") and (taps is None or not can_step(cell)):
        seen: list = []

        def run(part, xs, state=None, *, reverse=False):
            if can_step(part):
                state = starting_state(part, xs, state)
            own = None if taps is None else _below(_path(part, cell), taps)
            turned = dataclasses.replace(options, reverse=options.reverse != reverse)
            ys, state = _in_chunks(part, xs, state, valid, own, turned)
            if watch is not None:
                ys, more = ys
                seen.extend(more)
            return ys, state

        ys, state = cell.over_time(run, xs, state)
        if valid is not None:
            ys = jax.tree.map(lambda y: _where(valid, y, jnp.zeros_like(y)), ys)
        return (ys if watch is None else (ys, seen)), state

    parameters, static = eqx.partition(cell, eqx.is_array)

    def project(parameters, xs):
        return eqx.combine(parameters, static).inputs(xs)

    compute = options.compute
    if compute is None:
        us, late = project(parameters, xs), None
    else:
        us, late = inputs_in(compute, project, parameters, xs)
    step = _take_apart(static, parameters, state, xs, us, valid, late, watch)
    weights, small = step.prepare(parameters)
    u_leaves = jax.tree.leaves((us, valid))
    steps = jax.tree.leaves(xs)[0].shape[0]
    offsets = [] if taps is None else check_taps(taps, step, steps)
    inputs = Inputs(weights, small, jax.tree.leaves(state), u_leaves, offsets)
    how: dict[str, Any] = {
        "reverse": options.reverse,
        "compute": compute,
        "unroll": _steps_per_iteration(steps),
    }
    final, found = run_through_time(
        step,
        inputs,
        **how,
        watch=watch == "products",
        backend=options.backend,
        on_failure=options.on_failure,
    )
    y_tree = step.out_tree.children()[1]
    ys = jax.tree.unflatten(y_tree, found[: y_tree.num_leaves])
    if watch == "products":
        ys = ys, found[y_tree.num_leaves :]
    if watch == "slopes":
        ys = ys, slopes_through_time(step, inputs, **how)
    return ys, jax.tree.unflatten(jax.tree.structure(state), final)


def _below(path: str, taps: dict) -> dict:
    """The offsets of a part, by the names that they have in it."""
    return {name[len(path) :]: x for name, x in taps.items() if name.startswith(path)}


def _between(start: int, stop: int, tree):
    return jax.tree.map(lambda x: x[start:stop], tree)


def starting_state(cell: Cell, xs, state):
    """The given state, checked, or else the cell's own."""
    _, batch = sizes(cell, xs)
    expected = expected_state(cell, batch, xs)
    if state is not None:
        check_state(cell, state, expected, xs)
        return jax.tree.map(lambda x: jnp.asarray(x, x.dtype) if is_weak(x) else x, state)
    return jax.tree.map(lambda x, like: jnp.asarray(x, like.dtype), cell.initial(batch), expected)


def _steps_per_iteration(steps: int) -> int:
    """How many steps to write out in one iteration of the compiled loop.

    On a GPU an iteration has a cost of its own, and about eight steps hide it (measured; a number
    of steps that does not divide the whole costs more than it saves). On a CPU one is best.
    """
    if jax.default_backend() != "gpu":
        return 1
    return next((n for n in range(10, 3, -1) if steps % n == 0), 8)


def _take_apart(static, parameters, state, xs, us, valid, late=None, watch=None) -> Step:
    """The step of a cell, which past the end of a sequence keeps its state and returns zero.

    `late` holds what each step still has to add to the leaves of `u`; see `inputs_in`. Where the
    states are watched, they are part of what the step returns.
    """

    exact = eqx.filter_eval_shape(eqx.combine(parameters, static).inputs, xs)

    def step(parameters, state, u):
        u, valid = u
        u = jax.tree.map(
            lambda u, like: u if u.dtype == like.dtype else u.astype(like.dtype), u, exact
        )
        if late is not None:
            leaves, tree = jax.tree.flatten(u)
            added = [u if b is None else u + b for u, b in zip(leaves, late, strict=True)]
            u = jax.tree.unflatten(tree, added)
        new, y = eqx.combine(parameters, static).step(state, u)
        if watch == "states":
            y = y, jax.tree.leaves(eqx.filter(new, eqx.is_inexact_array))
        if valid is not None:
            check_batched("state and output of a step", (new, y), valid.shape)
            new = jax.tree.map(lambda a, b: _where(valid, a, b), new, state)
            y = jax.tree.map(lambda a: _where(valid, a, jnp.zeros_like(a)), y)
        return new, y

    return take_apart(step, parameters, state, one_time((us, valid)), real_only=True)


def _padding(x, lengths):
    """What stands past the end of a sequence: its first input, which a step surely can read.

    Zeros could make a step divide by zero, and the derivative NaN, though nothing depends on it.
    """
    return _where((lengths > 0)[None], x[:1], jnp.zeros_like(x[:1]))


def _where(valid, a, b):
    return jnp.where(valid.reshape(valid.shape + (1,) * (a.ndim - valid.ndim)), a, b)
