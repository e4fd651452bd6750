"""The tagger: each word read alone, and each sentence alone, give the same."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato import Network, Readout, unroll
from ostinato.cells import Simple
from ostinato.data import Batch
from ostinato.tasks import Tagging
from ostinato.weights import trained
from ostinato.wiring import Bidirectional, Embedding, Tagger, outputs_of, reseed

SENTENCES = [
    (["The", "cat", "sat", "on", "the", "mat", "."], list("DNVADNP")),
    (["It", "sat", "."], list("RVP")),
    (["Extraordinarily", "incomprehensibilities", "x" * 40, "sat"], list("AAXV")),
    (["Cats"], list("N")),
]


def made(task, rate=0.0):
    keys = jax.random.split(jax.random.key(5), 8)

    def both(inputs, units, one, two):
        return Bidirectional(Simple(inputs, units, key=one), Simple(inputs, units, key=two))

    tagger = Tagger(
        Embedding(task.inputs, 5, key=keys[0]),
        Embedding(task.model["letters"], 3, key=keys[1]),
        both(3, 4, keys[2], keys[3]),
        Network(both(5 + 8, 6, keys[4], keys[5]), Readout(12, task.outputs, key=keys[6])),
        key=keys[7],
        rate=rate,
    )
    double = eqx.filter(tagger, eqx.is_inexact_array)
    return eqx.combine(jax.tree.map(lambda x: x.astype(float), double), tagger)


@pytest.fixture
def task():
    return Tagging(SENTENCES, SENTENCES, SENTENCES, split=(1, 0, 0), unknown=0.0)


@eqx.filter_jit
def loss_and_gradient(tagger, loss, batch):
    moving, rest = trained(tagger)

    def total(moving):
        return loss.total(outputs_of(eqx.combine(moving, rest), batch)[0], batch)

    return jax.value_and_grad(total)(moving)


@eqx.filter_jit
def vectors_of(tagger, batch):
    return tagger.prepare(unroll, batch)[1]


def without_padding(batch):
    """A batch of one sentence, cut at its end."""
    steps = int(batch.lengths[0])
    words, first, last, *letters = batch.inputs
    inputs = type(batch.inputs)(words[:steps], first[:steps], last[:steps], *letters)
    return Batch(inputs, batch.targets[:steps], batch.weights[:steps], first=None)


@pytest.mark.slow
def test_a_padded_batch_equals_its_sentences_one_by_one(task):
    tagger = made(task)
    (whole,) = task.held_out("valid", 10)
    assert whole.lengths.tolist() == [1, 3, 4, 7] and whole.steps == 8
    value, gradient = loss_and_gradient(tagger, task.loss, whole.arrays)
    assert value.dtype == jnp.float64
    alone = [
        loss_and_gradient(tagger, task.loss, without_padding(batch))
        for batch in task.held_out("valid", 1)
    ]
    total, slopes = jax.tree.map(lambda *x: sum(x), *alone)
    assert float(jnp.abs(value - total)) < 1e-10
    for one, other in zip(jax.tree.leaves(gradient), jax.tree.leaves(slopes), strict=True):
        assert float(jnp.abs(one - other).max()) < 1e-10
        assert float(jnp.abs(one).max()) > 0


def test_characters_of_a_word_are_read_from_both_ends(task):
    tagger = made(task)
    (batch,) = task.held_out("valid", 10)
    vectors = vectors_of(tagger, batch.arrays)
    long = "x" * 40  # read up to 16 characters and from 16 before the end
    for word, t, place in (("cat", 1, 3), ("mat", 5, 3), ("Cats", 0, 0), (long, 2, 2)):
        letters = tagger.letters.E[task.code.letters.encode(word)][:32]
        ahead, _ = unroll(tagger.spelling.forward, letters)
        behind, _ = unroll(tagger.spelling.backward, letters[::-1])
        parts = [tagger.words.E[task.code.symbols([word])[0]], ahead[-1], behind[-1]]
        assert float(jnp.abs(vectors[t, place] - jnp.concatenate(parts)).max()) < 1e-12


def test_a_part_of_a_batch_gives_the_same_outputs(task):
    tagger = made(task)
    (batch,) = task.held_out("valid", 10)
    whole = vectors_of(tagger, batch.arrays)
    some = vectors_of(tagger, batch.take([3, 1]).arrays)
    np.testing.assert_allclose(some, whole[:, [3, 1]], rtol=1e-12)


@pytest.mark.slow
def test_dropout_keeps_the_mean_and_can_be_turned_off(task):
    tagger, quiet = made(task, rate=0.5), made(task)
    (batch,) = task.held_out("valid", 10)
    right = vectors_of(quiet, batch.arrays)
    keys = jax.random.split(jax.random.key(0), 400)
    found = np.stack([vectors_of(reseed(tagger, key), batch.arrays) for key in keys])
    assert np.isclose(np.mean(found == 0), 0.5, atol=0.01)
    error = found.std(axis=0) / np.sqrt(400)
    assert np.all(np.abs(found.mean(axis=0) - right) < 5 * error + 1e-12)
    off = vectors_of(eqx.nn.inference_mode(tagger), batch.arrays)
    np.testing.assert_allclose(off, right, rtol=1e-12)
    with pytest.raises(ValueError, match="a rate from 0 to below 1, got 1"):
        made(task, rate=1.0)
