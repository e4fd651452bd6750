"""Rosenblatt's rule: what it does in a step, and how soon it ends."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.cells import LSTM, Jordan, Simple
from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.learning import Objective, Perceptron
from ostinato.losses import CrossEntropy, SquaredError
from ostinato.runs import Config, train
from ostinato.wiring import Network, Readout

KEY = jax.random.key(0)


def threshold_units(inputs, outputs):
    """A perceptron: the input itself, and a readout that starts at zero."""
    cell = Simple(inputs, inputs, key=KEY, f="identity")
    cell = eqx.tree_at(lambda c: (c.W, c.R), cell, (jnp.eye(inputs), jnp.zeros((inputs, inputs))))
    readout = Readout(inputs, outputs, key=KEY)
    return Network(cell, jax.tree.map(jnp.zeros_like, readout))


def learned(network, batch, epochs, loss=None, **options):
    learner = Perceptron(Objective(loss or SquaredError()), **options)
    learner_state, step = learner.initial(network), jax.jit(learner.step)
    history = []
    for _ in range(epochs):
        state = learner.start(network, batch)
        network, learner_state, _, report = step(network, learner_state, state, batch)
        history.append(int(report["mistakes"]))
    return network, learner_state, history


def test_the_number_of_mistakes_is_bounded():
    """Novikoff's bound, from the margin of a unit vector that separates the answers."""
    rng = np.random.default_rng(1)
    true = rng.normal(size=6)
    true /= np.linalg.norm(true)
    xs = rng.normal(size=(400, 5))
    with_one = np.concatenate([xs, np.ones((400, 1))], axis=1)
    wide = np.abs(with_one @ true) > 0.2
    xs, with_one = xs[wide], with_one[wide]
    answers = np.sign(with_one @ true)
    bound = (np.linalg.norm(with_one, axis=1).max() / np.abs(with_one @ true).min()) ** 2
    batch = Batch(
        jnp.asarray(xs[None]), jnp.asarray(answers[None, :, None]), jnp.ones((1, len(xs)))
    )
    network, learner_state, history = learned(threshold_units(5, 1), batch, epochs=40, rate=0.5)
    assert 0 < sum(history) == int(learner_state.mistakes[0]) <= bound
    assert history[0] > 0 and history[-1] == 0
    ys = network.readout(jnp.asarray(xs))[:, 0]
    assert np.all(np.sign(ys) == answers)


def test_a_step_is_the_rule_in_a_loop():
    rng = np.random.default_rng(2)
    xs, targets = rng.normal(size=(3, 4, 5)), rng.integers(0, 3, (3, 4))
    lengths = np.array([3, 1, 2, 3])
    network = Network(LSTM(5, 6, key=KEY), Readout(6, 3, key=KEY))
    batch = Batch(xs, targets, np.ones((3, 4)), lengths).on_device().arrays
    hs, _ = Objective(CrossEntropy()).outputs(
        Network(network.cell, None), batch, network.initial((4,))
    )
    V, b = np.array(network.readout.V), np.array(network.readout.b)
    mistakes = 0
    for t in range(3):
        for n in range(4):
            if t < lengths[n]:
                answer = 2 * np.eye(3)[targets[t, n]] - 1
                error = answer - np.where(hs[t, n] @ V + b > 0, 1, -1)
                V, b = V + 0.3 * np.outer(hs[t, n], error), b + 0.3 * error
                mistakes += np.count_nonzero(error)
    found, _, history = learned(network, batch, 1, CrossEntropy(), rate=0.3)
    np.testing.assert_allclose(found.readout.V, V, rtol=1e-12)
    np.testing.assert_allclose(found.readout.b, b, rtol=1e-12)
    assert history == [mistakes]
    assert eqx.tree_equal(found.cell, network.cell)


CORNERS = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])


@pytest.mark.parametrize(("ones", "separable"), [([3], True), ([1, 2, 3], True), ([1, 2], False)])
def test_and_and_or_are_learned_but_not_xor(ones, separable):
    answers = np.where(np.isin(np.arange(4), ones), 1.0, -1.0)
    batch = Batch(jnp.asarray(CORNERS[None]), jnp.asarray(answers[None, :, None]), jnp.ones((1, 4)))
    _, _, history = learned(threshold_units(2, 1), batch, epochs=50)
    assert (history[-1] == 0) == separable
    assert separable or min(history) > 0


def test_without_a_bias():
    network = threshold_units(2, 1)
    network = eqx.tree_at(lambda n: n.readout, network, Readout(2, 1, key=KEY, bias=False))
    batch = Batch(jnp.asarray(CORNERS[None, 1:]), jnp.ones((1, 3, 1)), jnp.ones((1, 3)))
    found, _, history = learned(network, batch, 10)
    assert history[-1] == 0 and found.readout.b is None


def test_what_it_needs():
    with pytest.raises(BadInput, match="needs a network with a readout to train"):
        Perceptron(Objective(CrossEntropy())).initial(
            Network(Jordan(3, 4, key=KEY, outputs=2), None)
        )
    batch = Batch(jnp.ones((2, 3, 2)), jnp.ones((2, 3, 4)), jnp.ones((2, 3)))
    with pytest.raises(BadInput, match="needs a target for each output of each step"):
        learned(threshold_units(2, 1), batch, 1)


@pytest.mark.slow
def test_a_run(tmp_path):
    run = train(Config(task="xor", cell="simple", learner="perceptron", units=8, steps=3), tmp_path)
    last = [event for event in run.events() if event["kind"] == "train"][-1]
    assert last["mistakes"] > 0 and last["rate"] == 1
