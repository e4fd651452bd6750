"""The norm-preserving regulariser Ω: gradients should neither vanish nor explode through time."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Cell
from ..through_time.check import check_can_step, sizes
from ..through_time.lengths_and_resets import find_borders, held, restarted, without_padding
from ..through_time.output import output_from
from ..through_time.running import starting_state


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
    of a stack), and `∂L/∂h_{t+1}` is the total error there, from that step's output and all later
    steps. Every step has a term, including the first. Norms are per sequence, and Ω is the mean
    over the batch. A step without an error, such as padding, has no term; nor has a step whose
    error is so small that rounding dominates the ratio.

    Ω does not depend on the scale of the loss, so a sum and a mean give the same value.

    By default the derivative is the exact one, through states and errors, as in Galvan (2015). With
    `immediate=True` it is the one of Pascanu et al.: `h_t` and `∂L/∂h_{t+1}` are constants, and
    only the direct effect of the weights on each step is differentiated. That is cheaper because
    nothing is propagated through time.

    Source: Galvan (2015), (2.11-2.12); Pascanu, Mikolov and Bengio (2013), section 3.3.

    Args:
        cell: a cell or a network with a step.
        loss: `loss(ys, targets)`, a scalar function of the outputs `(T, *batch, ...)`.
        xs: the inputs, time first: `(T, *batch, inputs)`, or symbols `(T, *batch)`.
        targets: passed to the loss.
        state: the state before the first step; by default the cell's initial state.
        immediate: which derivative to use; the value is the same.
        lengths, resets: as for `unroll`. Padding has no terms, and its outputs are zero; a step
            that begins a sequence has the term of a first step.

    Returns:
        Ω, a scalar; differentiate it with respect to the cell.

    Example:
        >>> def loss(outputs, targets):
        ...     return jnp.mean((outputs - targets) ** 2)
        >>> def total(network):
        ...     outputs, _ = unroll(network, xs)
        ...     return loss(outputs, ys) + 0.1 * omega(network, loss, xs, ys)
        >>> gradient = eqx.filter_jit(eqx.filter_grad(total))(network)
        >>> gradient.cell.R.shape == network.cell.R.shape
        True
    """
    steps, batch = sizes(cell, xs)
    check_can_step(cell, "omega")
    cell.check_inputs(xs)
    xs, borders = find_borders(xs, lengths, resets, steps, batch)
    masks = borders.valid, borders.forward
    first = starting_state(cell, xs, state)
    restart = cell.initial((1,) * len(batch))
    us = cell.inputs(xs)

    def forward(state: Any, at: Any) -> Any:
        u, (valid, reset) = at
        before = restarted(state, restart, reset)
        new, _ = cell.step(before, u)
        return held(new, state, valid), (before, new)

    def pull(before: Any, u: Any, error: Any) -> Any:
        """`error · ∂h_{t+1}/∂h_t`."""
        floats, fixed = _parts(before)

        def step(floats: Any) -> Any:
            new, _ = cell.step(eqx.combine(floats, fixed), u)
            return _parts(new)[0]

        _, back = jax.vjp(step, floats)
        return back(error)[0]

    def of_states(afters: Any, befores: Any) -> jax.Array:
        ys = jax.vmap(lambda *at: output_from(cell, *at))(
            eqx.combine(afters, after_fixed), eqx.combine(befores, before_fixed), us
        )
        return loss(without_padding(ys, borders.valid), targets)

    def backward(later: Any, at: Any) -> Any:
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
    # Squares of vanishing errors would underflow: divide both by the error's largest entry first.
    largest = jax.lax.stop_gradient(jnp.max(jnp.abs(errors), axis=-1, keepdims=True))
    limits = jnp.finfo(errors.dtype)
    reached = largest > limits.tiny / limits.eps
    unit = jnp.where(reached, largest, 1)
    ratio = _norm(pulled / unit) / _norm(jnp.where(reached, errors / unit, 1))
    terms = jnp.where(reached[..., 0], (ratio - 1) ** 2, 0)
    return jnp.mean(jnp.sum(terms, axis=0))


def _parts(state: Any) -> tuple[Any, Any]:
    """The float arrays of a state, and the rest, such as a step counter."""
    return eqx.partition(state, eqx.is_inexact_array)


def _add(one: Any, other: Any) -> Any:
    return jax.tree.map(jnp.add, one, other)


def _flat(tree: Any, leading: int) -> jax.Array:
    """All arrays concatenated along one axis after the `leading` ones."""
    parts = [(x, x.shape[:leading], x.shape[leading:]) for x in jax.tree.leaves(tree)]
    flat = [x.reshape(*front, math.prod(back)) for x, front, back in parts]
    return jnp.concatenate(flat, axis=-1)


def _norm(x: jax.Array) -> jax.Array:
    """`‖x‖` over the last axis; at zero its derivative is zero, too."""
    squares = jnp.sum(x**2, axis=-1)
    return jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1)), 0)
