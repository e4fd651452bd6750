"""What every learner must do: be pure, keep its memory in arrays, and learn."""

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
from ostinato.wiring import Network, OneHot, Readout


@pytest.fixture(scope="module")
def problem():
    """Remember the first of three symbols: a network, a batch."""
    one, two = jax.random.split(key(0))
    network = Network(Simple(3, 4, key=one, input=glorot()), Readout(4, 3, key=two), OneHot(3))
    xs = np.random.default_rng(0).integers(0, 3, (4, 6))
    targets = np.broadcast_to(xs[0], xs.shape)
    return network, Batch(jnp.asarray(xs), jnp.asarray(targets), jnp.ones(xs.shape))


@pytest.mark.parametrize("name", LEARNERS)
def test_learner(name, problem, tmp_path):
    network, batch = problem
    learner = LEARNERS[name](Objective(CrossEntropy()))
    memory, state = learner.initial(network), learner.start(network, batch)
    assert all(eqx.is_array(x) for x in jax.tree.leaves((memory, state)))

    step = jax.jit(learner.step)
    again = [step(network, memory, state, batch) for _ in range(2)]
    for one, other in zip(*map(jax.tree.leaves, again), strict=True):
        np.testing.assert_array_equal(one, other)

    now, first = network, None
    for _ in range(STEPS):
        now, memory, _, report = step(now, memory, state, batch)
        first = report["loss"] if first is None else first
    assert {"loss", "norm", "norms", "rate", "clipped"} <= report.keys()
    assert report["loss"] < 0.5 * first, f"{first} -> {report['loss']}"
    np.testing.assert_allclose(report["norm"], jnp.linalg.norm(report["norms"]), rtol=1e-6)

    file = tmp_path / "memory.safetensors"
    file.write_bytes(b"".join(pack(memory)))
    kept, _ = unpack(file, learner.initial(network))
    heard, same = (jax.tree.leaves(learner.after_validation(m, 1.0)) for m in (memory, kept))
    for one, other in zip(heard, same, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", LEARNERS)
def test_padded_and_packed_sequences(name):
    """Padding changes no step; sequences packed into one row have the loss and the gradient of
    the same sequences side by side."""
    one, two = jax.random.split(key(0))
    network = Network(Simple(3, 4, key=one, input=glorot()), Readout(4, 3, key=two), OneHot(3))
    random = np.random.default_rng(1)
    xs, targets = random.integers(0, 3, (2, 4, 6))
    lengths = np.array([4, 2, 3, 4, 1, 4])
    padded = Batch(xs, targets, np.ones(xs.shape), lengths)
    longer = padded.over_sequences(
        lambda x, axis: np.pad(x, [(0, 3), (0, 0)], constant_values=1) if axis else x
    )
    learner = LEARNERS[name](Objective(CrossEntropy()))
    compiled = jax.jit(learner.step)

    def step(batch):
        batch = batch.on_device().arrays
        memory, state = learner.initial(network), learner.start(network, batch)
        after, _, _, report = compiled(network, memory, state, batch)
        return jax.tree.leaves(eqx.filter(after, eqx.is_array)), report

    (after, report), (same, again) = step(padded), step(longer)
    np.testing.assert_allclose(report["loss"], again["loss"], rtol=1e-10)
    for one, other in zip(after, same, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)

    beside = padded._replace(lengths=np.full(6, 4))  # the same program as for `padded`
    packed = Batch(xs, targets, np.ones(xs.shape)).over_sequences(
        lambda x, axis: np.concatenate([x[:, :3], x[:, 3:]])
    )
    resets = np.zeros((8, 3), bool)
    resets[4] = True
    (_, apart), (_, together) = step(beside), step(packed._replace(resets=resets))
    if "omega" not in name:  # Ω is a mean over rows, and packing makes them fewer and longer
        np.testing.assert_allclose(together["norms"], apart["norms"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(together["loss"], apart["loss"], rtol=1e-10)
