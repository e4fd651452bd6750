"""The methods for one gradient: where they must agree, and what truncation leaves out."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from jax.random import key

from compare import same
from ostinato.cells import GRU, LSTM, MLSTM, Delay
from ostinato.through_time import (
    Online,
    bptt,
    general_bptt,
    gradients_by_theorem,
    rtrl,
    rtrl_start,
    truncated_bptt,
)
from ostinato.wiring import Bidirectional, Zoneout

INPUTS, UNITS, STEPS, BATCH = 2, 3, 7, 2


def normal(seed, *shape):
    return jnp.asarray(0.7 * np.random.default_rng(seed).normal(size=shape))


def like(seed, tree):
    """Normal numbers in place of the arrays of a tree, or of their shapes."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda x: jnp.asarray(0.7 * rng.normal(size=x.shape), x.dtype), tree)


def made(cell, **options):
    """A cell, faster than by its own initialisers."""
    shapes = eqx.filter_eval_shape(lambda k: cell(INPUTS, UNITS, key=k, **options), key(0))
    return like(0, shapes)


CELLS = {
    "lstm": made(LSTM),
    "gru": made(GRU),
    "mlstm": made(MLSTM),
    "delay": made(Delay, delay=2, dt=0.5),
    "zoneout": Zoneout(made(GRU), 0.3, key=key(1)),
}
XS, TARGETS = normal(0, STEPS, BATCH, INPUTS), normal(1, STEPS, BATCH, UNITS)


def loss(y, target):
    return jnp.sum((y - target) ** 2 * jnp.cos(y))


@eqx.filter_jit
def run(method, cell, xs=XS, targets=TARGETS, state=None, **options):
    """`method(cell, loss, xs, targets, state, **options)`, compiled once for all tests."""
    return method(cell, loss, xs, targets, state, **options)


def random_state(cell):
    """A state of the cell with no zeros among its floats."""
    floats, rest = eqx.partition(cell.initial((BATCH,)), eqx.is_inexact_array)
    return eqx.combine(like(2, floats), rest)


@pytest.mark.parametrize("cell", CELLS)
def test_exact_methods_agree(cell):
    """Value, gradient and final state."""
    state = random_state(CELLS[cell])
    expected = run(bptt, CELLS[cell], state=state)
    for method in (rtrl, general_bptt):
        same(run(method, CELLS[cell], state=state), expected)


@pytest.mark.parametrize("method", [bptt, rtrl, general_bptt])
def test_without_a_state_a_cell_starts_from_its_own(method):
    cell = CELLS["lstm"]
    same(run(method, cell), run(method, cell, state=cell.initial((BATCH,))))


def test_the_gradient_is_that_of_a_plain_scan():
    """What the exact methods agree on is right: JAX's own derivative of a scan of steps."""
    cell = CELLS["lstm"]
    state = random_state(cell)
    same(run(bptt, cell, state=state), run(stopped, cell, state=state, window=10 * STEPS))


@pytest.mark.parametrize("window", [STEPS, STEPS + 1])
def test_one_window_is_no_truncation(window):
    same(run(truncated_bptt, CELLS["gru"], window=window), run(bptt, CELLS["gru"]))


def stopped(cell, loss, xs, targets, state, *, window):
    """The derivative of a scan over all steps that stops errors at every window's border."""
    state = cell.initial((BATCH,)) if state is None else state

    def total(cell):
        def body(state, at):
            t, x, target = at
            floats, rest = eqx.partition(state, eqx.is_inexact_array)
            held = jax.lax.stop_gradient(floats)
            first = t % window == 0
            floats = jax.tree.map(lambda h, held: jnp.where(first, held, h), floats, held)
            state, y = cell.step(eqx.combine(floats, rest), cell.inputs(x))
            return state, loss(y, target)

        final, values = jax.lax.scan(body, state, (jnp.arange(len(xs)), xs, targets))
        return jnp.sum(values), final

    (value, final), gradient = eqx.filter_value_and_grad(total, has_aux=True)(cell)
    return value, gradient, final


@pytest.mark.parametrize(
    ("cell", "window", "given"),
    [
        ("lstm", 1, True),
        ("gru", 3, False),
        pytest.param("zoneout", 2, True, marks=pytest.mark.slow),
        pytest.param("delay", 4, True, marks=pytest.mark.slow),
        pytest.param("mlstm", 6, True, marks=pytest.mark.slow),
    ],
)
def test_truncation_stops_the_error_at_borders(cell, window, given):
    """7 steps, so that the last window is shorter unless the window is of one step."""
    cell = CELLS[cell]
    state = random_state(cell) if given else None
    truncated = run(truncated_bptt, cell, state=state, window=window)
    same(truncated, run(stopped, cell, state=state, window=window))
    value, gradient, final = run(bptt, cell, state=state)
    same((truncated[0], truncated[2]), (value, final))
    # The truncated gradient is another one; otherwise this test could not tell them apart.
    ours, full = ravel_pytree(truncated[1])[0], ravel_pytree(gradient)[0]
    assert jnp.linalg.norm(ours - full) > 1e-3 * jnp.linalg.norm(full)


def test_the_final_state_goes_on():
    """Two calls, the second from where the first ended, are one with a border between them."""
    cell = CELLS["gru"]
    first = run(truncated_bptt, cell, XS[:3], TARGETS[:3], window=3)
    second = run(truncated_bptt, cell, XS[3:], TARGETS[3:], first[2], window=3)
    value, gradient, state = run(truncated_bptt, cell, window=3)
    same(first[0] + second[0], value)
    same(jax.tree.map(jnp.add, first[1], second[1]), gradient)
    same(second[2], state)


@pytest.mark.parametrize("window", [0, -2, 2.5, True, "3"])
def test_a_window_has_at_least_one_step(window):
    with pytest.raises(ValueError, match=f"window must be at least 1 step, got {window!r}"):
        truncated_bptt(CELLS["gru"], loss, XS, TARGETS, window=window)


METHODS = {
    "bptt": (bptt, {}),
    "rtrl": (rtrl, {}),
    "general_bptt": (general_bptt, {}),
    "truncated_bptt": (truncated_bptt, {"window": 3}),
}


@pytest.mark.parametrize("method", METHODS)
def test_no_steps(method):
    """No loss and no gradient, and the state stays where it was."""
    method, options = METHODS[method]
    cell = CELLS["gru"]
    value, gradient, state = run(method, cell, XS[:0], TARGETS[:0], **options)
    assert value == 0
    same(gradient, jax.tree.map(jnp.zeros_like, cell))
    same(state, cell.initial((BATCH,)))


@pytest.mark.parametrize("method", METHODS)
def test_everything_stays_in_the_cells_precision(method):
    method, options = METHODS[method]
    given = (CELLS["gru"], XS, TARGETS)
    lower = jax.tree.map(lambda x: x.astype(jnp.float32), given)
    found = run(method, *lower, **options)
    assert {x.dtype for x in jax.tree.leaves(found)} == {jnp.dtype(jnp.float32)}
    expected = run(method, *given, **options)
    same(jax.tree.map(lambda x: x.astype(jnp.float64), found), expected, 1e-5)


def test_a_layer_that_sees_the_whole_sequence():
    """`bptt` takes whatever `unroll` takes."""
    cell, targets = CELLS["gru"], normal(3, STEPS, BATCH, 2 * UNITS)
    value, gradient, _ = run(bptt, Bidirectional(cell, cell), targets=targets)
    ahead = run(bptt, cell, XS, targets[..., :UNITS])
    behind = run(bptt, cell, XS[::-1], targets[::-1, :, UNITS:])
    same(value, ahead[0] + behind[0])
    same((gradient.forward, gradient.backward), (ahead[1], behind[1]))


@pytest.mark.parametrize("cell", ["lstm", "zoneout"])
def test_rtrl_goes_on_step_by_step(cell):
    """The carried derivative loses nothing: windows of one step give the whole gradient."""
    cell = CELLS[cell]
    state = random_state(cell)
    online = rtrl_start(cell, XS[:1], state)
    value, gradient = 0.0, jax.tree.map(jnp.zeros_like, eqx.filter(cell, eqx.is_inexact_array))
    for t in range(STEPS):
        now = slice(t, t + 1)
        more, change, online = run(rtrl, cell, XS[now], TARGETS[now], online)
        value, gradient = value + more, jax.tree.map(jnp.add, gradient, change)
    same((value, gradient, online.state), run(bptt, cell, state=state))


def test_rtrl_with_weights_that_change():
    """The classical algorithm, with its Jacobians written out."""
    cell = CELLS["gru"]
    flat, restore = ravel_pytree(cell)
    state, online = cell.initial((BATCH,)), rtrl_start(cell, XS)
    influence = jnp.zeros((state.size, flat.size))

    def step(flat, state, x):
        cell = restore(flat)
        return cell.step(state.reshape(BATCH, UNITS), cell.inputs(x))[0].reshape(-1)

    def error(state, target):
        return loss(state.reshape(BATCH, UNITS), target)

    jacobians = jax.jit(jax.jacobian(step, argnums=(0, 1)))
    state = state.reshape(-1)
    for t in range(3):
        now = slice(t, t + 1)
        value, gradient, online = run(rtrl, restore(flat), XS[now], TARGETS[now], online)
        direct, through = jacobians(flat, state, XS[t])
        influence, state = through @ influence + direct, step(flat, state, XS[t])
        same(value, error(state, TARGETS[t]))
        same(ravel_pytree(gradient)[0], jax.grad(error)(state, TARGETS[t]) @ influence)
        same(online.influence, influence.T.reshape(flat.size, BATCH, UNITS))
        flat = flat - 0.3 * ravel_pytree(gradient)[0]


def test_rtrl_refuses_the_influence_of_another_cell():
    online = Online(CELLS["gru"].initial((BATCH,)), jnp.zeros((3, BATCH, UNITS)))
    expected = r"must be float64\(\d+, 2, 3\), got float64\(3, 2, 3\)"
    with pytest.raises(ValueError, match=expected):
        rtrl(CELLS["gru"], loss, XS, TARGETS, online)


@pytest.mark.parametrize("method", ["rtrl", "general_bptt", "truncated_bptt"])
def test_a_layer_without_a_step(method):
    method, options = METHODS[method]
    layer = Bidirectional(CELLS["gru"], CELLS["gru"])
    with pytest.raises(ValueError, match=r"^[a-z_]+ needs a cell with a step, got Bidirectional$"):
        method(layer, loss, XS, normal(3, STEPS, BATCH, 2 * UNITS), **options)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("length", [STEPS - 1, STEPS + 1])
def test_targets_of_another_length(method, length):
    method, options = METHODS[method]
    targets = jnp.zeros((length, BATCH, UNITS))
    expected = rf"^targets must be for as many steps as the inputs, 7, got .* \({length}, 2, 3\)$"
    with pytest.raises(ValueError, match=expected):
        method(CELLS["gru"], loss, XS, targets, **options)


# The general theorem


def explicit(cells, losses, xs, targets, state):
    """The loss of a loop of steps, each with its own cell and loss."""
    total = jnp.zeros(())
    for cell, loss, x, target in zip(cells, losses, xs, targets, strict=True):
        state, y = cell.step(state, cell.inputs(x))
        total += loss(y, target)
    return total, state


LOSSES = [lambda y, target, t=t: loss((1 + 0.1 * t) * y, target) for t in range(4)]
FEW_XS, FEW_TARGETS = XS[: len(LOSSES)], TARGETS[: len(LOSSES)]


@pytest.mark.parametrize("cell", ["lstm", "zoneout"])
def test_the_theorem_with_weights_and_losses_that_vary_with_time(cell):
    """One gradient for the parameters of each step, as reverse mode finds them."""
    cell = CELLS[cell]
    floats, rest = eqx.partition(cell, eqx.is_inexact_array)
    cells = [eqx.combine(like(t, floats), rest) for t in range(len(LOSSES))]
    state = random_state(cell)

    def both(cells):
        run = eqx.filter_value_and_grad(explicit, has_aux=True)
        (value, final), gradient = run(cells, LOSSES, FEW_XS, FEW_TARGETS, state)
        return general_bptt(cells, LOSSES, FEW_XS, FEW_TARGETS, state), (value, gradient, final)

    same(*eqx.filter_jit(both)(cells))


def test_the_theorem_with_losses_that_vary_with_time():
    cell = CELLS["gru"]

    def both(cell):
        def total(cell):
            cells = [cell] * len(LOSSES)
            return explicit(cells, LOSSES, FEW_XS, FEW_TARGETS, cell.initial((BATCH,)))

        (value, final), gradient = eqx.filter_value_and_grad(total, has_aux=True)(cell)
        return general_bptt(cell, LOSSES, FEW_XS, FEW_TARGETS), (value, gradient, final)

    same(*eqx.filter_jit(both)(cell))


def chain(parameters, first):
    """Three functions of different sizes, as the theorem allows them, and the sum of losses."""
    states = [first]
    for f, theta in zip(FUNCTIONS, parameters, strict=True):
        states.append(f(states[-1], theta))
    return sum(loss(z) for loss, z in zip(OF_STATES, states[1:], strict=True))


FUNCTIONS = [
    lambda z, w: jnp.tanh(w @ z),
    lambda z, w: jnp.sin(w["a"] @ z + w["b"]),
    lambda z, w: z[:2] * w,
]
OF_STATES = [lambda z: jnp.sum(z**2), jnp.sum, lambda z: jnp.sum(jnp.cos(z))]
THETAS = [normal(0, 3, 2), {"a": normal(1, 5, 3), "b": normal(2, 5)}, normal(3, 2)]


def test_the_theorem_with_sizes_that_vary_with_time():
    """Against reverse mode, and along one direction against finite differences."""
    first = normal(4, 2)
    found = gradients_by_theorem(FUNCTIONS, THETAS, OF_STATES, first)
    value, (gradients, of_first) = jax.value_and_grad(chain, argnums=(0, 1))(THETAS, first)
    same(found.value, value)
    same(found.gradients, gradients)
    same(found.gammas[0], of_first)
    assert [z.shape for z in found.gammas] == [z.shape for z in found.states]
    flat, restore = ravel_pytree(THETAS)
    along, step = normal(5, flat.size), 1e-5
    ends = [chain(restore(flat + sign * step * along), first) for sign in (1, -1)]
    claimed = jnp.vdot(ravel_pytree(found.gradients)[0], along)
    np.testing.assert_allclose((ends[0] - ends[1]) / (2 * step), claimed, rtol=1e-8)


def test_a_cell_and_a_loss_for_each_step():
    cells = [CELLS["gru"]] * (STEPS - 1)
    with pytest.raises(ValueError, match="general_bptt needs 7 cells, one for each step, got 6"):
        general_bptt(cells, loss, XS, TARGETS)
    with pytest.raises(ValueError, match="general_bptt needs 7 losses, one for each step, got 1"):
        general_bptt(CELLS["gru"], [loss], XS, TARGETS)
    with pytest.raises(ValueError, match="must be as many"):
        gradients_by_theorem(FUNCTIONS, THETAS[:2], OF_STATES, normal(4, 2))
