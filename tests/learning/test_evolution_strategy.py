"""The evolution strategy: its estimate against a loop, and against the gradient."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.cells import Simple
from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.learning import EvolutionStrategy, Objective
from ostinato.learning.evolution_strategy import centred_ranks
from ostinato.losses import SquaredError
from ostinato.weights import trained
from ostinato.wiring import Network, Readout


@pytest.fixture
def problem():
    one, two, three = jax.random.split(jax.random.key(0), 3)
    network = Network(Simple(2, 3, key=one), Readout(3, 1, key=two))
    xs = jax.random.normal(three, (5, 4, 2))
    return network, Batch(xs, jnp.sum(xs, -1, keepdims=True), jnp.ones((5, 4)))


def estimate(learner, network, batch):
    """What the learner follows: the first moment of Adam after one step is a tenth of it."""
    learner_state, state = learner.initial(network), learner.start(network, batch)
    _, learner_state, _, report = jax.jit(learner.step)(network, learner_state, state, batch)
    return jax.tree.map(lambda m: 10 * m, learner_state.direction.mu), report


def test_the_estimate_is_that_of_a_loop(problem):
    network, batch = problem
    learner = EvolutionStrategy(Objective(SquaredError()), 10, directions=3, sigma=0.1)
    found, report = estimate(learner, network, batch)
    parameters, rest = trained(network)
    noise = learner._noise(jnp.zeros((), jnp.int32), parameters)

    @jax.jit
    def loss(parameters):
        return learner.objective.value(eqx.combine(parameters, rest), batch, None)[0]

    losses = np.zeros((2, 3))
    for i in range(3):
        for sign in (0, 1):
            size = 0.1 * (1 - 2 * sign)
            moved = jax.tree.map(lambda p, e, i=i, size=size: p + size * e[i], parameters, noise)
            losses[sign, i] = loss(moved)
    ranks = (np.argsort(np.argsort(losses.ravel())) / 5 - 0.5).reshape(2, 3)
    for leaf, e in zip(jax.tree.leaves(found), jax.tree.leaves(noise), strict=True):
        expected = sum((ranks[0, i] - ranks[1, i]) * e[i] for i in range(3)) / (2 * 3 * 0.1)
        np.testing.assert_allclose(leaf, expected, rtol=1e-10)
    flat = np.concatenate([np.ravel(x) for x in jax.tree.leaves(found)])
    np.testing.assert_allclose(report["norm"], np.linalg.norm(flat), rtol=1e-10)


@pytest.mark.slow
def test_with_many_directions_it_points_along_the_gradient(problem):
    network, batch = problem
    objective = Objective(SquaredError())
    found, _ = estimate(
        EvolutionStrategy(objective, 10, directions=2000, sigma=0.01), network, batch
    )
    parameters, rest = trained(network)
    gradient = jax.grad(lambda p: objective.value(eqx.combine(p, rest), batch, None)[0])(parameters)
    one, other = (
        np.concatenate([np.ravel(x) for x in jax.tree.leaves(tree)]) for tree in (found, gradient)
    )
    assert one @ other / np.linalg.norm(one) / np.linalg.norm(other) > 0.98


def test_losses_that_are_not_finite_rank_last():
    ranks = centred_ranks(jnp.array([[jnp.nan, 1.0, -jnp.inf], [2.0, jnp.inf, 0.0]]))
    assert ranks.reshape(-1).tolist().index(-0.5) == 5
    assert float(ranks[1, 0]) == pytest.approx(-0.1)
    assert min(float(ranks[0, 0]), float(ranks[0, 2]), float(ranks[1, 1])) > 0


def test_schedules_that_need_more_are_refused():
    for name in ("plateau", "adaptive", "halving", "line-search"):
        with pytest.raises(BadInput, match=f"does not support the schedule {name}"):
            EvolutionStrategy(Objective(SquaredError()), 10, schedule=name)
