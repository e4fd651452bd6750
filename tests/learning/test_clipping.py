"""Norms of gradients at the ends of float32."""

import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.data import Batch
from ostinato.learning import FirstOrder, Objective
from ostinato.learning.clipping import norm_of, norms_of
from ostinato.learning.gradients import Gradient
from ostinato.losses import SquaredError


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e17, 1e19, 1e30, 1e37])
def test_norms_do_not_overflow(size):
    x = size * np.random.default_rng(0).normal(size=(3, 50))
    np.testing.assert_allclose(norm_of(jnp.asarray(x, jnp.float32)), np.linalg.norm(x), rtol=1e-5)
    norms, norm = norms_of([jnp.asarray(row, jnp.float32) for row in x])
    np.testing.assert_allclose(norms, np.linalg.norm(x, axis=1), rtol=1e-5)
    np.testing.assert_allclose(norm, np.linalg.norm(x), rtol=1e-5)


def test_usual_norms_are_exactly_those_of_jax():
    x = jnp.asarray(np.random.default_rng(0).normal(size=1000), jnp.float32)
    assert norm_of(x) == jnp.linalg.norm(x) and norm_of(x).dtype == jnp.float32


def test_what_is_not_finite_stays_so():
    assert norm_of(jnp.array([1.0, -jnp.inf])) == jnp.inf
    assert jnp.isnan(norm_of(jnp.array([1e30, jnp.nan], jnp.float32)))
    assert norm_of(jnp.full(10, 3e38, jnp.float32)) == jnp.inf, "the norm is 9e38"
    assert norm_of(jnp.zeros(0)) == 0


class Huge(Gradient):
    """A gradient whose squares overflow float32."""

    def own(self, objective, network, batch, state):
        return jnp.zeros(()), {"w": jnp.array([3e30, -4e30], jnp.float32)}, state


def test_a_huge_gradient_is_clipped_and_not_lost():
    learner = FirstOrder("sgd", Objective(SquaredError()), 10, Huge(), rate=0.1, clip="1")
    network = {"w": jnp.zeros(2, jnp.float32)}
    batch = Batch(jnp.zeros((1, 1)), None, jnp.ones((1, 1)))
    after, _, _, report = learner.step(network, learner.initial(network), None, batch)
    np.testing.assert_allclose(after["w"], [-0.06, 0.08], rtol=1e-5)
    assert float(report["norm"]) == pytest.approx(5e30, rel=1e-5)
