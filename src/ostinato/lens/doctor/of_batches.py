"""Facts about two consecutive batches."""

from typing import Any

import jax
import numpy as np

from ...data import Batch
from ...tasks import Task
from ...tasks.losses import CrossEntropy
from .evidence import Data

SYMBOLS_READ = 200_000


def look_at_batches(task: Task, one: Batch, two: Batch, size: int) -> Data:
    """The facts about a task's batches that the doctor needs.

    Args:
        task: the task.
        one, two: two consecutive training batches.
        size: the number of sequences that was asked for.

    Example:
        >>> text = run.task()
        >>> look_at_batches(text, text.batch(0, 4), text.batch(1, 4), 4).next
        1.0
    """
    # Of inputs that are several arrays, only the first is looked at, and only its shape.
    several = isinstance(one.inputs, tuple | list | dict)
    xs = np.asarray(jax.tree.leaves(one.inputs)[0])
    targets, counts = np.asarray(one.targets), np.asarray(one.weights) > 0
    alike = not several and xs.shape == targets.shape and xs.dtype.kind == targets.dtype.kind
    shifted = _share(targets[:-1], xs[1:], counts[:-1]) if alike else None
    goes_on = None
    if shifted is not None and shifted > 0.95 and np.shape(two.inputs)[1:] == xs.shape[1:]:
        goes_on = _share(targets[-1], np.asarray(two.inputs)[0], counts[-1])
    symbolic = not several and xs.dtype.kind in "iu"
    answering = isinstance(task.loss, CrossEntropy)
    return Data(
        shape=counts.shape if len(counts) == len(xs) else xs.shape[:2],  # or transcripts
        asked=(task.length, size),
        same=_share(targets, xs, counts) if alike else None,
        next=shifted,
        previous=_share(targets[1:], xs[:-1], counts[1:]) if alike else None,
        beside=_share(targets[:, :-1], xs[:, 1:], counts[:, :-1]) if alike else None,
        across=bool((counts == counts[0]).all() and counts[0].any() and not counts[0].all()),
        carried=not two.first,
        goes_on=goes_on,
        symbols=task.inputs if symbolic else None,
        answers=task.outputs if answering else None,
        largest_symbol=int(xs.max()) if symbolic else None,
        largest_answer=int(targets[counts].max()) if answering and counts.any() else None,
        parts_differ=_parts_differ(task, size) if symbolic else None,
    )


def _share(targets: np.ndarray, xs: np.ndarray, counts: np.ndarray) -> float | None:
    """The fraction of equal pairs where the loss counts."""
    equal = targets == xs
    equal = equal.all(axis=tuple(range(counts.ndim, equal.ndim)))[counts]
    return float(equal.mean()) if equal.size else None


def _parts_differ(task: Task, size: int) -> float | None:
    """`½ Σ |p - q|` of the symbol frequencies in training and in validation."""
    learned = (task.batch(index, size).inputs for index in range(1000))
    validating = (batch.inputs for batch in task.held_out("valid", size))
    shares = [_shares(batches) for batches in (learned, validating)]
    if shares[1].sum() == 0:
        return None
    longest = max(map(len, shares))
    p, q = (np.pad(share, (0, longest - len(share))) for share in shares)
    return float(np.abs(p - q).sum() / 2)


def _shares(batches: Any) -> np.ndarray:
    """The relative frequency of each symbol in the first batches."""
    counts, seen = np.zeros(1), 0
    for xs in batches:
        more = np.bincount(np.ravel(xs), minlength=len(counts))
        counts = np.pad(counts, (0, len(more) - len(counts))) + more
        seen += np.size(xs)
        if seen >= SYMBOLS_READ:
            break
    return counts / max(counts.sum(), 1)
