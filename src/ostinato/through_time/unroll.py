"""Running a cell through time."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Layer
from ..errors import BadInput
from .backends import BACKENDS
from .check import check_compute, check_memory, check_structure, expected_state, in_line, sizes
from .lengths_and_resets import find_borders
from .running import Options, compiled, parts_with_inputs, step_of

WATCHED = (None, "states", "products", "slopes")
FAILURES = ("scan", "nan")


def unroll(
    cell: Layer,
    xs: Any,
    state: Any = None,
    *,
    lengths: Any = None,
    resets: Any = None,
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
        resets: booleans `(T, *batch)`: where true, a new sequence begins, and the state before that
            step is `cell.initial`, so several sequences can be packed into one row. Nothing flows
            back across the border. A given `state` counts at step 0 unless `resets[0]` is true.
            Read backwards, each sequence starts anew at its own last step.
        reverse: run from the last (valid) step to the first. Outputs stay where their inputs are.
        memory: what is kept for the gradient. `"all"`: the states of every step. `"sqrt"`: those of
            every 2⌊√T⌋-th step, recomputing the rest; O(√T) memory for about one more forward pass.
            A number n: those of every n-th step.
        compute: dtype of the operands of all products, for example `"bfloat16"`; sums, states
            and parameters keep theirs. By default nothing is rounded.
        taps: offsets for the recurrent products, from `taps(cell, xs)`; their gradient is the
            error at each pre-activation. Products of integers, truth values or complex numbers
            have none, and are not watched.
        watch: also return what happens inside, for every cell that is stepped: its `"states"` after
            each step, its `"products"`, the values of its recurrent products (pre-activations), or
            their `"slopes"`, by how much each pre-activation moves the state of that step alone
            (`1 - h²` for tanh units).
        backend: `"scan"`, or `"persistent"`: on a GPU, one kernel for all steps; an error says why
            if a cell, a shape or a device does not allow it. By default persistent kernels where
            they apply and one launch holds the batch, on a machine with one GPU of the generation
            of the H100; the scan everywhere else.
        on_failure: what to do if a kernel launch fails because its programs cannot all be on the
            GPU at once. `"scan"`: run the scan instead, with a warning; the host waits for each
            kernel to find out. `"nan"`: the host does not wait, and the results or gradients are
            NaN; for a training loop that checks its losses anyway.

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
    xs, borders = find_borders(xs, lengths, resets, steps, batch)
    cell.check_inputs(xs)
    compute = check_compute(compute)
    if not isinstance(reverse, bool | np.bool_):
        raise BadInput(f"reverse must be True or False, got {in_line(reverse)}")
    if watch not in WATCHED:
        raise BadInput(f"watch must be 'states', 'products' or 'slopes', got {watch!r}")
    if backend is not None and backend not in BACKENDS:
        names = " or ".join(map(repr, BACKENDS))
        raise BadInput(f"backend must be {names}, got {backend!r}")
    if on_failure not in FAILURES:
        raise BadInput(f"on_failure must be 'scan' or 'nan', got {on_failure!r}")
    options = Options(bool(reverse), chunk, compute, watch, backend, on_failure)
    if taps is not None:
        if watch is not None:
            raise BadInput("give either taps or watch, not both")
        if chunk < steps:
            raise BadInput(
                f"taps need memory='all' because they hold an array for every step, got {memory!r}"
            )
    if state is not None and not cell.can_step:
        check_structure(cell, state, batch)
    return compiled(cell, xs, state, borders, taps, options)


def taps(cell: Layer, xs: Any) -> dict[str, jax.Array]:
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


def _tap_shapes(cell: Layer, xs: Any) -> dict[str, jax.ShapeDtypeStruct]:
    steps, batch = sizes(cell, xs)
    if not cell.can_step:
        return {
            path + name: shape
            for path, part, inputs in parts_with_inputs(cell, xs, unroll)
            for name, shape in _tap_shapes(part, inputs).items()
        }
    state = expected_state(cell, batch, xs)
    us = eqx.filter_eval_shape(cell.inputs, xs)
    step = step_of(cell, state, xs, (us, None, None))
    return {
        name: jax.ShapeDtypeStruct((steps, *tap.shape.shape), tap.shape.dtype)
        for name, tap in zip(step.names, step.taps, strict=True)
    }
