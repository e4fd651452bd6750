"""The norm-preserving term: errors that go back in time should neither fade nor grow."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Cell
from ..errors import BadInput
from ..through_time import can_step, output_from, sizes, starting_state
from ..through_time.borders import find_borders, held, restarted, without_padding


def omega(
    cell: Cell,
    loss: Callable[[Any, Any], jax.Array],
    xs: Any,
    targets: Any,
    state: Any = None,
    *,
    immediate: bool = False,
    lengths: Any = None,
    resets: Any = None,
) -> jax.Array:
    """`Ω = Σ_t (‖∂L/∂h_{t+1} · ∂h_{t+1}/∂h_t‖ / ‖∂L/∂h_{t+1}‖ - 1)²`, to be added to the loss.

    `h_t` is the state after step t, all its float arrays together (an LSTM's h and c, every layer
    of a stack), and `∂L/∂h_{t+1}` the whole error there, from that step's output and from all
    later steps. There is one term for each step, the first one included. Norms are those of one
    sequence, and Ω is the mean over the batch. A step that no error reaches, such as padding, has
    no term; nor has one with an error so small that its ratio is lost in rounding.

    Ω does not change when the loss is scaled, so a sum and a mean give the same.

    The derivative is by default that of the equation, through states and errors, as Galvan (2015)
    writes it. With `immediate=True` it is the one that Pascanu et al. trained with: `h_t` and
    `∂L/∂h_{t+1}` count as constants, and only what the weights do within each step is
    differentiated. That one costs less, since it does not go through time.

    Source: Galvan (2015) (2.11-2.12); Pascanu, Mikolov and Bengio (2013), section 3.3.

    Args:
        cell: a cell or a network that has a step.
        loss: `loss(ys, targets)`, a number, for the outputs `(T, *batch, ...)` of all steps.
        xs: the inputs, time first: `(T, *batch, inputs)`, or symbols `(T, *batch)`.
        targets: whatever the loss takes.
        state: the state before the first step; by default the cell's own.
        immediate: which derivative; the value is the same.
        lengths, resets: as for `unroll`. Padding has no terms, and its outputs are zero; a step
            that begins a sequence has the term of a first step.

    Returns:
        Ω, a number; differentiate it with respect to the cell.

    Example:
        >>> def total(network):
        ...     ys, _ = unroll(network, xs)
        ...     return loss(ys, targets) + 0.1 * omega(network, loss, xs, targets)
        >>> gradient = eqx.filter_grad(total)(network)
    """
    steps, batch = sizes(cell, xs)
    if not can_step(cell):
        raise BadInput(f"omega needs a cell with a step, got {type(cell).__name__}")
    cell.check_inputs(xs)
    xs, borders = find_borders(xs, lengths, resets, steps, batch)
    masks = borders.valid, borders.forward
    first = starting_state(cell, xs, state)
    restart = cell.initial((1,) * len(batch))
    us = cell.inputs(xs)

    def forward(state, at):
        u, (valid, reset) = at
        before = restarted(state, restart, reset)
        new, _ = cell.step(before, u)
        return held(new, state, valid), (before, new)

    def pull(before, u, error):
        """`error · ∂h_{t+1}/∂h_t`."""
        floats, fixed = _parts(before)

        def step(floats):
            new, _ = cell.step(eqx.combine(floats, fixed), u)
            return _parts(new)[0]

        _, back = jax.vjp(step, floats)
        return back(error)[0]

    def of_states(afters, befores):
        ys = jax.vmap(lambda *at: output_from(cell, *at))(
            eqx.combine(afters, after_fixed), eqx.combine(befores, before_fixed), us
        )
        return loss(without_padding(ys, borders.valid), targets)

    def backward(later, at):
        (at_after, at_before), before, u, (valid, reset) = at
        error = _add(later, at_after)
        pulled = pull(before, u, error)
        earlier = _add(pulled, at_before)
        earlier = restarted(earlier, jax.tree.map(jnp.zeros_like, earlier), reset)
        return held(earlier, later, valid), (error, pulled)

    _, (before, after) = jax.lax.scan(forward, first, (us, masks))
    (before_floats, before_fixed), (after_floats, after_fixed) = _parts(before), _parts(after)
    direct = jax.grad(of_states, argnums=(0, 1))(after_floats, before_floats)
    nothing = jax.tree.map(jnp.zeros_like, _parts(first)[0])
    _, (errors, pulled) = jax.lax.scan(backward, nothing, (direct, before, us, masks), reverse=True)
    errors = without_padding(errors, borders.valid)
    if immediate:
        before, errors = jax.lax.stop_gradient((before, errors))
        pulled = jax.vmap(pull)(before, us, errors)

    errors, pulled = _flat(errors, 1 + len(batch)), _flat(pulled, 1 + len(batch))
    # Errors that fade are tiny, and their squares would be zero: both norms are taken in the same
    # unit, the largest part of the error.
    largest = jax.lax.stop_gradient(jnp.max(jnp.abs(errors), axis=-1, keepdims=True))
    limits = jnp.finfo(errors.dtype)
    reached = largest > limits.tiny / limits.eps
    unit = jnp.where(reached, largest, 1)
    ratio = _norm(pulled / unit) / _norm(jnp.where(reached, errors / unit, 1))
    terms = jnp.where(reached[..., 0], (ratio - 1) ** 2, 0)
    return jnp.mean(jnp.sum(terms, axis=0))


def _parts(state: Any) -> tuple[Any, Any]:
    """A state's floats, and the rest, such as a count of steps."""
    return eqx.partition(state, eqx.is_inexact_array)


def _add(one: Any, other: Any) -> Any:
    return jax.tree.map(jnp.add, one, other)


def _flat(tree: Any, leading: int) -> jax.Array:
    """All arrays side by side, with one axis after the `leading` ones."""
    parts = [(x, x.shape[:leading], x.shape[leading:]) for x in jax.tree.leaves(tree)]
    flat = [x.reshape(*front, math.prod(back)) for x, front, back in parts]
    return jnp.concatenate(flat, axis=-1)


def _norm(x: jax.Array) -> jax.Array:
    """`‖x‖` over the last axis; where it is zero, so is its derivative."""
    squares = jnp.sum(x**2, axis=-1)
    return jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1)), 0)
