"""Where sequences begin and end inside a batch: padding, and sequences packed into one row.

    lengths = [5, 3]         x x x x x       resets     x x x y y
                             x x x . .                  1 0 0 1 0

Past its end a sequence keeps its state. Where `resets` is true a new sequence begins: the state
before that step is the cell's initial state, and nothing flows back across the border. Read
backwards, each packed sequence starts at its own last step, the one before the next reset.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .check import check_batched, check_lengths, check_resets


class Borders(NamedTuple):
    """Boolean arrays `(T, *batch)`, or `None` where nothing was given.

    Attributes:
        valid: the step belongs to a sequence and is not padding.
        forward: the state restarts before this step, reading forwards.
        backward: the state restarts before this step, reading backwards.
    """

    valid: jax.Array | None = None
    forward: jax.Array | None = None
    backward: jax.Array | None = None

    def resets(self, reverse: bool) -> jax.Array | None:
        """Where the state restarts, in that direction."""
        return self.backward if reverse else self.forward


def find_borders(
    xs: Any, lengths: Any, resets: Any, steps: int, batch: tuple[int, ...]
) -> tuple[Any, Borders]:
    """The inputs with harmless padding, and the borders, from checked `lengths` and `resets`."""
    valid = forward = backward = None
    if lengths is not None:
        lengths = check_lengths(lengths, steps, batch)
        check_batched("inputs", xs, (steps, *batch))
        valid = jnp.arange(steps).reshape(-1, *(1 for _ in batch)) < lengths
        xs = jax.tree.map(lambda x: where(valid, x, _padding(x, lengths)), xs)
    if resets is not None:
        check_batched("inputs", xs, (steps, *batch))
        forward = check_resets(resets, steps, batch)
        # A reset in the padding starts no sequence, so reading backwards none ends before it.
        forward = forward if valid is None else forward & valid
        backward = jnp.concatenate([forward[1:], jnp.zeros_like(forward[:1])])
    return xs, Borders(valid, forward, backward)


def restarted(state: Any, initial: Any, reset: jax.Array | None) -> Any:
    """The state before a step: the initial one where a sequence begins."""
    if reset is None or not jax.tree.leaves(state):
        return state
    return jax.tree.map(lambda first, x: where(reset, first, x), initial, state)


def held(new: Any, old: Any, valid: jax.Array | None) -> Any:
    """The state after a step: the old one past the end of a sequence."""
    if valid is None:
        return new
    return jax.tree.map(lambda a, b: where(valid, a, b), new, old)


def without_padding(ys: Any, valid: jax.Array | None) -> Any:
    """The outputs, zero past the end of a sequence."""
    if valid is None:
        return ys
    return jax.tree.map(lambda y: where(valid, y, jnp.zeros_like(y)), ys)


def where(mask: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    """`jnp.where`, with the mask's axes first among those of `a` and `b`."""
    return jnp.where(mask.reshape(mask.shape + (1,) * (a.ndim - mask.ndim)), a, b)


def _padding(x: jax.Array, lengths: jax.Array) -> jax.Array:
    """Inputs past the end of a sequence: its first one, which a step can surely read.

    Zeros could make a step divide by zero and the derivative NaN, though nothing depends on it.
    """
    return where((lengths > 0)[None], x[:1], jnp.zeros_like(x[:1]))
