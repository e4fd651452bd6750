"""Learners of complex parameters and states, which count as pairs of real numbers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.cells import Cell
from ostinato.data import Batch
from ostinato.learning import LEARNERS, FirstOrder, Objective, RunSize
from ostinato.learning.hessian_free.on_batch import OnBatch
from ostinato.losses import SquaredError
from ostinato.wiring import Network, Readout

KEYS = jax.random.split(jax.random.key(0), 8)


class Turning(Cell):
    """A complex state; the weight of the inputs is real, all others are complex."""

    W: jax.Array
    R: jax.Array

    def initial(self, batch):
        return jnp.zeros((*batch, 2), self.R.dtype)

    def inputs(self, x):
        return x @ self.W

    def step(self, state, u):
        h = jnp.tanh(state @ self.R + u * (1 + 0.5j))
        return h, jnp.concatenate([h.real, h.imag], axis=-1)


def drawn(key, *shape):
    return 0.5 * jax.random.normal(key, shape)


cell = Turning(drawn(KEYS[0], 3, 2), drawn(KEYS[1], 2, 2) + 1j * drawn(KEYS[2], 2, 2))
network = Network(cell, Readout(4, 1, key=KEYS[3]))
xs, ys = np.asarray(drawn(KEYS[4], 5, 4, 3)), np.asarray(drawn(KEYS[5], 5, 4, 1))
batch = Batch(xs, ys, np.ones((5, 4)))
objective = Objective(SquaredError())


def losses(learner, steps):
    trained, memory, state = network, learner.initial(network), learner.start(network, batch)
    step = eqx.filter_jit(learner.step)
    found = []
    for _ in range(steps):
        trained, memory, _, report = step(trained, memory, state, batch)
        found.append(float(report["loss"]))
    return trained, found


def test_a_step_along_a_complex_parameter_goes_downhill():
    """A small step of gradient descent lowers the loss by the rate times the squared gradient."""
    rate = 1e-4
    learner = FirstOrder("sgd", objective, 1, rate=rate, clip="off", schedule="constant")
    moved, (before,) = losses(learner, 1)
    change = jax.tree.map(jnp.subtract, *(eqx.filter(x, eqx.is_array) for x in (moved, network)))
    squares = sum(float(jnp.sum(jnp.abs(x) ** 2)) for x in jax.tree.leaves(change))
    after = float(objective.value(moved, batch, None)[0])
    np.testing.assert_allclose(after - before, -squares / rate, rtol=1e-2)


@pytest.mark.parametrize("name", ["adam", "hf", "saddle-free"])
def test_learners_with_their_defaults_learn_complex_parameters(name):
    """Hessian-free damps the change of complex states by default, too."""
    kind = LEARNERS[name]
    size = RunSize(units=2, batch=4, steps=3, epoch=1.0)
    _, found = losses(kind.from_settings(name, kind.Settings(), objective, size), 3)
    assert found[2] < found[1] < found[0]


@pytest.mark.parametrize("form", ["activation", "pre-activation"])
def test_curvature_with_structural_damping_is_that_of_pairs_of_reals(form):
    """`J_outᵀ J_out + J_sᵀ D J_s` by the Jacobians of real functions of real numbers."""
    on = OnBatch(objective, network, batch, None)
    theta, v = on.start, jax.random.normal(KEYS[6], on.start.shape)
    assert theta.dtype == jnp.float64 and theta.size == 6 + 2 * 4 + 5
    damping = on.gauss_newton(theta, form)(v, 1.0) - on.gauss_newton(theta, form)(v, 0.0)
    total = float(np.sum(batch.weights))

    def watched(theta):
        (_, states), _ = objective.outputs(on.at(theta), batch, None, "states")
        return jnp.stack([states[0].real, states[0].imag])

    J = jax.jacobian(watched)(theta).reshape(-1, theta.size)
    expected = 0 * v if form == "pre-activation" else J.T @ (J @ v) / total
    np.testing.assert_allclose(damping, expected, rtol=1e-9, atol=1e-12)
