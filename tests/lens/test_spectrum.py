"""Recurrent matrices, fixed points and Lyapunov exponents against what is known in closed form."""

import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.random import key

from members import WIRINGS
from ostinato.cells import GRU, LSTM, MLSTM, Delay, Jordan, Simple
from ostinato.errors import BadInput
from ostinato.lens import (
    fixed_points,
    largest_singular_value,
    lyapunov_exponent,
    recurrent_matrices,
    spectral_radius,
)
from ostinato.wiring import Bidirectional, Embedding, Network, Readout, Stack, WeightNoise

ONE, TWO, THREE = jax.random.split(key(7), 3)
RANDOM = np.random.default_rng(0)


def simple(R, f="tanh", inputs=1):
    """A simple cell with the given recurrent matrix."""
    R = jnp.asarray(R, float)
    return eqx.tree_at(lambda c: c.R, Simple(inputs, len(R), key=ONE, f=f), R)


def equal(found, expected):
    assert found.keys() == expected.keys()
    for name, matrix in expected.items():
        np.testing.assert_array_equal(found[name], matrix, err_msg=name)


def gates(name, matrix, count):
    return {f"{name}[{k}]": part for k, part in enumerate(jnp.split(matrix, count, axis=1))}


def test_matrices_of_single_cells():
    cell = Simple(3, 3, key=ONE)
    equal(recurrent_matrices(cell), {".R": cell.R})
    cell = LSTM(4, 4, key=ONE)
    equal(recurrent_matrices(cell), gates(".R", cell.R, 4))
    cell = GRU(4, 4, key=ONE)
    equal(recurrent_matrices(cell), gates(".R", cell.R, 2) | {".U": cell.U})
    cell = GRU(4, 4, key=ONE, reset="after")
    equal(recurrent_matrices(cell), gates(".R", jnp.hstack([cell.R, cell.U]), 3))


def test_a_weight_that_reads_the_state_by_way_of_another():
    cell = MLSTM(4, 4, key=ONE)
    equal(recurrent_matrices(cell), {".Rm": cell.Rm} | gates(".R", cell.R, 4))
    cell = Jordan(3, 3, key=ONE)
    equal(recurrent_matrices(cell), {".R": cell.R, ".V": cell.V})


def test_what_is_not_square_is_no_gate():
    """Two outputs and four units: the weight is twice as wide as high, and yet one piece."""
    assert recurrent_matrices(Jordan(3, 4, key=ONE, outputs=2)) == {}


def test_weights_as_the_step_uses_them():
    cell = Delay(3, 4, key=ONE, dt=0.5)
    inverse = np.linalg.inv(np.eye(4) - 0.5 * cell.A)
    found = recurrent_matrices(cell)
    np.testing.assert_allclose(found[".A"], inverse)
    np.testing.assert_allclose(found[".B"], 0.5 * cell.B @ inverse)
    noisy = WeightNoise(Simple(3, 4, key=ONE), 0.1, key=TWO)
    (R,) = recurrent_matrices(noisy).values()
    np.testing.assert_allclose(R, eqx.filter_jit(WeightNoise._noisy)(noisy).R)


def test_only_what_lies_on_a_cycle():
    """All sizes are the same, so that only the wiring tells weights apart."""
    stack = Stack([LSTM(4, 4, key=ONE), Simple(4, 4, key=TWO)])
    network = Network(stack, Readout(4, 4, key=THREE), Embedding(4, 4, key=ONE))
    lower, upper = stack.layers
    expected = gates(".cell.layers[0].R", lower.R, 4) | {".cell.layers[1].R": upper.R}
    equal(recurrent_matrices(network), expected)
    both = Network(
        Stack([Bidirectional(Simple(4, 2, key=ONE), Simple(4, 2, key=TWO)), upper]),
        Readout(4, 4, key=THREE),
    )
    ahead, behind = both.cell.layers[0].forward, both.cell.layers[0].backward
    names = [".cell.layers[0].forward.R", ".cell.layers[0].backward.R", ".cell.layers[1].R"]
    equal(recurrent_matrices(both), dict(zip(names, [ahead.R, behind.R, upper.R], strict=True)))


# The way around of a Jordan network is by two matrices, of which neither is square; that of a
# machine with a feedforward controller is through its memory; that of a reservoir is in blocks.
WITHOUT = (
    "network, jordan",
    "neural turing machine, feedforward, two heads",
    "expansion, quadratic",
)


@pytest.mark.parametrize("name", [name for name in WIRINGS if name not in WITHOUT])
def test_every_wiring_has_recurrent_matrices(name):
    found = eqx.filter_eval_shape(lambda: recurrent_matrices(WIRINGS[name]().cell))
    assert found
    for path, matrix in found.items():
        assert matrix.shape[0] == matrix.shape[1]
        assert re.fullmatch(r".*\.(R|Rm|U|A|B)(\[\d\])?", path), path


def test_radius_and_singular_value():
    matrix = np.array([[0.5, 10.0], [0.0, 0.4]])
    assert spectral_radius(matrix) == pytest.approx(0.5)
    assert largest_singular_value(matrix) == pytest.approx(10.02, abs=0.005)
    turn = np.array([[0.0, -2.0], [2.0, 0.0]])
    np.testing.assert_allclose(spectral_radius(np.stack([matrix, turn])), [0.5, 2.0])
    np.testing.assert_allclose(largest_singular_value(np.stack([turn, 3 * turn])), [2.0, 6.0])
    with pytest.raises(BadInput, match=r"needs square matrices, got shape \(2, 3\)"):
        spectral_radius(np.ones((2, 3)))


def test_the_scalar_net_that_converges_though_its_weight_is_two():
    """Delgado del Cerro (2021) section 2.4 calls a spectral radius below 1 necessary; it is not."""
    cell = simple([[2.0]])
    points = fixed_points(cell, starts=30, key=TWO)
    assert len(points) == 3
    h = np.array([point.state.item() for point in points])
    np.testing.assert_allclose(sorted(2 * h), [-1.915, 0, 1.915], atol=5e-4)
    assert [point.stable for point in points] == [True, True, False]
    for point, value in zip(points, h, strict=True):
        assert point.eigenvalues[0] == pytest.approx(2 * (1 - value**2))
        assert point.residual < 1e-14
    # The net itself, from a state nearby: to the stable point, and away from the other.
    state = jnp.array([1e-3])
    for _ in range(40):
        state, _ = cell.step(state, cell.inputs(jnp.zeros(1)))
    assert 2 * state.item() == pytest.approx(1.915, abs=5e-4)


@pytest.mark.parametrize(("scale", "stable"), [(0.3, True), (1.5, False)])
def test_a_linear_net_has_one_fixed_point(scale, stable):
    R = scale * np.linalg.qr(RANDOM.standard_normal((3, 3)))[0]
    cell, x = simple(R, "identity", inputs=2), jnp.array([0.5, -1.0])
    (point,) = fixed_points(cell, x, starts=10, key=TWO)
    np.testing.assert_allclose(point.state, np.linalg.solve((np.eye(3) - R).T, cell.inputs(x)))
    np.testing.assert_allclose(np.abs(point.eigenvalues), scale)
    assert point.stable == stable


def test_no_fixed_point():
    cell = simple([[1.0]], "identity")
    assert fixed_points(cell, jnp.ones(1), starts=5, key=TWO) == []


def test_a_line_of_fixed_points():
    points = fixed_points(simple([[1.0]], "identity"), starts=5, key=TWO)
    assert len(points) == 5
    assert not any(point.stable for point in points)


def test_fixed_points_of_a_network_on_symbols():
    network = Network(LSTM(2, 3, key=ONE), Readout(3, 3, key=ONE), Embedding(3, 2, key=THREE))
    points = fixed_points(network, 2, starts=20, key=TWO)
    assert points
    for point in points:
        again, _ = network.step(point.state, network.inputs(jnp.asarray(2)))
        for one, other in zip(jax.tree.leaves(point.state), jax.tree.leaves(again), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-10)
        assert point.eigenvalues.shape == (6,)
        assert point.stable == (np.abs(point.eigenvalues).max() < 1)


def test_fixed_points_in_float32():
    cell = jax.tree.map(lambda x: x.astype(jnp.float32), simple(2 * np.eye(2)))
    points = fixed_points(cell, starts=60, key=TWO)
    assert len(points) == 9
    assert sum(point.stable for point in points) == 4
    assert points[0].state.dtype == np.float32


def test_the_exponent_of_a_linear_net_is_the_log_of_its_radius():
    R = RANDOM.standard_normal((4, 4))
    R = R + R.T
    xs = RANDOM.standard_normal((400, 3, 1))
    found = lyapunov_exponent(simple(R, "identity"), xs, key=TWO, burn_in=100)
    assert found.shape == (3,)
    np.testing.assert_allclose(found, np.log(spectral_radius(R)), rtol=1e-6)


def test_the_exponent_along_a_trajectory():
    """One unit: the mean log of |R f'(a_t)| over the steps that count."""
    cell, xs = simple([[1.4]]), RANDOM.standard_normal((40, 1))
    state, logs = jnp.zeros(1), []
    for x in xs:
        state, _ = cell.step(state, cell.inputs(x))
        logs.append(np.log(1.4 * (1 - state.item() ** 2)))
    found = lyapunov_exponent(cell, xs, key=TWO)
    assert found.shape == ()
    np.testing.assert_allclose(found, np.mean(logs[10:]))
    np.testing.assert_allclose(lyapunov_exponent(cell, xs, key=TWO, burn_in=0), np.mean(logs))


def test_exponents_that_are_known():
    xs = RANDOM.standard_normal((100, 2))
    turning = Simple(2, 3, key=ONE, f="identity")  # R is orthogonal
    assert lyapunov_exponent(turning, xs, key=TWO) == pytest.approx(0, abs=1e-12)
    assert lyapunov_exponent(simple([[0.0]], inputs=2), xs, key=TWO) == -np.inf
    cell = LSTM(2, 3, key=ONE, forget=0.7)
    cell = eqx.tree_at(lambda c: (c.W, c.R), cell, (0 * cell.W, 0 * cell.R))
    forgotten = np.log(1 / (1 + np.exp(-0.7)))
    assert lyapunov_exponent(cell, xs, key=TWO) == pytest.approx(forgotten)


def test_chaos_begins_with_large_weights():
    """Random tanh nets without input: order for small weights, chaos for large ones."""
    R = RANDOM.standard_normal((60, 60)) / np.sqrt(60)
    xs, state = np.zeros((300, 1)), jnp.asarray(RANDOM.standard_normal(60))
    calm, wild = (lyapunov_exponent(simple(g * R), xs, state, key=TWO) for g in (0.5, 4.0))
    assert calm < -0.3
    assert wild > 0.1


def test_what_is_refused():
    cell, xs = Simple(2, 3, key=ONE), np.zeros((4, 2))
    both = Bidirectional(cell, cell)
    with pytest.raises(BadInput, match="fixed_points needs a cell with a step, got Bidirectional"):
        fixed_points(both, key=TWO)
    with pytest.raises(BadInput, match="lyapunov_exponent needs a cell with a step, got"):
        lyapunov_exponent(both, xs, key=TWO)
    with pytest.raises(BadInput, match=r"one input without batch axes, got \(4, 2\)"):
        fixed_points(cell, xs, key=TWO)
    with pytest.raises(BadInput, match="burn_in must leave some of the 4 steps, got 4"):
        lyapunov_exponent(cell, xs, key=TWO, burn_in=4)
