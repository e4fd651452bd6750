"""Where sequences begin and end inside a batch: padding, and sequences packed into one row.

    lengths = [5, 3]         x x x x x       resets     x x x y y
                             x x x . .                  1 0 0 1 0

Past its end a sequence keeps its state. Where `resets` is true a new sequence begins: the state
before that step is the cell's initial state, and nothing flows back across the border. Read
backwards, each packed sequence starts at its own last step, the one before the next reset.

`Packed` is a cell that knows these borders, for the methods that go step by step, and `Ends` says
what lies how far before the end of each sequence.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..cells import Layer
from ..cells.cell import Wrapper
from ..errors import BadInput
from .check import check_batched, check_lengths, check_resets, sizes

Loss = Callable[[Any, Any], jax.Array]


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
        valid = _times(steps, batch) < lengths
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


class Packed(Wrapper):
    """A cell that reads `(x, valid, reset)`: its step keeps or restarts the state.

    `valid` and `reset` are booleans `(*batch,)` or `None`; see `Borders`. The state restarts at the
    cell's own `initial`, whose parameters the derivative reaches.
    """

    def check_inputs(self, xs: Any) -> None:
        self.cell.check_inputs(xs[0])

    def inputs(self, x: Any) -> Any:
        x, valid, reset = x
        return self.cell.inputs(x), valid, reset

    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        u, valid, reset = u
        return self.step_from(self.begin(state, reset), state, u, valid)

    def begin(self, state: Any, reset: jax.Array | None) -> Any:
        """The state that the cell steps from."""
        if reset is None:
            return state
        check_batched("state", state, reset.shape)
        first = self.cell.initial((1,) * reset.ndim)
        first = jax.tree.map(lambda x, like: jnp.asarray(x, like.dtype), first, state)
        return restarted(state, first, reset)

    def step_from(self, begin: Any, state: Any, u: Any, valid: jax.Array | None) -> tuple[Any, Any]:
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

    def of_valid(y: Any, at: Any) -> jax.Array:
        target, valid = at
        alone = loss
        for _ in valid.shape:
            alone = jax.vmap(alone)
        return jnp.sum(jnp.where(valid, alone(y, target), 0))

    return of_valid, (targets, valid)


class Ends(NamedTuple):
    """The step of each sequence that is looked at, and where that sequence begins.

    Attributes:
        last: integers `(*batch,)`, the step t; negative where the sequence is too short to have it.
        first: integers `(*batch,)`, the step at which its sequence begins.
        steps: the number of steps T of the batch.
    """

    last: jax.Array
    first: jax.Array
    steps: int

    def of(self, values: jax.Array) -> jax.Array:
        """What is at each sequence's step t, of an array `(T, *batch, ...)`."""
        at = jnp.maximum(self.last, 0)
        return jnp.take_along_axis(values, _wide(at[None], values), axis=0)[0]

    def by_lag(self, values: jax.Array) -> jax.Array:
        """An array `(T, *batch, ...)` by lag: entry k of a sequence is that of its step t - k."""
        times = jnp.maximum(self.lag(), 0)
        return jnp.take_along_axis(values, _wide(times, values), axis=0)

    def counted(self) -> jax.Array:
        """Booleans `(T, *batch)`: whether a sequence has begun, so many steps before t."""
        return self.lag() >= jnp.where(self.last < 0, self.steps, self.first)

    def lag(self) -> jax.Array:
        """Integers `(T, *batch)`: how many steps before t each step is."""
        return self.last - _times(self.steps, self.last.shape)


def find_ends(network: Layer, xs: Any, lengths: Any, resets: Any, at: int) -> Ends:
    """The ends of the sequences of a batch.

    Args:
        network, xs: what is looked at, and its inputs.
        lengths, resets: as for `unroll`.
        at: the step; negative numbers count back from each sequence's own end.
    """
    steps, batch = sizes(network, xs)
    if not -steps <= at < steps:
        raise BadInput(f"at must be a step from {-steps} to {steps - 1}, got {at}")
    _, borders = find_borders(xs, lengths, resets, steps, batch)
    ends = jnp.full(batch, steps) if lengths is None else jnp.asarray(lengths)
    last = ends + at if at < 0 else jnp.where(at < ends, at, -1)
    times = _times(steps, batch)
    first = jnp.zeros_like(last)
    if borders.forward is not None:
        begun = borders.forward & (times <= last)
        first = jnp.max(jnp.where(begun, times, 0), axis=0, initial=0)
    return Ends(last, first, steps)


def mean_over(values: jax.Array, counted: jax.Array) -> jax.Array:
    """The mean over the batch of an array `(T, *batch)`, where counted; zero where none is."""
    total = jnp.sum(jnp.where(counted, values, 0).reshape(len(values), -1), axis=1)
    count = jnp.sum(counted.reshape(len(values), -1), axis=1)
    return total / jnp.maximum(count, 1)


def _times(steps: int, batch: tuple[int, ...]) -> jax.Array:
    """The number of each step, `(T, 1, ...)` beside the batch axes."""
    return jnp.arange(steps).reshape(-1, *(1 for _ in batch))


def _wide(index: jax.Array, like: jax.Array) -> jax.Array:
    return index.reshape(*index.shape, *(1,) * (like.ndim - index.ndim))
