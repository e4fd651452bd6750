"""Two learners, and when each has its turn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.learning import FirstOrder, Hybrid, Learner, Objective
from ostinato.losses import SquaredError

OBJECTIVE = Objective(SquaredError())
BATCH = Batch(None, None, jnp.ones((1, 1)))


class Bowl(Objective):
    """½ w², which a first-order learner with a rate of 0 never leaves."""

    def own_value(self, network, batch, state):
        return 0.5 * jnp.sum(network["w"] ** 2), state


class Leap(Learner):
    """Halves the weights, and tells that it did."""

    def initial(self, network):
        return jnp.zeros((), jnp.int32)

    def step(self, network, learner_state, state, batch):
        zero = jnp.zeros(())
        report = {
            "loss": zero,
            "norm": zero,
            "norms": zero[None],
            "rate": zero,
            "leaps": learner_state + 1,
        }
        return {"w": network["w"] / 2}, learner_state + 1, state, {**report, "clipped": zero}

    def summary(self, reports):
        return {"leaps": int(reports[-1]["leaps"])}


def turns(learner, count):
    network = {"w": jnp.asarray([1.0])}
    learner_state, found = learner.initial(network), []
    step = jax.jit(learner.step)
    for _ in range(count):
        network, learner_state, _, report = step(network, learner_state, None, BATCH)
        found.append(report)
    return [int(r["second"]) for r in found], network, found


def slow(rate):
    return FirstOrder("sgd", Bowl(SquaredError()), 10, rate=rate, clip="off", schedule="constant")


def test_after_so_many_steps_the_second_goes_on():
    learner = Hybrid(slow(0.0), Leap(), steps=3)
    seen, network, reports = turns(learner, 6)
    assert seen == [0, 0, 0, 1, 1, 1]
    np.testing.assert_allclose(network["w"], 1 / 8)
    assert learner.summary(reports)["leaps"] == 3 and learner.summary(reports)["second"] == 0.5
    before = learner.summary(reports[:2])
    assert before["loss"] == 0.5 and before["second"] == 0 and "leaps" not in before


def test_the_second_steps_in_where_the_first_is_stuck():
    """Without gain for two steps it has one step, again and again; never while the first gains."""
    stuck, *_ = turns(Hybrid(slow(0.0), Leap(), steps=2, where="stuck"), 7)
    assert stuck[:4] == [0, 0, 0, 1] and sum(stuck) >= 1  # the first loss is a gain by itself
    falling, *_ = turns(Hybrid(slow(0.1), Leap(), steps=2, where="stuck"), 7)
    assert falling == [0] * 7


def test_bad_settings():
    with pytest.raises(BadInput, match="where must be one of after, stuck; got never"):
        Hybrid(slow(0.1), Leap(), 3, "never")
    with pytest.raises(BadInput, match="steps must be at least 1, got 0"):
        Hybrid(slow(0.1), Leap(), 0)
