"""A task under test: its batches, answers to them, and how its errors are reported."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ..data import Batch
from ..tasks import Task
from ..tasks.ctc import CTC
from ..tasks.losses import BinaryCrossEntropy, SquaredError, StepLoss
from .explain import raised

SIZE = 4
MANY = 2000
SURE = 50.0


class TaskError(Exception):
    """What is wrong with a task, one line per problem."""


class TaskCase:
    """A task, with values that several checks share."""

    def __init__(self, task: Any):
        self.task: Task = task
        self._batches: dict[tuple[int, int], Batch] = {}
        self._counts = jax.jit(self._count)
        self._judged = jax.jit(self._judge)
        self._held_out: dict[tuple[str, int], list[Batch]] = {}

    def _count(self, outputs: jax.Array, batch: Batch, number: int = 0) -> Any:
        metric = self.task.metrics[number]
        return called(f"the metric {metric.name}", lambda: metric.counts(outputs, batch))

    def _judge(self, outputs: jax.Array, batch: Batch) -> tuple[Any, Any, list]:
        loss = self.task.loss
        counts = [self._count(outputs, batch, n) for n in range(len(self.task.metrics))]
        total = called("loss.total", lambda: loss.total(outputs, batch))
        return total, called("loss.weight", lambda: loss.weight(batch)), counts

    def batch(self, index: int = 0, size: int = SIZE) -> Batch:
        """A training batch, cached."""
        if (index, size) not in self._batches:
            self._batches[index, size] = self.fresh(index, size)
        return self._batches[index, size]

    def fresh(self, index: int, size: int, length: int | None = None) -> Batch:
        how = f"batch({index}, {size}" + (f", length={length})" if length else ")")
        return called(how, lambda: self.task.batch(index, size, length))

    def held_out(self, part: str, size: int) -> list[Batch]:
        """The batches of a held-out set, cached."""
        if (part, size) not in self._held_out:
            self._held_out[part, size] = self.held_out_again(part, size)
        return self._held_out[part, size]

    def held_out_again(self, part: str, size: int) -> list[Batch]:
        how = f'held_out("{part}", {size})'
        return called(how, lambda: list(self.task.held_out(part, size)))

    def batches(self) -> list[tuple[str, Batch]]:
        """Some batches for training, validation and test, each with a description."""
        batches = [(f"batch({index}, {SIZE})", self.batch(index)) for index in (0, 1)]
        for part in ("valid", "test"):
            some = enumerate(self.held_out(part, SIZE)[:3])
            batches += [(f'batch {n} of held_out("{part}", {SIZE})', batch) for n, batch in some]
        return batches

    @property
    def per_step(self) -> bool:
        return isinstance(self.task.loss, StepLoss)

    def zeros(self, batch: Batch) -> np.ndarray:
        """Outputs of zero for a batch."""
        return np.zeros((batch.steps, batch.sequences, self.task.outputs), np.float32)

    def random(self, batch: Batch) -> np.ndarray:
        """Random outputs for a batch."""
        shape = self.zeros(batch).shape
        return np.random.default_rng(0).normal(size=shape).astype(np.float32)

    def right(self, batch: Batch) -> np.ndarray | None:
        """The best outputs for the targets of a batch, or `None` for an unknown loss."""
        targets, loss = np.asarray(batch.targets), self.task.loss
        if loss.of_classes:
            return SURE * np.eye(self.task.outputs)[targets]
        if isinstance(loss, BinaryCrossEntropy):
            return SURE * (2 * targets - 1.0)
        if isinstance(loss, CTC):
            return SURE * np.eye(self.task.outputs)[_path(batch)]
        return targets if isinstance(loss, SquaredError) else None

    def constant(self, batch: Batch, per_step: bool) -> np.ndarray | None:
        """The constant outputs (or constant per step) with the lowest loss; `None` if unknown."""
        loss, weights = self.task.loss, np.asarray(batch.counted, float)[..., None]
        targets, axes = np.asarray(batch.targets), (1,) if per_step else (0, 1)
        if loss.of_classes:
            targets = np.eye(self.task.outputs)[targets]
        elif not isinstance(loss, BinaryCrossEntropy | SquaredError):
            return None
        total = np.maximum(weights.sum(axes, keepdims=True), 1e-30)
        means = (weights * targets).sum(axes, keepdims=True) / total
        if loss.of_classes:
            means = np.log(np.maximum(means, 1e-20))
        elif isinstance(loss, BinaryCrossEntropy):
            means = np.clip(means, 1e-20, 1 - 1e-16)
            means = np.log(means) - np.log1p(-means)
        return np.broadcast_to(means, (*weights.shape[:2], means.shape[-1]))

    def value(self, outputs: np.ndarray, batch: Batch) -> float | None:
        """The value of the first metric."""
        metric = self.task.metric
        return called(
            f"the metric {metric.name}", lambda: metric.value(self.counts(outputs, batch))
        )

    def counts(self, outputs: Any, batch: Batch) -> Any:
        """The counts of the first metric."""
        counts = self._counts(np.asarray(outputs, np.float32), batch.arrays)
        return jax.tree.map(lambda x: np.asarray(x, float), counts)

    def judged(self, outputs: Any, batch: Batch) -> tuple[Any, Any, list]:
        """The total and the weight of the loss, and the counts of all metrics."""
        judged = self._judged(np.asarray(outputs, np.float32), batch.arrays)
        return jax.tree.map(lambda x: np.asarray(x, float), judged)


def _path(batch: Batch) -> np.ndarray:
    """A path `(T, B)` of each transcript: a step per label, and a blank between equal ones."""
    labels, counted = np.asarray(batch.targets), np.asarray(batch.weights) > 0
    repeated = np.diff(labels, axis=0, prepend=-1) == 0
    steps = np.arange(len(labels))[:, None] + np.cumsum(repeated, axis=0)
    path = np.zeros((batch.steps, batch.sequences), int)
    path[steps[counted], np.nonzero(counted)[1]] = labels[counted]
    return path


def called(how: str, function: Callable[[], Any]) -> Any:
    """The result of a method of the task; an exception becomes a `TaskError` of one line."""
    try:
        return function()
    except TaskError:
        raise
    except Exception as error:  # report whatever the task raises
        raise TaskError(raised(error, how)) from None


def same(one: Batch, other: Batch) -> bool:
    """Whether two batches are equal in all their arrays."""
    left, right = (jax.tree.flatten(tuple(batch)) for batch in (one, other))
    if str(left[1]) != str(right[1]):
        return False
    return all(
        np.shape(x) == np.shape(y) and np.array_equal(x, y)
        for x, y in zip(left[0], right[0], strict=True)
    )


def side_by_side(batches: list[Batch]) -> list[Batch]:
    """The same sequences, up to `MANY` in a batch, so that few shapes have to be compiled.

    Sequences with lengths stay as they are: their batches differ in the number of steps.
    """
    if any(batch.lengths is not None for batch in batches):
        return batches
    alike: dict[str, list[Batch]] = {}
    for batch in batches:
        shapes = batch.over_sequences(lambda x, axis: np.delete(np.shape(x), axis).tolist())
        alike.setdefault(str(shapes.arrays), []).append(batch.arrays)
    joined = []
    for some in alike.values():
        axes = some[0].over_sequences(lambda x, axis: axis)
        whole = jax.tree.map(lambda axis, *x: np.concatenate(x, axis), axes, *some)
        places = range(0, whole.sequences, MANY)
        joined += [whole.take(slice(place, place + MANY)) for place in places]
    return joined
