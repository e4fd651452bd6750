"""Connectionist temporal classification (CTC): learn transcripts without a segmentation.

The network outputs, at each of T steps, logits for the labels 1 to K and for the blank, symbol 0.
The probability of a transcript y is the sum over all paths π, one symbol per step, that become y
when repeats are merged and blanks are then removed:

    p(y) = Σ_π Π_t softmax(o_t)[π_t],    loss = -log p(y)

It is computed by the forward recursion over prefixes of y, in `optax.ctc_loss`.

Source: Graves, Fernández, Gomez and Schmidhuber (2006), Connectionist temporal classification.

Transcripts are judged by the label error rate. The edit distance of two sequences is the least
number of insertions, deletions and substitutions that turn one into the other (Levenshtein, 1966).
With `D[i, j]` for the first i symbols of one and the first j of the other:

    D[i, j] = min(D[i-1, j] + 1, D[i, j-1] + 1, D[i-1, j-1] + (a_i ≠ b_j))
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..data import Batch
from ..decoding.ctc import best_path
from ..errors import BadInput
from .losses import Loss
from .metrics import NOT_NEGATIVE, SHARE, Ratio, total

IMPOSSIBLE = -1e30  # stands for log 0; infinity would make gradients NaN


@dataclasses.dataclass(frozen=True)
class CTC(Loss):
    """The negative log likelihood of transcripts, in nats per label.

        outputs    `(T, B, labels + 1)`    logits; symbol 0 is the blank
        targets    `(L, B)`                labels from 1, then 0 as padding
        weights    `(L, B)`                1 for a label, 0 for padding
        lengths    `(B,)`                  the valid steps of each sequence

    The labels of a transcript share one weight; a sequence of weight 0 does not count.

    A transcript needs a step per label, and one for the blank between two equal labels. One that
    does not fit into its sequence has probability 0. It adds nothing to the loss and its gradient,
    like `zero_infinity` in PyTorch, so that training stays finite; `check_transcripts` refuses such
    data when they are made.

    The loss is not convex in the outputs, so `hessian`, which is exact, may be indefinite.

    Example:
        >>> labels, weights = np.array([[1], [2]]), np.ones((2, 1))
        >>> batch = Batch(None, labels, weights)
        >>> outputs = np.log([[[0.2, 0.7, 0.1]], [[0.2, 0.1, 0.7]]])  # one path: a b
        >>> round(math.exp(-jax.jit(CTC().total)(outputs, batch)), 3)
        0.49
    """

    in_nats = True

    def total(self, outputs: jax.Array, batch: Batch) -> jax.Array:
        labels, weights = jnp.asarray(batch.targets), jnp.asarray(batch.weights)
        steps, size = outputs.shape[:2]
        lengths = jnp.full(size, steps) if batch.lengths is None else jnp.asarray(batch.lengths)
        losses = _losses(outputs, lengths, labels, weights)
        fits = steps_needed(labels, weights) <= lengths
        return jnp.sum(jnp.where(fits, losses, 0) * weights[0])

    def weight(self, batch: Batch) -> jax.Array:
        """The number of labels."""
        total = jnp.sum(jnp.asarray(batch.weights))
        return jnp.where(total > 0, total, 1)


def _losses(
    outputs: jax.Array, lengths: jax.Array, labels: jax.Array, weights: jax.Array
) -> jax.Array:
    """`-log p` of each transcript, `(B,)`."""
    import optax  # late, because of all tasks only this one needs it

    padding = jnp.arange(len(outputs))[:, None] >= lengths
    outputs = jnp.where(padding[..., None], 0, outputs)
    # `optax.ctc_loss` picks labels by products with one-hot vectors, which a GPU would round.
    with jax.default_matmul_precision("highest"):
        return optax.ctc_loss(
            jnp.swapaxes(outputs, 0, 1),
            padding.T.astype(outputs.dtype),
            labels.T,
            (weights == 0).T.astype(outputs.dtype),
            log_epsilon=IMPOSSIBLE,
        )


@jax.jit
def log_likelihoods(outputs: jax.Array, lengths: jax.Array, transcript: jax.Array) -> jax.Array:
    """log p of one transcript for each of B sequences, `(B,)`; -∞ where it does not fit.

    Args:
        outputs: `(T, B, labels + 1)`, see `CTC`.
        lengths: `(B,)`.
        transcript: `(L,)`, labels from 1, then 0 as padding.

    Example:
        >>> outputs = np.log([[[0.2, 0.7, 0.1]], [[0.2, 0.1, 0.7]]])
        >>> likely = log_likelihoods(outputs, np.array([2]), np.array([1, 2]))
        >>> round(float(likely[0]), 4)
        -0.7133
    """
    labels = jnp.broadcast_to(transcript[:, None], (len(transcript), outputs.shape[1]))
    weights = (labels > 0).astype(outputs.dtype)
    fits = steps_needed(labels, weights) <= lengths
    return jnp.where(fits, -_losses(outputs, lengths, labels, weights), -jnp.inf)


def steps_needed(labels: jax.Array, weights: jax.Array) -> jax.Array:
    """`(B,)`, the fewest steps that a transcript fits into: its labels, and a blank per repeat.

    Example:
        >>> steps_needed(np.array([[1], [1], [2]]), np.ones((3, 1))).tolist()
        [4]
    """
    counted = weights > 0
    repeated = (labels[1:] == labels[:-1]) & counted[1:]
    return counted.sum(axis=0) + repeated.sum(axis=0)


def check_transcripts(batch: Batch, labels: int) -> Batch:
    """The batch itself; raises unless its transcripts can be learned with `CTC`.

    Args:
        batch: with targets as in `CTC`, not yet on a device.
        labels: K; labels are from 1 to K.
    """
    targets, counted = np.asarray(batch.targets), np.asarray(batch.weights) > 0
    if targets.shape != counted.shape or targets.ndim != 2 or targets.dtype.kind not in "iu":
        raise BadInput(
            "transcripts are whole numbers (L, B) with weights of the same shape, got "
            f"{targets.dtype} of shape {targets.shape} and weights {counted.shape}"
        )
    for n in np.flatnonzero(~counted.any(axis=0)):
        raise BadInput(f"the transcript of sequence {n} is empty")
    for n in np.flatnonzero((counted[1:] & ~counted[:-1]).any(axis=0)):
        raise BadInput(f"the transcript of sequence {n} has a gap: padding comes after its labels")
    wrong = counted & ((targets < 1) | (targets > labels))
    for n in np.flatnonzero(wrong.any(axis=0)):
        label = targets[wrong[:, n], n][0]
        raise BadInput(f"labels are from 1 to {labels}, sequence {n} has the label {label}")
    lengths = np.full(targets.shape[1], batch.steps) if batch.lengths is None else batch.lengths
    needed = np.asarray(steps_needed(targets, counted))  # type: ignore[arg-type]
    for n in np.flatnonzero(needed > lengths):
        raise BadInput(
            f"the transcript of sequence {n} needs {needed[n]} steps (its labels, and a blank "
            f"between equal ones), but the sequence has {lengths[n]}"
        )
    return batch


def edit_distances(
    said: jax.Array, kept: jax.Array, right: jax.Array, counts: jax.Array
) -> jax.Array:
    """The edit distances of many pairs of sequences, for compiled functions.

    A row of `D` is made at once: what an insertion adds is a running minimum,
    `D[i, j] = j + min_{k ≤ j} (M[k] - k)`, with M the minimum over the other two.

    Args:
        said: symbols `(T, B)`.
        kept: booleans `(T, B)`; symbols that are not kept are left out.
        right: symbols `(L, B)`.
        counts: `(B,)`, how many of them each sequence has; the others are padding.

    Returns:
        Whole numbers `(B,)`.

    Example:
        >>> said, right = np.array([[1], [9], [2]]), np.array([[1], [2], [2], [0]])
        >>> jax.jit(edit_distances)(said, said < 9, right, np.array([3])).tolist()
        [1]
    """
    places = jnp.arange(len(right) + 1)[:, None]

    def row(previous: jax.Array, now: tuple) -> tuple[jax.Array, None]:
        symbol, keep = now
        inner = jnp.minimum(previous[1:] + 1, previous[:-1] + (symbol != right))
        smaller = jnp.concatenate([previous[:1] + 1, inner])
        distances = jax.lax.cummin(smaller - places, axis=0) + places
        return jnp.where(keep, distances, previous), None

    start = jnp.broadcast_to(places, (len(right) + 1, right.shape[1]))
    last, _ = jax.lax.scan(row, start, (said, kept))
    return jnp.take_along_axis(last, counts[None], axis=0)[0]


@dataclasses.dataclass(frozen=True)
class LabelErrorRate(Ratio):
    """Edits per label of the right transcripts, of the most probable path of each sequence.

    For outputs and batches as `CTC` takes them. It can exceed 1, because of insertions.

    Example:
        >>> outputs = np.eye(3)[[[1], [1], [0], [2]]]
        >>> batch = Batch(None, np.array([[1], [1]]), np.ones((2, 1)))
        >>> metric = LabelErrorRate()
        >>> metric.value(jax.jit(metric.counts)(outputs, batch))  # 1 2 in place of 1 1
        0.5
    """

    name = "label error rate"
    bounds = NOT_NEGATIVE

    def counts(self, outputs: jax.Array, batch: Batch) -> Any:
        edits, weights = _edits(outputs, batch)
        return total(edits * weights[0]), total(weights)


@dataclasses.dataclass(frozen=True)
class WordAccuracy(Ratio):
    """The share of sequences whose most probable path is the right transcript as a whole.

    Example:
        >>> outputs = np.eye(3)[[[1, 1], [1, 0], [0, 2]]]
        >>> batch = Batch(None, np.array([[1, 1], [1, 2]]), np.ones((2, 2)))
        >>> metric = WordAccuracy()
        >>> metric.value(jax.jit(metric.counts)(outputs, batch))  # 1 in place of 1 1, and 1 2
        0.5
    """

    name = "word accuracy"
    higher_is_better = True
    bounds = SHARE

    def counts(self, outputs: jax.Array, batch: Batch) -> Any:
        edits, weights = _edits(outputs, batch)
        return total((edits == 0) * weights[0]), total(weights[0])


def _edits(outputs: jax.Array, batch: Batch) -> tuple[jax.Array, jax.Array]:
    """Edits `(B,)` from the most probable paths to the transcripts, whose weights are `(L, B)`."""
    symbols, kept = best_path(outputs, batch.lengths)
    weights = jnp.asarray(batch.weights)
    counts = jnp.sum(weights > 0, axis=0)
    return edit_distances(symbols, kept, jnp.asarray(batch.targets), counts), weights
