"""What every learner must do: be pure, keep its state in arrays, and learn."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.random import key

from learning.members import LEARNERS, STEPS
from ostinato.cells import Simple
from ostinato.cells.initialisers import glorot
from ostinato.data import Batch
from ostinato.learning import Objective
from ostinato.losses import CrossEntropy
from ostinato.weights import pack, unpack
from ostinato.wiring import Network, Readout


def problem():
    """Remember the first of three symbols: a network without spare parts, a batch."""
    one, two = jax.random.split(key(0))
    network = Network(Simple(3, 4, key=one, input=glorot()), Readout(4, 3, key=two, bias=False))
    xs = np.random.default_rng(0).integers(0, 3, (4, 6))
    return network, Batch(np.eye(3)[xs], np.broadcast_to(xs[0], xs.shape), np.ones(xs.shape))


@pytest.mark.parametrize("name", LEARNERS)
def test_learner(name, tmp_path):
    """One test per learner: its compiled step is shared by the checks."""
    network, batch = problem()
    learner = LEARNERS[name](Objective(CrossEntropy()))
    step = jax.jit(learner.step)

    def first_step(batch):
        batch = batch.on_device().arrays
        learner_state, state = learner.initial(network), learner.start(network, batch)
        assert all(eqx.is_array(x) for x in jax.tree.leaves((learner_state, state)))
        return step(network, learner_state, state, batch)

    beside = in_rows(batch, [[number] for number in range(6)]).on_device().arrays
    learner_state = it_is_pure_and_learns(learner, step, network, beside)
    its_state_survives_a_file(learner, learner_state, network, tmp_path / "state.safetensors")
    padding_and_packing_change_nothing(first_step, batch, with_norms="omega" not in name)
    assert step._cache_size() == 1, "the step is compiled once"


def in_rows(batch, rows):
    """Sequences of the batch by number, up to two in a row, in 9 steps: one step is padding."""

    def placed(x, axis):
        own = [np.concatenate([x[:, number] for number in row]) for row in rows]
        one = np.ones_like(own[0][:1])
        return np.stack([np.concatenate([y, *[one] * (9 - len(y))]) for y in own], axis=1)

    resets = np.zeros((9, len(rows)), bool)
    resets[4] = [len(row) > 1 for row in rows]
    lengths = np.array([4 * len(row) for row in rows])
    return batch.over_sequences(placed)._replace(lengths=lengths, resets=resets)


def it_is_pure_and_learns(learner, step, network, batch):
    learner_state, state = learner.initial(network), learner.start(network, batch)
    again = [step(network, learner_state, state, batch) for _ in range(2)]
    for one, other in zip(*map(jax.tree.leaves, again), strict=True):
        np.testing.assert_array_equal(one, other)

    now, first = network, None
    for _ in range(STEPS):
        now, learner_state, _, report = step(now, learner_state, state, batch)
        first = report["loss"] if first is None else first
    step(now, learner.after_validation(learner_state, 1.0), state, batch)
    assert {"loss", "norm", "norms", "rate", "clipped"} <= report.keys()
    assert report["loss"] < 0.5 * first, f"{first} -> {report['loss']}"
    np.testing.assert_allclose(report["norm"], jnp.linalg.norm(report["norms"]), rtol=1e-6)
    return learner_state


def its_state_survives_a_file(learner, learner_state, network, file):
    file.write_bytes(b"".join(pack(learner_state)))
    kept, _ = unpack(file, learner.initial(network))
    heard, same = (jax.tree.leaves(learner.after_validation(m, 1.0)) for m in (learner_state, kept))
    for one, other in zip(heard, same, strict=True):
        np.testing.assert_array_equal(one, other)


def padding_and_packing_change_nothing(first_step, batch, with_norms):
    """The same nine sequences, alone in a row or behind another, have the same loss and gradient;
    and what the padding holds changes no step."""
    rows = in_rows(batch, [[0, 1], [2, 3], [4, 5], [0], [1], [2]])
    others = in_rows(batch, [[0], [1], [2], [3, 0], [4, 1], [5, 2]])
    (*_, one), (*_, other) = first_step(rows), first_step(others)
    np.testing.assert_allclose(one["loss"], other["loss"], rtol=1e-10)
    if with_norms:  # Ω is a mean over rows, and these have other rows
        np.testing.assert_allclose(one["norms"], other["norms"], rtol=1e-9, atol=1e-12)

    lengths = np.array([8, 5, 6, 4, 3, 2])
    ragged = rows._replace(lengths=lengths)
    padding = np.arange(9)[:, None] >= lengths

    def spoilt(x, axis):
        where = padding.reshape(*padding.shape, *[1] * (x.ndim - 2)) if axis else False
        return np.where(where, (x + 1) % 3, x).astype(x.dtype)

    other = ragged.over_sequences(spoilt)
    (after, _, _, report), (same, _, _, again) = first_step(ragged), first_step(other)
    np.testing.assert_allclose(report["loss"], again["loss"], rtol=1e-10)
    for one, other in zip(*map(jax.tree.leaves, (after, same)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)
