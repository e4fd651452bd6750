"""The losses: their Hessians against JAX's own, and padding that never counts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.tasks.losses import BinaryCrossEntropy, CrossEntropy, Loss, SquaredError, per_step

OUTPUTS = 5
LOSSES = (CrossEntropy(), BinaryCrossEntropy(), SquaredError())


class MeanOutput(Loss):
    """One label per sequence: the squared distance from the mean output over time."""

    def total(self, outputs, batch):
        valid = jnp.asarray(batch.valid)[..., None]
        mean = jnp.sum(outputs * valid, axis=0) / jnp.sum(valid, axis=0)
        return jnp.sum(jnp.sum((mean - batch.targets[0]) ** 2, axis=-1) * batch.weights[0])


def batch_for(loss, steps=4, lengths=(4, 2)):
    random = np.random.default_rng(0)
    outputs = 2 * random.standard_normal((steps, len(lengths), OUTPUTS))
    targets, rows = random.random(outputs.shape), steps
    if isinstance(loss, CrossEntropy):
        targets = random.integers(0, OUTPUTS, outputs.shape[:-1])
    if isinstance(loss, MeanOutput):
        targets, rows = targets[:1], 1
    weights = random.random((rows, len(lengths)))
    return outputs, Batch(outputs, targets, weights, lengths=np.array(lengths))


@pytest.mark.parametrize("loss", [*LOSSES, MeanOutput()], ids=lambda x: type(x).__name__)
def test_hessian(loss):
    outputs, batch = batch_for(loss)
    v = np.random.default_rng(1).standard_normal(outputs.shape)

    @jax.jit
    def both(flat, v):
        dense = jax.hessian(lambda o: loss.total(o.reshape(outputs.shape), batch))(flat)
        return dense, loss.hessian(flat.reshape(outputs.shape), batch)(v)

    dense, product = both(outputs.reshape(-1), v)
    np.testing.assert_allclose(product.reshape(-1), dense @ v.reshape(-1), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda x: type(x).__name__)
def test_is_the_weighted_mean_over_steps_that_are_there(loss):
    outputs, batch = batch_for(loss)
    values = np.asarray(jax.jit(loss.at)(outputs, batch.targets))
    there = np.arange(4)[:, None] < batch.lengths
    expected = np.sum((values * batch.weights)[there]) / np.sum(batch.weights[there])
    np.testing.assert_allclose(jax.jit(loss)(outputs, batch.arrays), expected, rtol=1e-12)


def test_adds_up_over_sequences():
    for loss in (*LOSSES, MeanOutput()):
        outputs, batch = batch_for(loss)

        @jax.jit
        def sums(outputs, batch, loss=loss):
            return jnp.stack([loss.total(outputs, batch), loss.weight(batch)])

        total, weight = sum(sums(outputs[:, [i]], batch.take([i]).arrays) for i in range(2))
        whole = jax.jit(loss)(outputs, batch.arrays)
        np.testing.assert_allclose(whole, total / weight, rtol=1e-12)


def test_a_loss_of_whole_sequences_has_no_steps():
    with pytest.raises(BadInput, match="rtrl needs a loss that is a sum over steps, got MeanOut"):
        per_step(MeanOutput(), "rtrl")


def test_a_batch_in_which_nothing_counts_has_a_loss_of_zero():
    for loss in LOSSES:
        outputs, batch = batch_for(loss)
        nothing = batch._replace(weights=0 * batch.weights)
        value, gradient = jax.jit(jax.value_and_grad(loss))(outputs, nothing.arrays)
        assert value == 0 and not np.any(gradient)
