"""Jacobians through time against closed forms, plain derivatives and two published bounds."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.random import key

from everyday import some
from members import CELLS, WIRINGS
from ostinato import unroll
from ostinato.cells import GRU, LSTM, LSTM1997, Simple
from ostinato.errors import BadInput
from ostinato.lens import jacobian_by_lag, step_jacobians
from ostinato.lens.jacobians import (
    STEEPEST,
    hochreiter_bound,
    preactivation_jacobian_norms,
    singular_value_bound,
)
from ostinato.testing.case import BATCH
from ostinato.wiring import Bidirectional, Network, Readout, Stack

MEMBERS = CELLS | WIRINGS
USUAL = ("simple tanh", "lstm", "mlstm", "stack", "network, raw", "bidirectional")
RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def quick_compilation():
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def near(ours, theirs, tolerance=1e-10):
    assert np.shape(ours) == np.shape(theirs)
    error = np.linalg.norm(np.subtract(ours, theirs))
    assert error <= tolerance * max(1.0, np.linalg.norm(theirs)), f"off by {error:.1e}"


def simple(R, f="identity", inputs=2, b=0.0):
    """A simple cell with the given recurrent matrix."""
    R = jnp.asarray(R, float)
    cell = Simple(inputs, len(R), key=key(0), f=f)
    return eqx.tree_at(lambda c: (c.R, c.b), cell, (R, cell.b + b))


def norm(matrix):
    return np.linalg.norm(matrix, ord=2)


def vectors(state):
    """The floats of a state, side by side for each sequence."""
    return jnp.concatenate([x.reshape(BATCH, -1) for x in jax.tree.leaves(state)], axis=1)


def plain(cell, xs, state):
    """`∂s_t/∂s_{t-1}` of all sequences with respect to all, `(T, BATCH, n, BATCH, n)`."""

    def body(state, x):
        floats, fixed = eqx.partition(state, eqx.is_inexact_array)

        def step(floats):
            new, _ = cell.step(eqx.combine(floats, fixed), cell.inputs(x))
            return vectors(eqx.filter(new, eqx.is_inexact_array)), new

        columns, new = jax.jacfwd(step, has_aux=True)(floats)
        columns = [x.reshape(BATCH, -1, BATCH, x[0, 0, 0].size) for x in jax.tree.leaves(columns)]
        return new, jnp.concatenate(columns, axis=-1)

    return jax.lax.scan(body, state, xs)[1]


@eqx.filter_jit
def both(cell, xs, state):
    return step_jacobians(cell, xs, state), plain(cell, xs, state)


@pytest.mark.parametrize("name", some(MEMBERS, USUAL))
def test_every_member_against_the_derivative_of_one_step(name):
    case = MEMBERS[name]()
    if not case.cell.can_step:
        with pytest.raises(BadInput, match="step_jacobians needs a cell with a step, got"):
            step_jacobians(case.cell, case.xs)
        return
    if not jax.tree.leaves(case.state):
        with pytest.raises(BadInput, match="Feedforward has no numbers in its state"):
            step_jacobians(case.cell, case.xs)
        return
    ours, whole = jax.device_get(both(case.cell, case.xs, case.state))
    # What the state of one sequence does to that of another is zero.
    expected = np.einsum("tbij,bc->tbicj", ours, np.eye(BATCH))
    near(expected, whole, 1e-12)


def test_several_and_no_batch_axes():
    cell = GRU(2, 3, key=key(0))
    xs = RANDOM.standard_normal((4, 3, 2, 2))
    whole = step_jacobians(cell, xs)
    assert whole.shape == (4, 3, 2, 3, 3)
    near(whole[:, 1, 0], step_jacobians(cell, xs[:, 1, 0]))
    assert jacobian_by_lag(cell, xs[:, 1, 0], probes=2, key=key(0)).shape == (5,)


def test_a_linear_net_by_its_powers():
    R = RANDOM.standard_normal((4, 4))
    xs = RANDOM.standard_normal((6, 3, 2))
    powers = [np.linalg.matrix_power(R, lag) for lag in range(7)]
    cell = simple(R)
    near(jacobian_by_lag(cell, xs), [norm(power) for power in powers])
    norms = preactivation_jacobian_norms(cell, xs)
    assert norms.max.shape == norms.spectral.shape == (6, 3)
    for sequence in range(3):
        near(norms.spectral[:, sequence], [norm(power) for power in powers[:6]])
        near(norms.max[:, sequence], [np.abs(power).max() for power in powers[:6]])


@pytest.mark.parametrize("weight", [0.5, 1.0, 1.5])
def test_one_linear_unit(weight):
    """Lipton et al. (2015), figures 7 and 8: the first input fades, stays or grows as wᵗ."""
    cell, xs = simple([[weight]]), RANDOM.standard_normal((20, 1, 2))
    powers = weight ** np.arange(21)
    near(jacobian_by_lag(cell, xs), powers)
    near(jacobian_by_lag(cell, xs, probes=1, key=key(0)), powers)
    norms = preactivation_jacobian_norms(cell, xs)
    for found in (norms.max[:, 0], norms.spectral[:, 0]):
        near(found, powers[:20])
        near(found, hochreiter_bound(cell, np.arange(20)))
        near(found, singular_value_bound(cell, np.arange(20)))


def test_an_identity_recurrence_keeps_everything():
    cell, xs = simple(np.eye(3)), RANDOM.standard_normal((8, 2, 2))
    near(jacobian_by_lag(cell, xs), np.ones(9))
    near(jacobian_by_lag(cell, xs, probes=2, key=key(0)), np.ones(9))


def test_one_tanh_unit():
    R, xs = 1.7, RANDOM.standard_normal((5, 1, 2))
    cell = simple([[R]], "tanh")
    slopes = 1 - np.square(unroll(cell, xs)[0][:, 0, 0])
    states = np.cumprod(np.append(1, R * slopes[::-1]))
    near(jacobian_by_lag(cell, xs), states)
    preactivations = np.cumprod(np.append(1, R * slopes[:-1][::-1]))
    near(preactivation_jacobian_norms(cell, xs).max[:, 0], preactivations)


@pytest.mark.parametrize("f", ["tanh", "sigmoid", "relu"])
def test_preactivations_against_the_derivative_of_their_recursion(f):
    cell, xs = simple(RANDOM.standard_normal((3, 3)), f, b=0.5), RANDOM.standard_normal((5, 2))
    us = cell.inputs(xs)
    norms = preactivation_jacobian_norms(cell, xs, at=3)
    assert norms.max.shape == (4,)

    def later(a, first):
        for u in us[first:4]:
            a = u + cell.step(jnp.zeros(3), a)[0] @ cell.R
        return a

    a = us[0]
    for k in range(4):
        jacobian = jax.jacfwd(later)(a, k + 1)
        near(norms.max[3 - k], np.abs(jacobian).max())
        near(norms.spectral[3 - k], norm(jacobian))
        a = us[k + 1] + cell.step(jnp.zeros(3), a)[0] @ cell.R


@pytest.mark.parametrize("forget", [0.0, 50.0])
def test_an_lstm_that_reads_no_state(forget):
    """`∂c_t/∂c_k = σ(b_f)^(t-k)`, which is 1 at all lags where the gate is pinned open."""
    cell = LSTM(2, 3, key=key(0), forget=forget)
    cell = eqx.tree_at(lambda c: (c.W, c.R), cell, (cell.W.at[:, 3:6].set(0), 0 * cell.R))
    xs = RANDOM.standard_normal((7, 1, 2))
    _, (_, c) = unroll(cell, xs)
    f = 1 / (1 + np.exp(-forget))
    o = 1 / (1 + np.exp(-xs[-1, 0] @ cell.W[:, 9:]))
    to_h = o * (1 - np.tanh(c[0]) ** 2)
    expected = f ** np.arange(1, 8) * np.sqrt(1 + np.max(to_h**2))
    near(jacobian_by_lag(cell, xs)[1:], expected)


def test_the_1997_truncation_keeps_the_memory():
    cell = LSTM1997(2, 3, key=key(0), truncated=True)
    jacobians = step_jacobians(cell, RANDOM.standard_normal((4, 2, 2)))
    near(jacobians[..., 3:, 3:], np.broadcast_to(np.eye(3), (4, 2, 3, 3)))
    near(jacobians[..., :3], np.zeros((4, 2, 6, 3)))


@pytest.fixture(scope="module")
def network():
    stack = Stack([LSTM(2, 3, key=key(0)), GRU(3, 2, key=key(1))])
    return Network(stack, Readout(2, 4, key=key(2)))


@pytest.fixture(scope="module")
def products(network):
    """Inputs, and `∂s_4/∂s_k` of each lag and sequence: the step Jacobians multiplied."""
    xs = RANDOM.standard_normal((6, 3, 2))
    found = [np.broadcast_to(np.eye(8), (3, 8, 8))]
    for jacobian in np.asarray(step_jacobians(network, xs))[4::-1]:
        found.append(found[-1] @ jacobian)
    return xs, np.stack(found)


def mean_square(norms):
    return np.sqrt(np.mean(norms**2, axis=1))


def test_by_lag_is_a_product_of_steps(network, products):
    xs, jacobians = products
    expected = mean_square(np.linalg.norm(jacobians, ord=2, axis=(2, 3)))
    for at in (4, -2):
        near(jacobian_by_lag(network, xs, at=at), expected)


def test_by_lag_against_finite_differences(network, products):
    xs, jacobians = products
    first = network.initial(())
    leaves, tree = jax.tree.flatten(first)
    ends = np.cumsum([x.size for x in leaves])[:-1]

    @jax.jit
    def last(s):
        state = jax.tree.unflatten(tree, jnp.split(s, ends))
        return jnp.concatenate(jax.tree.leaves(unroll(network, xs[:5, 0], state)[1]))

    h = 1e-6
    columns = [(last(h * e) - last(-h * e)) / (2 * h) for e in np.eye(8)]
    near(jacobians[5, 0], np.stack(columns, axis=1), 1e-8)


def test_probes_estimate_the_frobenius_norm(network, products):
    xs, jacobians = products
    frobenius = np.linalg.norm(jacobians, axis=(2, 3)) / np.sqrt(8)
    spectral = np.linalg.norm(jacobians, ord=2, axis=(2, 3))
    near(jacobian_by_lag(network, xs, at=4, probes=8, key=key(0)), mean_square(frobenius))
    few = jax.vmap(lambda key: jacobian_by_lag(network, xs, at=4, probes=2, key=key))
    found = np.asarray(few(jax.random.split(key(1), 1000)))
    near(found[:, 0], np.ones(1000))
    assert np.all(found <= mean_square(spectral) * (1 + 1e-12))
    near(np.sqrt(np.mean(found**2, axis=0)), mean_square(frobenius), 0.05)
    assert np.all(mean_square(spectral) <= np.sqrt(8) * mean_square(frobenius))


@pytest.mark.parametrize(("weight", "expected"), [(1e3, np.inf), (1e-3, 0.0)])
def test_beyond_the_range_of_a_dtype(weight, expected):
    cell = jax.tree.map(lambda x: x.astype(jnp.float32), simple(weight * np.eye(2)))
    xs = np.zeros((30, 1, 2), np.float32)
    for how in ({}, {"probes": 1, "key": key(0)}):
        found = np.asarray(jacobian_by_lag(cell, xs, **how))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found[:13], weight ** np.arange(13.0), rtol=1e-4)
        assert np.all(found[20:] == expected)


def random_nets(f, units, count, seed):
    """Simple cells with weights of all sizes, from those that fade to those that explode."""
    random = np.random.default_rng(seed)

    def draw(*shape):
        scale = 10 ** random.uniform(-2, 0.5, (count, *(1 for _ in shape)))
        return jnp.asarray(scale * random.standard_normal((count, *shape)))

    like = Simple(2, units, key=key(0), f=f)
    R = draw(units, units)
    R = R * (random.random(R.shape) < random.choice([0.3, 1.0], (count, 1, 1)))
    return eqx.tree_at(lambda c: (c.W, c.R, c.b), like, (draw(2, units), R, draw(units)))


@pytest.mark.parametrize("f", ["tanh", "sigmoid", "relu", "identity"])
def test_both_bounds_on_a_thousand_nets(f):
    steps, violated = 10, {"half of Hochreiter's": 0, "half of the singular values'": 0}
    lags = np.arange(steps)

    @eqx.filter_jit
    @eqx.filter_vmap
    def measure(cell, xs):
        bounds = hochreiter_bound(cell, lags), singular_value_bound(cell, lags)
        return preactivation_jacobian_norms(cell, xs), bounds

    for units in (1, 2, 5):
        cells = random_nets(f, units, 334, seed=units)
        xs = np.random.default_rng(units).standard_normal((334, steps, 2))
        norms, (hochreiter, singular) = jax.device_get(measure(cells, xs))
        room = 1 + 1e-9
        assert np.all(norms.max <= norms.spectral * room)
        assert np.all(norms.spectral <= singular * room)
        assert np.all(singular <= hochreiter * room)
        assert np.all(norms.max <= hochreiter * room)
        violated["half of Hochreiter's"] += np.sum(norms.max[:, 1:] > hochreiter[:, 1:] / 2)
        violated["half of the singular values'"] += np.sum(
            norms.spectral[:, 1:] > singular[:, 1:] / 2
        )
    # Were the bounds half of what they are, or a slope too small, this would have been seen.
    assert min(violated.values()) > 50, violated


@pytest.mark.parametrize("f", STEEPEST)
def test_no_slope_is_steeper(f):
    a = jnp.linspace(-8, 8, 4001)
    cell = simple(np.zeros((1, 1)), f)
    slope = jax.vmap(jax.grad(lambda a: cell.step(jnp.zeros(1), a[None])[0][0]))(a)
    assert np.max(np.abs(slope)) == pytest.approx(STEEPEST[f])
    ones = simple(np.ones((2, 2)), f)
    near(hochreiter_bound(ones, [0, 1, 2]), (2 * STEEPEST[f]) ** np.arange(3))
    near(singular_value_bound(ones, [0, 1, 2]), (2 * STEEPEST[f]) ** np.arange(3))


def test_both_bounds_are_reached_where_all_weights_are_equal():
    cell, xs = simple(np.full((4, 4), 0.3)), RANDOM.standard_normal((6, 2))
    norms, lags = preactivation_jacobian_norms(cell, xs), np.arange(6)
    near(norms.spectral, hochreiter_bound(cell, lags))
    near(norms.spectral, singular_value_bound(cell, lags))
    near(norms.max[1:], hochreiter_bound(cell, lags)[1:] / 4)


def test_the_printed_power_is_one_too_few():
    """Galvan (2015) (1.66) and (1.71) have t - k - 1, with a product of t - k factors."""
    cell, xs = simple([[2.0]]), np.zeros((3, 2))
    norms = preactivation_jacobian_norms(cell, xs)
    for bound in (hochreiter_bound, singular_value_bound):
        assert norms.max[1] > bound(cell, 0)
        assert norms.spectral[2] > bound(cell, 1)


def test_what_is_refused():
    cell, xs = Simple(2, 3, key=key(0)), np.zeros((4, 2))
    both = Bidirectional(cell, cell)
    for function in (step_jacobians, jacobian_by_lag):
        with pytest.raises(BadInput, match=f"{function.__name__} needs a cell with a step, got"):
            function(both, xs)
    with pytest.raises(BadInput, match="at must be a step from -4 to 3, got 4"):
        jacobian_by_lag(cell, xs, at=4)
    with pytest.raises(BadInput, match="needs a key"):
        jacobian_by_lag(cell, xs, probes=1)
    with pytest.raises(BadInput, match="probes must be from 1 to the state's size 3, got 4"):
        jacobian_by_lag(cell, xs, probes=4, key=key(0))
    with pytest.raises(BadInput, match="is for Simple cells, got GRU"):
        preactivation_jacobian_norms(GRU(2, 3, key=key(0)), xs)
    with pytest.raises(ValueError, match="expects a state"):
        step_jacobians(cell, xs, jnp.zeros(4))
