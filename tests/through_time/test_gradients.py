"""Four methods for one gradient: where they must agree, and what truncation leaves out."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from jax.random import key

import ostinato
from ostinato.cells import GRU, LSTM, MLSTM, Delay
from ostinato.through_time import bptt, general_bptt, rtrl, truncated_bptt
from ostinato.wiring import Zoneout

INPUTS, UNITS, STEPS, BATCH = 2, 3, 7, 2
CELLS = {
    "lstm": lambda: LSTM(INPUTS, UNITS, key=key(0)),
    "gru": lambda: GRU(INPUTS, UNITS, key=key(0)),
    "mlstm": lambda: MLSTM(INPUTS, UNITS, key=key(0)),
    "delay": lambda: Delay(INPUTS, UNITS, key=key(0), delay=2, dt=0.5),
    "zoneout": lambda: Zoneout(GRU(INPUTS, UNITS, key=key(0)), 0.3, key=key(1)),
}


def normal(seed, *shape):
    return jnp.asarray(0.7 * np.random.default_rng(seed).normal(size=shape))


XS, TARGETS = normal(0, STEPS, BATCH, INPUTS), normal(1, STEPS, BATCH, UNITS)


def loss(y, target):
    return jnp.sum((y - target) ** 2 * jnp.cos(y))


def random_state(cell):
    """A state of the cell with no zeros among its floats."""
    floats, rest = eqx.partition(cell.initial((BATCH,)), eqx.is_inexact_array)
    flat, restore = ravel_pytree(floats)
    return eqx.combine(restore(normal(2, flat.size)), rest)


def same(ours, theirs, tolerance=1e-10):
    """Every array within `tolerance` of the other, in norm and relative to it."""
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        error, size = np.linalg.norm(np.subtract(one, other)), np.linalg.norm(other)
        assert error <= tolerance * size, f"relative error {error / size:.1e}"


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_exact_methods_agree(cell, given):
    """Value, gradient and final state; from zeros and from a given state."""
    cell = CELLS[cell]()
    state = random_state(cell) if given else None
    expected = eqx.filter_jit(bptt)(cell, loss, XS, TARGETS, state)
    for method in (rtrl, general_bptt):
        same(eqx.filter_jit(method)(cell, loss, XS, TARGETS, state), expected)


def test_the_gradient_is_that_of_a_plain_scan():
    """What the exact methods agree on is right: JAX's own derivative of a scan of steps."""
    cell = CELLS["lstm"]()

    def total(cell):
        def body(state, at):
            state, y = cell.step(state, cell.inputs(at[0]))
            return state, loss(y, at[1])

        state, values = jax.lax.scan(body, random_state(cell), (XS, TARGETS))
        return jnp.sum(values), state

    (value, state), gradient = jax.jit(jax.value_and_grad(total, has_aux=True))(cell)
    same(bptt(cell, loss, XS, TARGETS, random_state(cell)), (value, gradient, state))


@pytest.mark.parametrize("window", [STEPS, STEPS + 1, 10 * STEPS])
def test_one_window_is_no_truncation(window):
    cell = CELLS["gru"]()
    expected = bptt(cell, loss, XS, TARGETS)
    same(truncated_bptt(cell, loss, XS, TARGETS, window=window), expected)


def stopped(cell, xs, targets, state, window):
    """A scan over all steps, the gradient of whose state is stopped at every window's border."""

    def body(state, at):
        t, x, target = at
        floats, rest = eqx.partition(state, eqx.is_inexact_array)
        cut = jax.tree.map(
            lambda h: jnp.where(t % window == 0, jax.lax.stop_gradient(h), h), floats
        )
        state, y = cell.step(eqx.combine(cut, rest), cell.inputs(x))
        return state, loss(y, target)

    state, values = jax.lax.scan(body, state, (jnp.arange(len(xs)), xs, targets))
    return jnp.sum(values), state


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize(
    ("cell", "window"), [("lstm", 1), ("gru", 3), ("zoneout", 2), ("delay", 4), ("mlstm", 6)]
)
def test_truncation_stops_the_error_at_borders(cell, window, given):
    """7 steps, so that the last window is shorter unless the window is of one step."""
    cell = CELLS[cell]()
    state = random_state(cell) if given else None
    value, gradient, final = truncated_bptt(cell, loss, XS, TARGETS, state, window=window)

    def total(cell):
        start = cell.initial((BATCH,)) if state is None else state
        return stopped(cell, XS, TARGETS, start, window)

    grad = eqx.filter_jit(eqx.filter_value_and_grad(total, has_aux=True))
    (expected_value, expected_final), expected = grad(cell)
    same(value, expected_value)
    same(final, expected_final)
    same(gradient, expected)
    full_value, full_gradient, full_final = bptt(cell, loss, XS, TARGETS, state)
    same(value, full_value)
    same(final, full_final)
    # The truncated gradient is another one; otherwise this test could not tell them apart.
    difference = ravel_pytree(gradient)[0] - ravel_pytree(full_gradient)[0]
    assert jnp.linalg.norm(difference) > 1e-3 * jnp.linalg.norm(ravel_pytree(full_gradient)[0])


def test_the_final_state_goes_on():
    """Two calls, the second from where the first ended, are one with a border between them."""
    cell = CELLS["gru"]()
    first = truncated_bptt(cell, loss, XS[:3], TARGETS[:3], window=3)
    second = truncated_bptt(cell, loss, XS[3:], TARGETS[3:], first[2], window=3)
    value, gradient, state = truncated_bptt(cell, loss, XS, TARGETS, window=3)
    same(first[0] + second[0], value)
    same(jax.tree.map(jnp.add, first[1], second[1]), gradient)
    same(second[2], state)


@pytest.mark.parametrize("window", [0, -2])
def test_a_window_has_at_least_one_step(window):
    with pytest.raises(ValueError, match=f"window must be at least 1 step, got {window}"):
        truncated_bptt(CELLS["gru"](), loss, XS, TARGETS, window=window)


@pytest.mark.parametrize("method", [bptt, rtrl, general_bptt, truncated_bptt])
def test_no_steps(method):
    """No loss and no gradient, and the state stays where it was."""
    cell = CELLS["gru"]()
    options = {"window": 3} if method is truncated_bptt else {}
    value, gradient, state = method(cell, loss, XS[:0], TARGETS[:0], **options)
    assert value == 0
    same(gradient, jax.tree.map(jnp.zeros_like, cell))
    same(state, cell.initial((BATCH,)))


@pytest.mark.parametrize("method", [bptt, rtrl, general_bptt, truncated_bptt])
def test_everything_stays_in_the_cells_precision(method):
    single = jnp.float32
    cell = jax.tree.map(lambda x: x.astype(single), CELLS["gru"]())
    options = {"window": 3} if method is truncated_bptt else {}
    found = method(cell, loss, XS.astype(single), TARGETS.astype(single), **options)
    assert {x.dtype for x in jax.tree.leaves(found)} == {jnp.dtype(single)}
    expected = bptt(CELLS["gru"](), loss, XS, TARGETS)
    if method is not truncated_bptt:
        same(jax.tree.map(lambda x: x.astype(jnp.float64), found), expected, 1e-5)


def test_a_layer_that_sees_the_whole_sequence():
    """`bptt` takes whatever `unroll` takes."""
    cell = CELLS["gru"]()
    layer = ostinato.wiring.Bidirectional(cell, cell)
    targets = normal(3, STEPS, BATCH, 2 * UNITS)
    value, gradient, _ = bptt(layer, loss, XS, targets)
    ahead = bptt(cell, loss, XS, targets[..., :UNITS])
    behind = bptt(cell, loss, XS[::-1], targets[::-1, :, UNITS:])
    same(value, ahead[0] + behind[0])
    same((gradient.forward, gradient.backward), (ahead[1], behind[1]))
