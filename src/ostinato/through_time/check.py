"""What `unroll` checks before it starts: one line that names the expected and the given shape."""

import math
import numbers
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr

from ..cells import Layer
from ..errors import BadInput
from .step import Step, inline


def sizes(cell: Layer, xs: Any) -> tuple[int, tuple[int, ...]]:
    """The number of steps and the batch axes of `xs`."""
    check_layer(cell)
    name, leaves = type(cell).__name__, jax.tree.leaves(xs)
    if not leaves:
        raise BadInput(f"{name} expects inputs with time first, got none")
    shape, own = jnp.shape(leaves[0]), cell.input_axes
    if len(shape) < 1 + own:
        features = ", inputs" if own else ""
        raise BadInput(f"{name} expects inputs of shape (T, *batch{features}), got {shape}")
    for leaf in leaves[1:]:
        if jnp.shape(leaf)[:1] != shape[:1]:
            raise BadInput(
                f"{name} got inputs of different numbers of steps: {shape} and {jnp.shape(leaf)}"
            )
    return shape[0], shape[1 : len(shape) - own]


# How a module of another library becomes a cell.
IMPORTS = {"torch": "ostinato.wiring.from_torch", "keras": "ostinato.wiring.from_keras"}


def check_layer(cell: Any) -> None:
    """Refuse what is neither a cell nor a layer, such as the cell of another library."""
    if isinstance(cell, Layer):
        return
    if isinstance(cell, type):
        raise BadInput(f"expected a cell, got the class {cell.__name__}: make one of its objects")
    kind = type(cell)
    library = kind.__module__.partition(".")[0]
    found = f"expected a cell of Ostinato, got {kind.__name__} of {library}"
    if library in IMPORTS:
        raise BadInput(f"{found}: import it by {IMPORTS[library]}, or write a subclass of Cell")
    raise BadInput(
        f"{found}: write a subclass of ostinato.Cell that holds it as a field and has three "
        "methods: initial(batch) returns zeros, inputs(x) returns x, and step(state, x) calls it, "
        "by jax.vmap over a batch, and returns the new state and the output"
    )


def check_memory(memory: Any, steps: int) -> int:
    """The number of steps between the states that are kept."""
    if isinstance(memory, str) and memory == "all":
        return max(steps, 1)
    if isinstance(memory, str) and memory == "sqrt":
        # Twice the root: half as many pieces to go through, for a memory that is still O(√T).
        return max(2 * math.isqrt(steps), 1)
    if is_whole(memory) and memory >= 1:
        return min(int(memory), max(steps, 1))
    raise BadInput(f"memory must be 'all', 'sqrt' or a number of steps, got {in_line(memory)}")


def is_whole(x: Any) -> bool:
    """Whether it is an integer of Python or NumPy; a truth value is none."""
    return isinstance(x, numbers.Integral) and not isinstance(x, bool)


def in_line(x: Any) -> str:
    """Anything on one line, for a message."""
    words = " ".join(repr(x).split())
    return words if len(words) <= 100 else f"{words[:100]} …"


def check_compute(compute: Any) -> Any:
    """The dtype of the products' operands, or `None`."""
    if compute is None:
        return None
    try:
        dtype = jnp.dtype(compute)
    except (TypeError, ValueError):
        dtype = None
    if dtype is None or not jnp.issubdtype(dtype, jnp.floating):
        raise BadInput(
            "compute must be a floating dtype such as 'bfloat16', 'float16' or 'float32', got "
            f"{in_line(compute)}"
        )
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise BadInput(f"compute={dtype.name!r} needs jax_enable_x64, which is off")
    return dtype


def check_lengths(lengths: Any, steps: int, batch: tuple[int, ...]) -> jax.Array:
    """Lengths as an array, after checking shape, dtype and, where they are known, range.

    They are checked before they become an array of JAX, in which a large number would wrap.
    """
    if not any(isinstance(x, jax.Array) for x in jax.tree.leaves(lengths)):
        lengths = _as_numpy(lengths, batch)
    values = lengths if isinstance(lengths, np.ndarray) else jnp.asarray(lengths)
    if values.shape != batch:
        raise BadInput(f"lengths must have the batch's shape {batch}, got {values.shape}")
    if values.dtype != object and not jnp.issubdtype(values.dtype, jnp.integer):
        raise BadInput(f"lengths must be integers of shape {batch}, got {values.dtype}")
    if not isinstance(values, jax.core.Tracer) and values.size:
        known = np.asarray(values)
        low, high = int(known.min()), int(known.max())
        if low < 0 or high > steps:
            wrong = low if low < 0 else high
            raise BadInput(f"lengths must be from 0 to T = {steps}, got {wrong}")
    return jnp.asarray(values, int if values.dtype == object else None)


def check_resets(resets: Any, steps: int, batch: tuple[int, ...]) -> jax.Array:
    """Resets as an array, after checking shape and dtype."""
    shape = (steps, *batch)
    try:
        values = resets if isinstance(resets, jax.Array) else np.asarray(resets)
    except ValueError:  # lists of unequal lengths
        raise BadInput(f"resets must have the shape {shape}, got {in_line(resets)}") from None
    if values.dtype != bool:
        raise BadInput(
            f"resets must be booleans of shape {shape}, got {values.dtype}: give "
            "np.asarray(resets).astype(bool)"
        )
    if values.shape != shape:
        raise BadInput(f"resets must have the shape {shape}, got {values.shape}")
    return jnp.asarray(values)


def _as_numpy(lengths: Any, batch: tuple[int, ...]) -> np.ndarray:
    """An array of numbers as it is; of anything else, such as a list, its whole numbers."""
    if isinstance(lengths, np.ndarray | np.generic) and lengths.dtype != object:
        return np.asarray(lengths)
    numbers = lengths.tolist() if isinstance(lengths, np.ndarray) else lengths
    for number in jax.tree.leaves(numbers, is_leaf=lambda x: x is None):
        if not is_whole(number):
            raise BadInput(f"lengths must be integers of shape {batch}, got {in_line(number)}")
    try:
        values = np.array(numbers, dtype=object)
    except ValueError:  # lists of unequal lengths
        values = None
    if values is None or not all(map(is_whole, values.flat)):
        raise BadInput(f"lengths must have the batch's shape {batch}, got {in_line(lengths)}")
    return values


def expected_state(cell: Layer, batch: tuple[int, ...], xs: Any) -> Any:
    """Shapes and dtypes of a cell's state, which its step keeps."""
    name = type(cell).__name__
    us = eqx.filter_eval_shape(cell.inputs, xs)
    u = one_time(us)
    state = eqx.filter_eval_shape(cell.initial, batch)
    for leaf in jax.tree.leaves(state):
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            raise BadInput(
                f"{name}.initial must return arrays, got {in_line(leaf)}: use jnp.zeros or jnp.full"
            )
    new, _ = eqx.filter_eval_shape(cell.step, state, u)
    if not same_structure(state, new):
        raise BadInput(
            f"{name}.step must return a state built like the one it got: expected "
            f"{describe(state)}, got {describe(new)}"
        )
    for a, b in zip(jax.tree.leaves(state), jax.tree.leaves(new), strict=True):
        if a.shape != b.shape:
            raise BadInput(
                f"{name}.step must keep the state's shape: expected {describe(state)}, got "
                f"{describe(new)}"
            )
        if a.dtype != b.dtype:
            raise BadInput(
                f"{name}.initial returns {a.dtype} where step returns {b.dtype}: give the zeros of "
                "initial the dtype of a parameter"
            )
    _check_weak(cell, [state, new], u)
    return strong(state)


def _check_weak(cell: Layer, states: list, u: Any) -> None:
    if weakness_matters(cell.step, states, u):
        raise BadInput(
            f"{type(cell).__name__} has a weakly typed state, which step would read in other "
            "dtypes at other times: give each array a dtype, as in jnp.full(shape, 1.0, dtype)"
        )


def one_time(tree: Any) -> Any:
    """Shapes and dtypes of one time, of arrays with time first."""
    return jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype, weak_type=is_weak(x)), tree
    )


def check_batched(what: str, tree: Any, axes: tuple[int, ...]) -> None:
    """Refuse, where sequences have lengths or resets, an array without an entry for each."""
    for leaf in jax.tree.leaves(tree):
        if jnp.shape(leaf)[: len(axes)] != axes:
            raise BadInput(
                f"with lengths or resets, {what} must begin with the axes {axes}, got "
                f"{jnp.shape(leaf)}"
            )


def check_state(cell: Layer, state: Any, expected: Any, xs: Any) -> None:
    """Refuse a state of another cell, batch or dtype."""
    for leaf in jax.tree.leaves(state):
        if not eqx.is_array_like(leaf) or isinstance(leaf, bool | int | float | complex):
            raise BadInput(
                f"{type(cell).__name__} expects a state of arrays, {describe(expected)}, got "
                f"{in_line(leaf)} in it"
            )
    same = same_structure(state, expected) and all(
        jnp.shape(given) == like.shape and jnp.result_type(given) == like.dtype
        for given, like in zip(jax.tree.leaves(state), jax.tree.leaves(expected), strict=True)
    )
    if not same:
        raise BadInput(
            f"{type(cell).__name__} expects a state {describe(expected)}, got {describe(state)}"
        )
    if any(map(is_weak, jax.tree.leaves(state))):
        _check_weak(cell, [state], one_time(eqx.filter_eval_shape(cell.inputs, xs)))


def check_structure(layer: Layer, state: Any, batch: tuple[int, ...]) -> None:
    """Refuse a state that is not built like that of a layer; its cells check their own parts."""
    expected = eqx.filter_eval_shape(layer.initial, batch)
    if not same_structure(state, expected):
        raise BadInput(
            f"{type(layer).__name__} expects a state {describe(expected)}, got {describe(state)}"
        )


def check_taps(taps: dict[str, Any], step: Step, steps: int) -> list:
    """The offsets in the order of the products, after checking names, shapes and dtypes."""
    expected = {
        name: f"{tap.shape.dtype}{(steps, *tap.shape.shape)}"
        for name, tap in zip(step.names, step.taps, strict=True)
    }
    given = {name: describe(offset) for name, offset in taps.items()}
    if given != expected:
        raise BadInput(f"taps must be those of taps(cell, xs): expected {expected}, got {given}")
    return [taps[name] for name in expected]


def check_can_step(cell: Layer, method: str) -> None:
    """Refuse what has no step, such as a layer that must see the whole sequence."""
    if not cell.can_step:
        raise BadInput(f"{method} needs a cell with a step, got {type(cell).__name__}")


def same_structure(a: Any, b: Any) -> bool:
    """Whether two pytrees are built alike."""
    one, other = jax.tree.structure(a), jax.tree.structure(b)
    return bool(one == other)  # type: ignore[operator]


def describe(tree: Any) -> str:
    """A state in words: `(float32(8, 16), float32(8, 16))`."""
    arrays = jax.tree.map(lambda x: f"{jnp.result_type(x)}{jnp.shape(x)}", tree)
    return " ".join(str(arrays).replace("'", "").split())


def is_weak(x: Any) -> bool:
    """Whether an array, or a shape and dtype, is weakly typed."""
    return bool(getattr(x, "weak_type", False))


def strong(tree: Any) -> Any:
    """The types of a tree of arrays or of types, none of them weak."""

    def of(x: Any) -> Any:
        return (jax.typeof(x) if eqx.is_array(x) else x).update(weak_type=False)

    return jax.tree.map(of, tree)


def weakness_matters(step: Callable, states: list, u: Any) -> bool:
    """Whether a step computes in other dtypes because a part of its state is weakly typed.

    JAX lets `jnp.full(shape, 0.5)`, made of a Python number, take on the dtype of whatever it
    meets: it is weakly typed. A loop of steps reads such a state at its first step, and from then
    on what `step` returned; the engine has one dtype for all steps.

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
    steps = []
    for equation in flat.eqns:
        operands: list[Any] = [var.aval for var in equation.invars]
        results: list[Any] = [var.aval for var in equation.outvars]
        ins, outs = ([aval.dtype for aval in avals] for avals in (operands, results))
        inner = [str(x) for x in equation.params.values() if isinstance(x, ClosedJaxpr | Jaxpr)]
        if equation.primitive.name != "convert_element_type" or ins != outs:
            steps.append((equation.primitive.name, ins, outs, inner))
    return steps
