"""The loss of CTC against PyTorch's and finite differences; edit distances and their rate."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.cells import Simple
from ostinato.data import Batch
from ostinato.decoding import ctc_beam
from ostinato.errors import BadInput
from ostinato.losses import CTC
from ostinato.metrics import LabelErrorRate
from ostinato.tasks.ctc import check_transcripts, edit_distances
from ostinato.tasks.scores import edit_distance
from ostinato.wiring import Bidirectional, Network, Readout, outputs_of

LABELS = 4
TRANSCRIPTS = [[1, 2, 3], [2, 2], [4], [1, 1, 1], [3, 1, 3, 1]]
LENGTHS = [9, 3, 1, 7, 9]
# Compiled once for most tests.
valued = jax.jit(jax.value_and_grad(CTC().total))
counted = jax.jit(LabelErrorRate().counts)


def batch_of(transcripts=TRANSCRIPTS, lengths=LENGTHS, inputs=None) -> Batch:
    most = max(map(len, transcripts))
    targets = np.array([words + [0] * (most - len(words)) for words in transcripts]).T
    inputs = np.zeros((max(lengths), len(lengths), 1)) if inputs is None else inputs
    return Batch(inputs, targets, (targets > 0) * 1.0, np.array(lengths))


def random_outputs(steps=9, size=len(LENGTHS), seed=0) -> np.ndarray:
    return 2 * np.random.default_rng(seed).standard_normal((steps, size, LABELS + 1))


def by_torch(outputs, batch, **options):
    import torch  # where it is needed: each process of the tests would take seconds for it

    outputs = torch.tensor(outputs, requires_grad=True)
    return outputs, torch.nn.functional.ctc_loss(
        torch.log_softmax(outputs, -1),
        torch.tensor(batch.targets.T),
        torch.tensor(batch.lengths),
        torch.tensor((batch.weights > 0).sum(0)),
        reduction="sum",
        **options,
    )


@pytest.mark.parametrize("dtype, close", [(np.float32, 1e-5), (np.float64, 1e-12)])
def test_equals_torch(dtype, close):
    outputs, batch = random_outputs().astype(dtype), batch_of()
    theirs, right = by_torch(outputs, batch)
    right.backward()
    with jax.enable_x64(dtype == np.float64):
        total, gradient = valued(outputs, batch.arrays.on_device())
        assert total.dtype == gradient.dtype == dtype
    assert float(total) == pytest.approx(right.item(), rel=close)
    np.testing.assert_allclose(gradient, theirs.grad, rtol=0, atol=10 * close)
    assert float(CTC().weight(batch)) == 13


def test_gradient_and_hessian_by_finite_differences():
    outputs, batch = random_outputs(), batch_of()
    v = np.random.default_rng(1).standard_normal(outputs.shape)
    small = 1e-5
    ahead, behind = (valued(outputs + h * v, batch.arrays) for h in (small, -small))
    slope, curved = ((x - y) / (2 * small) for x, y in zip(ahead, behind, strict=True))
    _, gradient = valued(outputs, batch.arrays)
    assert float(jnp.vdot(gradient, v)) == pytest.approx(float(slope), rel=1e-8)
    product = jax.jit(lambda o, v: CTC().hessian(o, batch)(v))(outputs, v)
    np.testing.assert_allclose(product, curved, atol=1e-8)


def test_is_minus_the_log_probability_of_the_transcript():
    lengths = [9, 4, 1, 7, 9]
    outputs, batch = random_outputs(), batch_of(lengths=lengths)
    outputs[..., 3:] = -1e9  # two labels are few enough for all transcripts of four steps
    found = ctc_beam(outputs[:4, [1]], width=32, count=32)[0]
    score = {tuple(labels.tolist()): score for labels, score in found}[2, 2]
    alone = batch._replace(weights=batch.weights * [0, 1, 0, 0, 0])
    assert float(valued(outputs, alone.arrays)[0]) == pytest.approx(-score, rel=1e-12)


def test_batch_of_different_lengths_equals_single_sequences():
    """Through a bidirectional network, in loss and gradient."""
    key, lengths = jax.random.key(0), [6, 3, 3]
    both = Bidirectional(Simple(2, 3, key=key), Simple(2, 3, key=key))
    network = Network(both, Readout(6, LABELS + 1, key=key))
    inputs = np.random.default_rng(2).standard_normal((6, 3, 2))
    batch = batch_of(TRANSCRIPTS[:3], lengths, inputs)

    @jax.jit
    @jax.value_and_grad
    def total(network, batch):
        return CTC().total(outputs_of(network, batch)[0], batch)

    together = total(network, batch.arrays)
    singles = [batch.take([n])._replace(inputs=inputs[: lengths[n], [n]]) for n in range(3)]
    alone = [total(network, single.arrays._replace(lengths=None)) for single in singles]
    added = jax.tree.map(lambda *x: sum(x), *alone)
    for one, other in zip(*map(jax.tree.leaves, (together, added)), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-10)


def test_a_transcript_that_does_not_fit_adds_nothing():
    """[2, 2] needs three steps, [1, 2, 3] as many, and neither has them."""
    lengths = [2, 2, 1, 7, 9]
    outputs, batch = random_outputs(), batch_of(lengths=lengths)
    total, gradient = valued(outputs, batch.arrays)
    _, right = by_torch(outputs, batch, zero_infinity=True)
    assert float(total) == pytest.approx(right.item(), rel=1e-12)
    assert not gradient[:, :2].any() and gradient[:, 2:].any((0, 2)).all()


def test_padding_and_sequences_without_weight_do_not_count():
    outputs, batch = random_outputs(), batch_of()
    right, slope = valued(outputs, batch.arrays)
    total, gradient = valued(np.where(batch.valid[..., None], outputs, np.nan), batch.arrays)
    assert total == right and np.array_equal(gradient, slope)
    silent = batch._replace(weights=batch.weights * [1, 0, 1, 1, 1])
    first = batch._replace(weights=batch.weights * [0, 1, 0, 0, 0])
    parts = [valued(outputs, part.arrays)[0] for part in (silent, first)]
    assert float(sum(parts)) == pytest.approx(float(right), rel=1e-14)
    assert float(CTC().weight(silent)) == 11
    counts = [counted(outputs, part.arrays) for part in (silent, first)]
    added = np.sum(counts, axis=0)
    assert LabelErrorRate().value(added) == LabelErrorRate().value(counted(outputs, batch.arrays))


def test_edit_distances_agree_with_the_definition():
    """Against all ways to align two short sequences, and against each other."""

    def aligned(one, other):
        if not one or not other:
            return len(one) + len(other)
        return min(
            aligned(one[1:], other) + 1,
            aligned(one, other[1:]) + 1,
            aligned(one[1:], other[1:]) + (one[0] != other[0]),
        )

    random = np.random.default_rng(3)
    said, right = random.integers(1, 4, (6, 200)), random.integers(1, 4, (4, 200))
    kept, counts = random.random((6, 200)) < 0.7, random.integers(0, 5, 200)
    found = jax.jit(edit_distances)(said, kept, right, counts)
    for n in range(200):
        one, other = said[kept[:, n], n].tolist(), right[: counts[n], n].tolist()
        assert found[n] == edit_distance(one, other) == aligned(one, other)
    assert edit_distance("intention", "execution") == 5
    assert edit_distance("", "") == 0


def test_label_error_rate_adds_up_over_batches():
    outputs, batch = random_outputs(), batch_of()
    metric = LabelErrorRate()
    edits = 0
    for n, (words, length) in enumerate(zip(TRANSCRIPTS, LENGTHS, strict=True)):
        path = outputs[:length, n].argmax(-1).tolist()
        edits += edit_distance([s for s, _ in itertools.groupby(path) if s], words)
    assert metric.value(counted(outputs, batch.arrays)) == pytest.approx(edits / 13)
    parts = [counted(outputs[:, [n]], batch.take([n]).arrays) for n in range(5)]
    assert metric.value(np.sum(parts, axis=0)) == pytest.approx(edits / 13)
    assert metric.value((0.0, 0.0)) is None


@pytest.mark.parametrize(
    "transcripts, lengths, words",
    [
        ([[1], []], [3, 3], "the transcript of sequence 1 is empty"),
        ([[1], [5]], [3, 3], "labels are from 1 to 4, sequence 1 has the label 5"),
        ([[1, 1]], [2], "the transcript of sequence 0 needs 3 steps .* has 2"),
        ([[1, 2], [1, 2, 3]], [2, 2], "sequence 1 needs 3 steps"),
    ],
)
def test_transcripts_that_cannot_be_learned(transcripts, lengths, words):
    with pytest.raises(BadInput, match=words) as found:
        check_transcripts(batch_of(transcripts, lengths), LABELS)
    assert "\n" not in str(found.value)


def test_transcripts_have_a_form():
    batch = batch_of()
    assert check_transcripts(batch, LABELS) is batch
    with pytest.raises(BadInput, match="whole numbers"):
        check_transcripts(batch._replace(targets=batch.targets * 1.0), LABELS)
    with pytest.raises(BadInput, match="a gap"):
        check_transcripts(batch._replace(weights=batch.weights[::-1]), LABELS)
