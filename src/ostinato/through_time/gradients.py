"""Gradients of a loss summed over time, by methods with one signature.

    bptt             backpropagation through time: exact
    truncated_bptt   errors stop at the border of a window, the state is carried across: the
                     gradient of training on long streams
    rtrl             real-time recurrent learning: exact, forwards, without a past
    general_bptt     the theorem of Delgado del Cerro (2021), chapter 3: exact, for any cell; also
                     with weights and losses of their own at each step
    online1997       the first LSTM's own algorithm, forwards; in a file of its own

Each is `method(cell, loss, xs, targets, state=None) -> (value, gradient, state)`: the summed loss,
its gradient as a module like the cell (`None` where there is no parameter), and the final state.
`loss(y_t, target_t)` is a number, summed over the batch.

Each but `general_bptt` also takes `lengths` and `resets`, as `unroll` does. Padding has no loss:
the value and the gradient are the sums of those that each sequence has alone.

The methods that go forwards can go on: given an `Online`, which is a state together with its
derivative, they return another for the next window, however short. So weights may change at every
step, and what came before the window still counts.

Example:
    >>> def loss(y, target):
    ...     return 0.5 * jnp.sum((y - target) ** 2)
    >>> cell = ostinato.cells.GRU(3, 8, key=jax.random.key(0))
    >>> xs, targets = jnp.ones((5, 4, 3)), jnp.zeros((5, 4, 8))
    >>> value, gradient, state = bptt(cell, loss, xs, targets)
    >>> gradient.R.shape
    (8, 16)

    Step by step, with new weights each time:
    >>> online, step = rtrl_start(cell, xs), eqx.filter_jit(rtrl)
    >>> for t in range(len(xs)):
    ...     now = slice(t, t + 1)
    ...     value, gradient, online = step(cell, loss, xs[now], targets[now], online)
    ...     cell = eqx.apply_updates(cell, jax.tree.map(lambda g: -0.1 * g, gradient))
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp

from ..cells import Layer
from ..errors import BadInput
from .check import check_can_step, describe, in_line, is_whole, sizes
from .lengths_and_resets import find_borders, packed, valid_loss, where
from .running import starting_state
from .unroll import unroll

Loss = Callable[[Any, Any], jax.Array]
Result = tuple[jax.Array, Any, Any]


class Online(NamedTuple):
    """A state, and how it depends on the weights: what an online method carries along.

    Attributes:
        state: the cell's state.
        influence: its derivative with respect to the parameters, as the method keeps it.
    """

    state: Any
    influence: Any


def bptt(
    cell: Layer,
    loss: Loss,
    xs: Any,
    targets: Any,
    state: Any = None,
    *,
    lengths: Any = None,
    resets: Any = None,
) -> Result:
    """Backpropagation through time, by the engine. Time and memory O(weights · T)."""
    steps = check_targets(cell, xs, targets)
    _, borders = find_borders(xs, lengths, resets, steps, sizes(cell, xs)[1])
    valid = borders.valid
    loss, targets = valid_loss(loss, targets, valid)

    def total(cell: Layer) -> Any:
        ys, final = unroll(cell, xs, state, lengths=lengths, resets=resets)
        if valid is not None:
            # Padding has no loss, but at its zeros the loss could have an infinite slope.
            ys = jax.tree.map(lambda y: where(valid, y, jax.lax.stop_gradient(y[:1])), ys)
        return jnp.sum(jax.vmap(loss)(ys, targets)), final

    (value, final), gradient = eqx.filter_value_and_grad(total, has_aux=True)(cell)
    return value, gradient, final


def truncated_bptt(
    cell: Layer,
    loss: Loss,
    xs: Any,
    targets: Any,
    state: Any = None,
    *,
    window: int,
    lengths: Any = None,
    resets: Any = None,
) -> Result:
    """Backpropagation within windows of `window` steps; the state is carried, the error is not.

    With a window of at least T steps it is `bptt`. The last window may be shorter.
    """
    steps = check_targets(cell, xs, targets)
    check_can_step(cell, "truncated_bptt")
    if not is_whole(window) or window < 1:
        raise BadInput(f"window must be at least 1 step, got {in_line(window)}")
    if lengths is not None or resets is not None:
        whole, xs, borders = packed(cell, xs, lengths, resets)
        loss, targets = valid_loss(loss, targets, borders.valid)
        value, gradient, state = truncated_bptt(whole, loss, xs, targets, state, window=window)
        return value, gradient.cell, state
    state = starting_state(cell, xs, state)
    gradient = jax.tree.map(jnp.zeros_like, _floats(cell))
    value = jnp.zeros((), jnp.result_type(*jax.tree.leaves(gradient)))
    for start in range(0, steps, window):
        x, target = jax.tree.map(lambda a: a[start : start + window], (xs, targets))  # noqa: B023
        more, change, state = bptt(cell, loss, x, target, state)
        value, gradient = value + more, jax.tree.map(jnp.add, gradient, change)
    return value, gradient, state


def rtrl(
    cell: Layer,
    loss: Loss,
    xs: Any,
    targets: Any,
    state: Any = None,
    *,
    lengths: Any = None,
    resets: Any = None,
) -> Result:
    """Real-time recurrent learning: the derivative of the state is carried along.

    `∂s_t/∂θ = ∂s_t/∂s_{t-1} · ∂s_{t-1}/∂θ + ∂⁺s_t/∂θ`, with one direction for each parameter, so
    time O(T · weights · cost of a step) and memory O(weights · state), whatever T is: for small
    nets, and as a reference. A first state counts as given.

    With `rtrl_start` the derivative goes on from window to window: `state` is then an `Online`,
    and so is the state that is returned. If the weights change in between, this is the classical
    algorithm, whose derivative still holds what earlier weights contributed.

    Source: Williams and Zipser (1989).
    """
    check_targets(cell, xs, targets)
    check_can_step(cell, "rtrl")
    if lengths is not None or resets is not None:
        whole, xs, borders = packed(cell, xs, lengths, resets)
        loss, targets = valid_loss(loss, targets, borders.valid)
        value, gradient, state = rtrl(whole, loss, xs, targets, state)
        return value, gradient.cell, state
    start = online_state(rtrl_start, cell, xs, state)
    going_on = start is state  # it is an `Online`, and so is what is returned
    parameters, static = eqx.partition(cell, eqx.is_inexact_array)
    flat, restore = jax.flatten_util.ravel_pytree(parameters)
    directions = jnp.eye(flat.size, dtype=flat.dtype)
    floats, fixed = eqx.partition(start.state, eqx.is_inexact_array)

    def step(flat: jax.Array, floats: Any, fixed: Any, x: Any, target: Any) -> Any:
        cell = eqx.combine(restore(flat), static)
        new, y = cell.step(eqx.combine(floats, fixed), cell.inputs(x))
        floats, fixed = eqx.partition(new, eqx.is_inexact_array)
        return (floats, loss(y, target)), fixed

    def body(carry: Any, x: Any) -> tuple[Any, None]:
        floats, fixed, influence, value, gradient = carry

        def along(direction: jax.Array, change: Any) -> Any:
            return jax.jvp(
                lambda flat, floats: step(flat, floats, fixed, *x),
                (flat, floats),
                (direction, change),
                has_aux=True,
            )

        (new, more), (influence, change), fixed = jax.vmap(along, out_axes=(None, 0, None))(
            directions, influence
        )
        return (new, fixed, influence, value + more, gradient + change), None

    carry = (floats, fixed, start.influence, jnp.zeros((), flat.dtype), jnp.zeros_like(flat))
    (floats, fixed, influence, value, gradient), _ = jax.lax.scan(body, carry, (xs, targets))
    state = eqx.combine(floats, fixed)
    return value, restore(gradient), Online(state, influence) if going_on else state


def rtrl_start(cell: Layer, xs: Any, state: Any = None) -> Online:
    """A state that depends on no weight yet, for `rtrl` to go on from.

    Args:
        cell: the cell that learns.
        xs: inputs of the batch to come, of any number of steps.
        state: the state to begin with; by default the cell's own.

    Returns:
        The state, with zeros `(parameters, ...)` for each of its float arrays.
    """
    check_can_step(cell, "rtrl")
    state = starting_state(cell, xs, state)
    weights = jax.tree.leaves(_floats(cell))
    count = sum(weight.size for weight in weights)
    floats = _floats(state)
    return Online(state, jax.tree.map(lambda x: jnp.zeros((count, *x.shape), x.dtype), floats))


def general_bptt(
    cell: Layer | list[Layer] | tuple[Layer, ...],
    loss: Loss | list[Loss] | tuple[Loss, ...],
    xs: Any,
    targets: Any,
    state: Any = None,
) -> Result:
    """The general theorem of Delgado del Cerro (2021), chapter 3, for any cell.

    With `z_k` the state after step k, `Γ_T = ∇L_T`, `Γ_k = ∇L_k + Γ_{k+1} ∂z_{k+1}/∂z_k` and
    `∂L/∂θ = Σ_k ⟨Γ_k, ∂⁺z_k/∂θ⟩` (3.3, 3.4), where `∂⁺` differentiates one step with the state
    before it held fixed. The output counts as a part of `z_k`, on which the loss depends.

    It is written as the theorem reads, one step at a time and apart from the engine, and agrees
    with it: the engine differs only in when it multiplies.

    The theorem also holds with parameters `Θ_t` and losses `L_t` that vary with time: `cell` may be
    a list of T cells, one for each step, and `loss` one of T losses. The gradient of a list is a
    list.
    """
    if isinstance(cell, list | tuple) or isinstance(loss, list | tuple):
        return _each_step_its_own(cell, loss, xs, targets, state)
    check_targets(cell, xs, targets)
    check_can_step(cell, "general_bptt")
    parameters, static = eqx.partition(cell, eqx.is_inexact_array)
    first = starting_state(cell, xs, state)

    def step(parameters: Any, state: Any, x: Any) -> tuple[Any, Any]:
        cell = eqx.combine(parameters, static)
        return cell.step(state, cell.inputs(x))

    def forward(state: Any, x: Any) -> tuple[Any, Any]:
        new, y = step(parameters, state, x)
        return new, (state, y)

    final, (states, ys) = jax.lax.scan(forward, first, xs)
    values, direct = jax.vmap(jax.value_and_grad(loss))(ys, targets)

    def backward(carry: Any, at: Any) -> tuple[Any, None]:
        gamma, gradient = carry
        state, x, direct = at
        floats, fixed = eqx.partition(state, eqx.is_inexact_array)

        def moved(parameters: Any, floats: Any) -> tuple[Any, Any]:
            new, y = step(parameters, eqx.combine(floats, fixed), x)
            return _floats(new), y

        _, pull = jax.vjp(moved, parameters, floats)
        share, gamma = pull((gamma, direct))
        return (gamma, jax.tree.map(jnp.add, gradient, share)), None

    nothing = jax.tree.map(jnp.zeros_like, (_floats(first), parameters))
    (_, gradient), _ = jax.lax.scan(backward, nothing, (states, xs, direct), reverse=True)
    return jnp.sum(values), gradient, final


def _each_step_its_own(cell: Any, loss: Any, xs: Any, targets: Any, state: Any) -> Result:
    """`general_bptt` for lists of cells or of losses."""
    alike = not isinstance(cell, list | tuple)
    if not alike and not cell:
        raise BadInput("general_bptt needs at least one cell, got none")
    one = cell if alike else cell[0]
    steps = check_targets(one, xs, targets)
    cells = [cell] * steps if alike else list(cell)
    losses = list(loss) if isinstance(loss, list | tuple) else [loss] * steps
    for name, given in (("cells", cells), ("losses", losses)):
        if len(given) != steps:
            raise BadInput(
                f"general_bptt needs {steps} {name}, one for each step, got {len(given)}"
            )
    for part in (one, *cells):
        check_can_step(part, "general_bptt")

    def step(t: int) -> tuple[Callable, Callable]:
        x, target = jax.tree.map(lambda a: a[t], (xs, targets))
        return (
            lambda z, cell: cell.step(z[0], cell.inputs(x)),
            lambda z: losses[t](z[1], target),
        )

    # z is the state and the output; before the first step there is none.
    first = (starting_state(one, xs, state), None)
    pairs = [step(t) for t in range(steps)]
    result = gradients_by_theorem([f for f, _ in pairs], cells, [loss for _, loss in pairs], first)
    gradients: Any = result.gradients
    if alike:
        nothing = jax.tree.map(jnp.zeros_like, _floats(cell))
        gradients = jax.tree.map(lambda *shares: sum(shares), nothing, *gradients)
    return result.value, gradients, result.states[-1][0]


def check_targets(cell: Layer, xs: Any, targets: Any) -> int:
    """The number of steps, after refusing targets for another number of them."""
    steps, _ = sizes(cell, xs)
    cell.check_inputs(xs)
    for target in jax.tree.leaves(targets):
        if jnp.shape(target)[:1] != (steps,):
            raise BadInput(
                f"targets must be for as many steps as the inputs, {steps}, got targets of shape "
                f"{jnp.shape(target)}"
            )
    return steps


def online_state(begin: Callable[..., Online], cell: Layer, xs: Any, state: Any) -> Online:
    """What an online method goes on from; refuses that of another method, cell or batch.

    Args:
        begin: gives a state that depends on no weight yet, such as `rtrl_start`.
        cell, xs, state: as for the method.
    """
    if not isinstance(state, Online):
        return begin(cell, xs, state)
    given, expected = (describe(x.influence) for x in (state, begin(cell, xs, state.state)))
    if given != expected:
        raise BadInput(f"the influence that goes on must be {expected}, got {given}")
    return state


class ByTheorem(NamedTuple):
    """What the theorem gives; where an array is not of floats, gradients have `None`.

    Attributes:
        value: L, the sum of all losses.
        gradients: `∂L/∂Θ_t` for t = 1 … T.
        gammas: `Γ_t` for t = 0 … T, of which `Γ_0` is the gradient for `z_0`.
        states: `z_t` for t = 0 … T.
    """

    value: jax.Array
    gradients: list
    gammas: list
    states: list


def gradients_by_theorem(
    functions: Sequence[Callable], parameters: Sequence, losses: Sequence[Callable], first: Any
) -> ByTheorem:
    """Gradients of `L = Σ_t L_t(z_t)`, where `z_t = f_t(z_{t-1}, Θ_t)`.

    `Γ_T = ∇L_T(z_T)`, `Γ_k = ∇L_k(z_k) + Γ_{k+1} ∂z_{k+1}/∂z_k`, and for a component θ of `Θ_k`
    alone `∂L/∂θ = ⟨Γ_k, ∂⁺z_k/∂θ⟩`. A parameter that is part of several `Θ_k` has the sum of
    these.

    Source: Delgado del Cerro (2021), chapter 3, equations 3.1 to 3.4 (3.3 prints `L_t(z_k)` for
    `L_k(z_k)`).

    Args:
        functions: `f_t(z, Θ)` for t = 1 … T. They may differ, and so may the sizes of what they
            return.
        parameters: `Θ_t` for t = 1 … T, pytrees of arrays.
        losses: `L_t(z)` for t = 1 … T, each a number.
        first: `z_0`, a pytree of arrays.

    Example:
        >>> functions = [lambda z, w: jnp.tanh(w @ z)] * 2
        >>> weights = [np.ones((3, 2)), np.ones((4, 3))]
        >>> losses = [jnp.sum, lambda z: jnp.sum(z**2)]
        >>> found = gradients_by_theorem(functions, weights, losses, np.ones(2))
        >>> [gradient.shape for gradient in found.gradients]
        [(3, 2), (4, 3)]
    """
    counts = {"functions": len(functions), "parameters": len(parameters), "losses": len(losses)}
    if len(set(counts.values())) != 1:
        raise BadInput(f"functions, parameters and losses must be as many, got {counts}")
    states = [first]
    for f, theta in zip(functions, parameters, strict=True):
        states.append(f(states[-1], theta))
    pairs = [eqx.filter_value_and_grad(loss)(z) for loss, z in zip(losses, states[1:], strict=True)]
    value = jnp.asarray(sum(value for value, _ in pairs))
    gamma = jax.tree.map(jnp.zeros_like, _floats(states[-1]))
    gradients, gammas = [], []
    for k in range(len(functions), 0, -1):
        gamma = jax.tree.map(jnp.add, pairs[k - 1][1], gamma)
        gammas.append(gamma)
        gamma, gradient = _pull(functions[k - 1], states[k - 1], parameters[k - 1], gamma)
        gradients.append(gradient)
    return ByTheorem(value, gradients[::-1], [*gammas, gamma][::-1], states)


def _pull(f: Callable, z: Any, theta: Any, gamma: Any) -> tuple[Any, Any]:
    """`Γ ∂f/∂z` and `Γ ∂f/∂Θ`, each with the other held fixed."""
    moving, fixed = eqx.partition((z, theta), eqx.is_inexact_array)
    _, pull = jax.vjp(lambda moving: _floats(f(*eqx.combine(moving, fixed))), moving)
    return pull(gamma)[0]


def _floats(tree: Any) -> Any:
    return eqx.filter(tree, eqx.is_inexact_array)
