"""Hopfield networks: storage, recall, energy and capacity."""

import os
import signal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ostinato
from ostinato.cells import Hopfield
from ostinato.errors import BadInput
from ostinato.learning import Hebb, Objective, PseudoInverse
from ostinato.runs import Config, evaluate_network, examine, train
from ostinato.symbolic import capacity, energy, recall, store
from ostinato.tasks import Recall
from ostinato.wiring import Network

PATTERNS = np.random.default_rng(5).choice([-1.0, 1.0], (9, 100))


def corrupted(patterns, flips):
    places = np.random.default_rng(6).random(patterns.shape).argsort(axis=1) < flips
    return np.where(places, -patterns, patterns)


@pytest.mark.parametrize("rule", ["hebb", "pseudo-inverse"])
@pytest.mark.parametrize("synchronous", [False, True])
def test_patterns_come_back(rule, synchronous):
    cell = store(PATTERNS, rule)
    found = recall(cell, corrupted(PATTERNS, 10), synchronous=synchronous, sweeps=20)
    np.testing.assert_array_equal(found, PATTERNS)


def test_the_energy_falls_with_every_sweep():
    cell = store(PATTERNS)
    states = corrupted(PATTERNS, 30)
    energies = [energy(cell, jnp.asarray(states))]
    for _ in range(5):
        states = np.asarray(recall(cell, states, sweeps=1))
        energies.append(energy(cell, jnp.asarray(states)))
    assert np.all(np.diff(energies, axis=0) <= 1e-12)
    assert np.all(energies[0] > energies[-1])
    R = np.asarray(cell.R)
    loop = [
        -0.5 * sum(R[i, j] * s[i] * s[j] for i in range(20) for j in range(20) if i != j)
        for s in states[:2, :20]
    ]
    part = store(PATTERNS[:, :20])
    part = eqx.tree_at(lambda cell: cell.R, part, cell.R[:20, :20])
    np.testing.assert_allclose(energy(part, states[:2, :20]), loop, rtol=1e-12)


def test_synchronous_updates_can_alternate():
    """Two units that inhibit each other: both flip at every step, and never one by one."""
    cell = eqx.tree_at(
        lambda cell: cell.R, Hopfield(2, 2, key=jax.random.key(0)), jnp.array([[0.0, -1], [-1, 0]])
    )
    start = np.array([[1.0, 1.0]])
    np.testing.assert_array_equal(recall(cell, start, synchronous=True, sweeps=5), -start)
    np.testing.assert_array_equal(recall(cell, start, synchronous=True, sweeps=6), start)
    (one,) = np.asarray(recall(cell, start))
    assert one[0] == -one[1]


def test_everything_is_recalled_below_a_tenth_and_recall_collapses():
    found = capacity(300, [0.04, 0.08, 0.25], networks=3, noise=0.05, probed=24)
    assert found.recalled[:2].min() > 0.95 and found.overlap[:2].min() > 0.98
    assert found.recalled[2].max() < 0.3
    exact = capacity(100, [0.5], rule="pseudo-inverse", networks=2)
    assert exact.recalled.min() == 1 and exact.overlap.min() == 1


@pytest.mark.parametrize(
    ("patterns", "words"),
    [(np.zeros((2, 3)), "are -1 and 1, got 0.0"), (np.ones(3), r"\(patterns, bits\), got \(3,\)")],
)
def test_what_is_not_a_pattern(patterns, words):
    with pytest.raises(BadInput, match=words):
        store(patterns)
    with pytest.raises(BadInput, match="the rule is hebb or pseudo-inverse, got 'other'"):
        store(PATTERNS, "other")


@pytest.mark.parametrize(("kind", "rule"), [(Hebb, "hebb"), (PseudoInverse, "pseudo-inverse")])
def test_learners_store_what_the_closed_forms_do(kind, rule):
    """In batches, with patterns that are seen twice."""
    task = Recall(PATTERNS, seed=1)
    network = Network(Hopfield(100, 100, key=jax.random.key(0)), None)
    learner = kind(Objective(task.loss))
    learner_state, step = learner.initial(network), jax.jit(learner.step)
    for index in range(6):  # two epochs
        batch = task.batch(index, 3).on_device().arrays
        state = learner.start(network, batch)
        network, learner_state, state, _ = step(network, learner_state, state, batch)
    expected = store(PATTERNS, rule).R * (100 / 9 if rule == "hebb" else 1)
    np.testing.assert_allclose(network.cell.R, expected, rtol=0, atol=1e-10)
    assert int(learner_state.seen) == 18
    ys, _ = ostinato.unroll(network, jnp.asarray(task.batch(0, 9).inputs))
    np.testing.assert_array_equal(ys[-1], task.batch(0, 9).targets[-1])


def test_dependent_patterns_do_not_spoil_the_pseudo_inverse():
    patterns = np.array([[1.0, 1, 1, 1], [1, 1, -1, -1], [-1, -1, -1, -1], [1, 1, 1, 1]])
    learner = PseudoInverse(Objective(Recall.loss))
    R = learner.stored(jnp.zeros((4, 4)), patterns, jnp.ones(4), jnp.zeros(()))
    np.testing.assert_allclose(R, store(patterns, "pseudo-inverse").R, atol=1e-12)


def test_a_run_is_a_run(tmp_path):
    """Stored in steps, interrupted, resumed, evaluated and examined."""
    given = {"task": "recall", "cell": "hopfield", "learner": "hebb", "patterns": 6, "batch": 2}
    config = Config(**given, steps=3, checkpoint_every=1)

    def interrupt(event):
        if event["kind"] == "train" and event["step"] == 1:
            os.kill(os.getpid(), signal.SIGINT)

    whole = train(config, tmp_path / "whole")
    assert train(config, tmp_path / "part", listener=interrupt).steps()[-1] < 3
    part = train(config, tmp_path / "part", resume=True)
    np.testing.assert_array_equal(part.network().cell.R, whole.network().cell.R)
    assert np.any(whole.network().cell.R)
    assert evaluate_network(whole.network(), whole.task(), "test") > 0.99
    assert examine(whole) == []


MISFITS = [
    ({"units": 5}, "hopfield has one unit per input; leave out --units and --budget"),
    ({"layers": 2}, "hopfield is the whole network; leave out --layers and --readout"),
    ({"feedback": True}, "hopfield is the whole network; leave out --feedback"),
    ({"cell": "lstm"}, "this learner stores patterns in a Hopfield network: use --cell hopfield"),
    ({"task": "xor"}, "targets of -1 and 1 per unit: use --task recall"),
    ({"task": "adding"}, "its outputs are its 2 units, one per input, but the task has 1"),
]


@pytest.mark.parametrize(("changes", "words"), MISFITS, ids=lambda x: str(x)[:20])
def test_what_does_not_fit_is_refused(tmp_path, changes, words):
    given = {"task": "recall", "cell": "hopfield", "learner": "hebb", "steps": 1, **changes}
    with pytest.raises(BadInput, match=words):
        train(Config(**given), tmp_path / "run")


def test_patterns_of_your_own(tmp_path):
    np.save(tmp_path / "mine.npy", PATTERNS[:3])
    settings = Recall.Settings(file=str(tmp_path / "mine.npy"), noise=0.05)
    task = Recall.from_settings(settings, 0)
    np.testing.assert_array_equal(task.patterns, PATTERNS[:3])
    other = Recall.on_file(tmp_path / "mine.npy", settings, task.artefacts())
    assert sum(batch.sequences for batch in other.held_out("test", 8)) == 30
    np.save(tmp_path / "bad.npy", PATTERNS[:3] * 2)
    with pytest.raises(BadInput, match=r"bad\.npy: the bits of a pattern are -1 and 1, got"):
        Recall.from_settings(Recall.Settings(file=str(tmp_path / "bad.npy")), 0)
    np.save(tmp_path / "short.npy", PATTERNS[:3, :7])
    with pytest.raises(BadInput, match=r"short\.npy have 7 bits, the trained ones 100"):
        Recall.on_file(tmp_path / "short.npy", settings, task.artefacts())


def test_letters_and_their_preview():
    task = Recall(patterns=5, letters=True, noise=0.0)
    assert task.drawn(task.patterns[4]).splitlines()[:2] == ["#####", "#...."]
    with jax.enable_x64(False):
        network = Network(store(task.patterns, "pseudo-inverse"), None)
        shown = task.preview(network, jax.random.key(0))
    assert shown.splitlines()[0] == ".###. → .###.    ####. → ####.    .###. → .###."
    with pytest.raises(BadInput, match="there are 26 letters, got patterns = 27"):
        Recall(patterns=27, letters=True)
