"""Edit distance, and the label error rate of transcripts.

The edit distance of two sequences is the least number of insertions, deletions and substitutions
that turn one into the other (Levenshtein, 1966). With `D[i, j]` for the first i symbols of one and
the first j of the other:

    D[i, j] = min(D[i-1, j] + 1, D[i, j-1] + 1, D[i-1, j-1] + (a_i ≠ b_j))
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..data import Batch
from ..decoding.ctc import best_path
from .metrics import Metric, total


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
        >>> said, right = jnp.array([[1], [9], [2]]), jnp.array([[1], [2], [2], [0]])
        >>> edit_distances(said, said < 9, right, jnp.array([3])).tolist()
        [1]
    """
    places = jnp.arange(len(right) + 1)[:, None]

    def row(previous: jax.Array, now: tuple) -> tuple[jax.Array, None]:
        symbol, keep = now
        inner = jnp.minimum(previous[1:] + 1, previous[:-1] + (symbol != right))
        least = jnp.concatenate([previous[:1] + 1, inner])
        found = jax.lax.cummin(least - places, axis=0) + places
        return jnp.where(keep, found, previous), None

    start = jnp.broadcast_to(places, (len(right) + 1, right.shape[1]))
    last, _ = jax.lax.scan(row, start, (said, kept))
    return jnp.take_along_axis(last, counts[None], axis=0)[0]


@dataclasses.dataclass(frozen=True)
class LabelErrorRate(Metric):
    """Edits per label of the right transcripts, of the most probable path of each sequence.

    For outputs and batches as `CTC` takes them. It can exceed 1, because of insertions.

    Example:
        >>> outputs = jax.nn.one_hot(jnp.array([[1], [1], [0], [2]]), 3)
        >>> batch = Batch(None, jnp.array([[1], [1]]), jnp.ones((2, 1)))
        >>> metric = LabelErrorRate()
        >>> metric.value(metric.counts(outputs, batch))  # 1 2 in place of 1 1
        0.5
    """

    name = "label error rate"

    def counts(self, outputs: jax.Array, batch: Batch) -> Any:
        symbols, kept = best_path(outputs, batch.lengths)
        weights = jnp.asarray(batch.weights)
        counts = jnp.sum(weights > 0, axis=0)
        edits = edit_distances(symbols, kept, jnp.asarray(batch.targets), counts)
        return total(edits * weights[0]), total(weights)

    def value(self, counts: Any) -> float | None:
        edits, labels = np.asarray(counts, float)
        return float(edits / labels) if labels else None
