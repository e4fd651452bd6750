"""Gradients of a loss summed over time, by four methods with one signature.

    bptt             backpropagation through time: exact
    truncated_bptt   errors stop at the border of a window, the state is carried across: the
                     gradient of training on long streams
    rtrl             real-time recurrent learning: exact, forwards, without a past
    general_bptt     the theorem of document 001, chapter 3: exact, for any cell

Each is `method(cell, loss, xs, targets, state=None) -> (value, gradient, state)`: the summed loss,
its gradient as a module like the cell (`None` where there is no parameter), and the final state.
`loss(y_t, target_t)` is a number, summed over the batch.

Example:
    >>> def loss(y, target):
    ...     return 0.5 * jnp.sum((y - target) ** 2)
    >>> value, gradient, state = bptt(cell, loss, xs, targets)
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp

from ..cells import Cell
from ._check import can_step, sizes
from .unroll import starting_state, unroll

Loss = Callable[[Any, Any], jax.Array]
Result = tuple[jax.Array, Any, Any]


def bptt(cell: Cell, loss: Loss, xs: Any, targets: Any, state: Any = None) -> Result:
    """Backpropagation through time, by the engine. Time and memory O(weights · T)."""

    def total(cell):
        ys, final = unroll(cell, xs, state)
        return jnp.sum(jax.vmap(loss)(ys, targets)), final

    (value, final), gradient = eqx.filter_value_and_grad(total, has_aux=True)(cell)
    return value, gradient, final


def truncated_bptt(
    cell: Cell, loss: Loss, xs: Any, targets: Any, state: Any = None, *, window: int
) -> Result:
    """Backpropagation within windows of `window` steps; the state is carried, the error is not.

    With a window of at least T steps it is `bptt`. The last window may be shorter.
    """
    steps, _ = sizes(cell, xs)
    if not can_step(cell):
        raise ValueError(f"truncation needs a cell with a step, got {type(cell).__name__}")
    if window < 1:
        raise ValueError(f"window must be at least 1 step, got {window}")
    state = starting_state(cell, xs, state)
    gradient = jax.tree.map(jnp.zeros_like, eqx.filter(cell, eqx.is_inexact_array))
    value = jnp.zeros((), jnp.result_type(*jax.tree.leaves(gradient)))
    for start in range(0, steps, window):
        x, target = jax.tree.map(lambda a: a[start : start + window], (xs, targets))  # noqa: B023
        more, change, state = bptt(cell, loss, x, target, state)
        value, gradient = value + more, jax.tree.map(jnp.add, gradient, change)
    return value, gradient, state


def rtrl(cell: Cell, loss: Loss, xs: Any, targets: Any, state: Any = None) -> Result:
    """Real-time recurrent learning: the derivative of the state is carried along.

    `∂s_t/∂θ = ∂s_t/∂s_{t-1} · ∂s_{t-1}/∂θ + ∂⁺s_t/∂θ`, with one direction for each parameter, so
    time O(T · weights · cost of a step) and memory O(weights · state), whatever T is: for small
    nets, and as a reference. The first state counts as given.

    Source: Williams and Zipser (1989).
    """
    parameters, static = eqx.partition(cell, eqx.is_inexact_array)
    flat, restore = jax.flatten_util.ravel_pytree(parameters)
    directions = jnp.eye(flat.size, dtype=flat.dtype)
    state = starting_state(cell, xs, state)
    floats, fixed = eqx.partition(state, eqx.is_inexact_array)

    def step(flat, floats, fixed, x, target):
        cell = eqx.combine(restore(flat), static)
        new, y = cell.step(eqx.combine(floats, fixed), cell.inputs(x))
        floats, fixed = eqx.partition(new, eqx.is_inexact_array)
        return (floats, loss(y, target)), fixed

    def body(carry, x):
        floats, fixed, derivative, value, gradient = carry

        def along(direction, change):
            return jax.jvp(
                lambda flat, floats: step(flat, floats, fixed, *x),
                (flat, floats),
                (direction, change),
                has_aux=True,
            )

        (new, more), (derivative, change), fixed = jax.vmap(along, out_axes=(None, 0, None))(
            directions, derivative
        )
        return (new, fixed, derivative, value + more, gradient + change), None

    still = jax.tree.map(lambda x: jnp.zeros((flat.size, *x.shape), x.dtype), floats)
    start = (floats, fixed, still, jnp.zeros((), flat.dtype), jnp.zeros_like(flat))
    (floats, fixed, _, value, gradient), _ = jax.lax.scan(body, start, (xs, targets))
    return value, restore(gradient), eqx.combine(floats, fixed)


def general_bptt(cell: Cell, loss: Loss, xs: Any, targets: Any, state: Any = None) -> Result:
    """The general theorem of document 001, chapter 3, for any cell.

    With `z_k` the state after step k, `Γ_T = ∇L_T`, `Γ_k = ∇L_k + Γ_{k+1} ∂z_{k+1}/∂z_k` and
    `∂L/∂θ = Σ_k ⟨Γ_k, ∂⁺z_k/∂θ⟩` (3.3, 3.4), where `∂⁺` differentiates one step with the state
    before it held fixed. The output counts as a part of `z_k`, on which the loss depends.

    It is written as the theorem reads, one step at a time and apart from the engine, and agrees
    with it: the engine differs only in when it multiplies.
    """
    parameters, static = eqx.partition(cell, eqx.is_inexact_array)
    first = starting_state(cell, xs, state)

    def step(parameters, state, x):
        cell = eqx.combine(parameters, static)
        return cell.step(state, cell.inputs(x))

    def forward(state, x):
        new, y = step(parameters, state, x)
        return new, (state, y)

    final, (states, ys) = jax.lax.scan(forward, first, xs)
    values, direct = jax.vmap(jax.value_and_grad(loss))(ys, targets)

    def backward(carry, at):
        gamma, gradient = carry
        state, x, direct = at
        floats, fixed = eqx.partition(state, eqx.is_inexact_array)

        def moved(parameters, floats):
            new, y = step(parameters, eqx.combine(floats, fixed), x)
            return eqx.filter(new, eqx.is_inexact_array), y

        _, pull = jax.vjp(moved, parameters, floats)
        share, gamma = pull((gamma, direct))
        return (gamma, jax.tree.map(jnp.add, gradient, share)), None

    nothing = jax.tree.map(jnp.zeros_like, (eqx.filter(first, eqx.is_inexact_array), parameters))
    (_, gradient), _ = jax.lax.scan(backward, nothing, (states, xs, direct), reverse=True)
    return jnp.sum(values), gradient, final
