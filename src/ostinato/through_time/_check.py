"""What `unroll` checks before it starts: one line that names the expected and the given shape."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Cell
from ._step import Step


def sizes(cell: Any, xs: Any) -> tuple[int, tuple[int, ...]]:
    """The number of steps and the batch axes of `xs`."""
    name, leaves = type(cell).__name__, jax.tree.leaves(xs)
    if not leaves:
        raise ValueError(f"{name} expects inputs with time first, got none")
    shape, own = jnp.shape(leaves[0]), cell.input_axes
    if len(shape) < 1 + own:
        features = ", inputs" if own else ""
        raise ValueError(f"{name} expects inputs of shape (T, *batch{features}), got {shape}")
    for leaf in leaves[1:]:
        if jnp.shape(leaf)[:1] != shape[:1]:
            raise ValueError(
                f"{name} got inputs of different numbers of steps: {shape} and {jnp.shape(leaf)}"
            )
    return shape[0], shape[1 : len(shape) - own]


def can_step(cell: Any) -> bool:
    """Whether it has a step: a cell has, a layer that must see the whole sequence has not."""
    return isinstance(cell, Cell) and cell.can_step


def check_memory(memory: str | int, steps: int) -> int:
    """The number of steps between the states that are kept."""
    if memory == "all":
        return max(steps, 1)
    if memory == "sqrt":
        # Twice the root: half as many pieces to go through, for a memory that is still O(√T).
        return max(2 * math.isqrt(steps), 1)
    if isinstance(memory, int) and not isinstance(memory, bool) and memory >= 1:
        return memory
    raise ValueError(f"memory must be 'all', 'sqrt' or a number of steps, got {memory!r}")


def check_lengths(lengths: Any, steps: int, batch: tuple[int, ...]) -> jax.Array:
    """Lengths as an array, after checking shape, dtype and, where they are known, range."""
    lengths = jnp.asarray(lengths)
    if lengths.shape != batch:
        raise ValueError(f"lengths must have the batch's shape {batch}, got {lengths.shape}")
    if not jnp.issubdtype(lengths.dtype, jnp.integer):
        raise TypeError(f"lengths must be integers of shape {batch}, got {lengths.dtype}")
    if not isinstance(lengths, jax.core.Tracer) and lengths.size:
        values = np.asarray(lengths)
        low, high = int(values.min()), int(values.max())
        if low < 0 or high > steps:
            wrong = low if low < 0 else high
            raise ValueError(f"lengths must be from 0 to T = {steps}, got {wrong}")
    return lengths


def expected_state(cell: Cell, batch: tuple[int, ...], xs: Any) -> Any:
    """Shapes and dtypes of a cell's state, as its own step returns it."""

    us = eqx.filter_eval_shape(cell.inputs, xs)
    u = jax.tree.map(lambda u: jax.ShapeDtypeStruct(u.shape[1:], u.dtype), us)
    state = eqx.filter_eval_shape(cell.initial, batch)
    new, _ = eqx.filter_eval_shape(cell.step, state, u)
    name = type(cell).__name__
    if not _same_structure(state, new):
        raise ValueError(
            f"{name}.step must return a state built like the one it got: expected "
            f"{describe(state)}, got {describe(new)}"
        )
    for a, b in zip(jax.tree.leaves(state), jax.tree.leaves(new), strict=True):
        if a.shape != b.shape:
            raise ValueError(
                f"{name}.step must keep the state's shape: expected {describe(state)}, got "
                f"{describe(new)}"
            )
    return new


def check_state(cell: Cell, state: Any, expected: Any) -> None:
    """Refuse a state of another cell, batch or dtype."""
    same = _same_structure(state, expected) and all(
        jnp.shape(given) == like.shape and jnp.result_type(given) == like.dtype
        for given, like in zip(jax.tree.leaves(state), jax.tree.leaves(expected), strict=True)
    )
    if not same:
        raise ValueError(
            f"{type(cell).__name__} expects a state {describe(expected)}, got {describe(state)}"
        )


def check_structure(layer: Any, state: Any, batch: tuple[int, ...]) -> None:
    """Refuse a state that is not built like that of a layer; its cells check their own parts."""
    expected = eqx.filter_eval_shape(layer.initial, batch)
    if not _same_structure(state, expected):
        raise ValueError(
            f"{type(layer).__name__} expects a state {describe(expected)}, got {describe(state)}"
        )


def check_taps(taps: dict[str, Any], step: Step, steps: int) -> list:
    """The offsets in the order of the products, after checking names and shapes."""
    expected = {
        name: (steps, *tap.shape.shape) for name, tap in zip(step.names, step.taps, strict=True)
    }
    given = {name: jnp.shape(offset) for name, offset in taps.items()}
    if given != expected:
        raise ValueError(f"taps must be those of taps(cell, xs): expected {expected}, got {given}")
    return [taps[name] for name in expected]


def _same_structure(a: Any, b: Any) -> bool:
    one, other = jax.tree.structure(a), jax.tree.structure(b)
    return bool(one == other)  # type: ignore[operator]


def describe(tree: Any) -> str:
    """A state in words: `(float32(8, 16), float32(8, 16))`."""
    arrays = jax.tree.map(lambda x: f"{jnp.result_type(x)}{jnp.shape(x)}", tree)
    return " ".join(str(arrays).replace("'", "").split())
