"""Connectionist temporal classification (CTC): learn transcripts without a segmentation.

The network outputs, at each of T steps, logits for the labels 1 to K and for the blank, symbol 0.
The probability of a transcript y is the sum over all paths π, one symbol per step, that become y
when repeats are merged and blanks are then removed:

    p(y) = Σ_π Π_t softmax(o_t)[π_t],    loss = -log p(y)

It is computed by the forward recursion over prefixes of y, in `optax.ctc_loss`.

Source: Graves, Fernández, Gomez and Schmidhuber (2006), Connectionist temporal classification.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from ..data import Batch
from ..errors import BadInput
from .losses import Loss

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
        >>> labels, weights = jnp.array([[1], [2]]), jnp.ones((2, 1))
        >>> batch = Batch(None, labels, weights)
        >>> outputs = jnp.log(jnp.array([[[0.2, 0.7, 0.1]], [[0.2, 0.1, 0.7]]]))  # one path: a b
        >>> round(float(jnp.exp(-CTC().total(outputs, batch))), 3)
        0.49
    """

    in_nats = True

    def total(self, outputs: jax.Array, batch: Batch) -> jax.Array:
        import optax  # late, because of all tasks only this one needs it

        labels, weights = jnp.asarray(batch.targets), jnp.asarray(batch.weights)
        steps, size = outputs.shape[:2]
        lengths = jnp.full(size, steps) if batch.lengths is None else jnp.asarray(batch.lengths)
        padding = jnp.arange(steps)[:, None] >= lengths
        outputs = jnp.where(padding[..., None], 0, outputs)
        # `optax.ctc_loss` picks labels by products with one-hot vectors, which a GPU would round.
        with jax.default_matmul_precision("highest"):
            losses = optax.ctc_loss(
                jnp.swapaxes(outputs, 0, 1),
                padding.T.astype(outputs.dtype),
                labels.T,
                (weights == 0).T.astype(outputs.dtype),
                log_epsilon=IMPOSSIBLE,
            )
        fits = steps_needed(labels, weights) <= lengths
        return jnp.sum(jnp.where(fits, losses, 0) * weights[0])

    def weight(self, batch: Batch) -> jax.Array:
        """The number of labels."""
        total = jnp.sum(jnp.asarray(batch.weights))
        return jnp.where(total > 0, total, 1)


def steps_needed(labels: jax.Array, weights: jax.Array) -> jax.Array:
    """`(B,)`, the fewest steps that a transcript fits into: its labels, and a blank per repeat.

    Example:
        >>> steps_needed(jnp.array([[1], [1], [2]]), jnp.ones((3, 1))).tolist()
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
