"""Checks of a task's attributes and of the shapes, dtypes and ranges in its batches."""

import numbers
from typing import Any

import jax
import numpy as np

from ..data import Batch
from ..tasks import Task
from ..tasks.losses import BinaryCrossEntropy, Loss, SquaredError
from ..tasks.metrics import Metric
from .task_case import SIZE, TaskCase, TaskError

VECTOR_LOSSES = (BinaryCrossEntropy, SquaredError)


def it_is_a_task(case: TaskCase) -> None:
    task: Any = case.task
    if isinstance(task, type):
        raise TaskError("check_task takes a task, not its class: make one first")
    if not isinstance(task, Task):
        raise TaskError("it is not a Task: subclass ostinato.tasks.Task")


def attributes_are_there(case: TaskCase) -> None:
    task = case.task
    needed = ("name", "inputs", "outputs", "loss", "metrics", "chance", "length")
    if missing := [name for name in needed if not hasattr(task, name)]:
        raise TaskError(f"it lacks {', '.join(missing)}")
    if not isinstance(task.name, str) or not task.name:
        raise TaskError(f"name must be a string, got {task.name!r:.40}")
    for name in ("inputs", "outputs", "length"):
        value = getattr(task, name)
        if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
            raise TaskError(f"{name} must be a whole number of at least 1, got {value!r:.40}")
    if not isinstance(task.loss, Loss):
        raise TaskError(f"loss must be a Loss, such as CrossEntropy(), got {task.loss!r:.40}")
    if not isinstance(task.metrics, tuple) or not task.metrics:
        raise TaskError("metrics must be a tuple with at least one metric, such as (Accuracy(),)")
    for metric in task.metrics:
        if not isinstance(metric, Metric):
            raise TaskError(f"metrics must hold metrics, such as Accuracy(), got {metric!r:.40}")
    for name in ("chance", "solved"):
        value = getattr(task, name)
        if name == "solved" and value is None:
            continue
        if not isinstance(value, numbers.Real) or not np.isfinite(float(value)):
            raise TaskError(f"{name} must be a finite number, got {value!r:.40}")


def batches_are_batches(case: TaskCase) -> None:
    for where, batch in case.batches():
        if not isinstance(batch, Batch):
            raise TaskError(f"{where} must be an ostinato.data.Batch, got {type(batch).__name__}")
        for name in ("inputs", "targets", "weights"):
            if not jax.tree.leaves(getattr(batch, name)):
                raise TaskError(f"{where} has no {name}")
    for part in ("valid", "test"):
        if not case.held_out(part, SIZE):
            raise TaskError(f'held_out("{part}", {SIZE}) is empty, so nothing can be judged')
    if not case.batch().first:
        raise TaskError("batch 0 must have first=True: there is nothing before it to go on from")


def shapes_fit(case: TaskCase) -> None:
    task = case.task
    for where, batch in case.batches():
        shapes = [np.shape(x) for x in jax.tree.leaves(batch.inputs)]
        weights = np.shape(batch.weights)
        if any(len(shape) < 2 for shape in (*shapes, weights)):
            raise TaskError(
                f"{where}: inputs and weights have time first and sequences second, (T, B, ...); "
                f"got {shapes[0]} and {weights}"
            )
        steps, size = shapes[0][:2]
        if len(weights) != 2 or weights[1] != size:
            raise TaskError(f"{where}: weights must be (T, B) = {(steps, size)}, got {weights}")
        for shape in shapes:
            if shape[1] != size:
                raise TaskError(
                    f"{where}: all inputs must have the {size} sequences on their second axis, "
                    f"got {shape}"
                )
        for x in jax.tree.leaves(batch.targets):
            if np.ndim(x) < 2 or np.shape(x)[1] != size:
                raise TaskError(
                    f"{where}: targets must have the {size} sequences on their second axis, got "
                    f"{np.shape(x)}"
                )
        if not 1 <= size <= SIZE:
            raise TaskError(f"{where} has {size} sequences; at most {SIZE} were asked for")
        if not isinstance(batch.inputs, tuple | list | dict):
            _check_shape(where, "inputs", shapes[0], (steps, size), task.inputs, task.symbolic)
        if case.per_step:
            if weights[0] != steps:
                raise TaskError(
                    f"{where}: a loss per step needs {steps} rows of weights, got {weights}"
                )
            of_classes = task.loss.of_classes
            if of_classes or isinstance(task.loss, VECTOR_LOSSES):
                shape = np.shape(batch.targets)
                _check_shape(where, "targets", shape, (steps, size), task.outputs, of_classes)
        _check_marks(where, batch, steps, size)


def _check_shape(
    where: str, what: str, shape: tuple, first: tuple, size: int, symbolic: bool
) -> None:
    expected = first if symbolic else (*first, size)
    words = "(T, B)" if symbolic else f"(T, B, {'inputs' if what == 'inputs' else 'outputs'})"
    if shape != expected:
        raise TaskError(f"{where}: {what} must be {words} = {expected}, got {shape}")


def _check_marks(where: str, batch: Batch, steps: int, size: int) -> None:
    if batch.lengths is not None and np.shape(batch.lengths) != (size,):
        raise TaskError(f"{where}: lengths must be ({size},), got {np.shape(batch.lengths)}")
    if batch.resets is not None and np.shape(batch.resets) != (steps, size):
        raise TaskError(f"{where}: resets must be {(steps, size)}, got {np.shape(batch.resets)}")


def dtypes_fit(case: TaskCase) -> None:
    task = case.task
    for where, batch in case.batches():
        kinds: list[tuple[str, Any, str, str]] = [("weights", batch.weights, "f", "floats")]
        if not isinstance(batch.inputs, tuple | list | dict):
            symbols = ("iu", "whole numbers, because symbolic is true") if task.symbolic else None
            kinds.append(("inputs", batch.inputs, *(symbols or ("f", "floats"))))
        if task.loss.of_classes:
            kinds.append(("targets", batch.targets, "iu", "whole numbers, the classes"))
        elif isinstance(task.loss, VECTOR_LOSSES):
            kinds.append(("targets", batch.targets, "f", "floats"))
        if batch.lengths is not None:
            kinds.append(("lengths", batch.lengths, "iu", "whole numbers"))
        if batch.resets is not None:
            kinds.append(("resets", batch.resets, "b", "true or false"))
        for name, value, kind, words in kinds:
            dtype = np.asarray(value).dtype
            if dtype.kind not in kind:
                raise TaskError(f"{where}: {name} must be {words}, got {dtype}")
            if kind == "f" and dtype.itemsize > 4:
                raise TaskError(f"{where}: {name} must be float32, like the network, got {dtype}")


def symbols_are_in_range(case: TaskCase) -> None:
    task = case.task
    for where, batch in case.batches():
        checked = []
        if task.symbolic and not isinstance(batch.inputs, tuple | list | dict):
            checked.append(("inputs", batch.inputs, task.inputs))
        if task.loss.of_classes:
            checked.append(("targets", batch.targets, task.outputs))
        for name, values, count in checked:
            low, high = int(np.min(values)), int(np.max(values))
            if low < 0 or high >= count:
                also = ", also where the weight is 0" if name == "targets" else ""
                raise TaskError(
                    f"{where}: {name} must be from 0 to {count - 1}{also}; got "
                    f"{low if low < 0 else high}"
                )


def numbers_are_finite(case: TaskCase) -> None:
    for where, batch in case.batches():
        for name in ("inputs", "targets", "weights"):
            for x in jax.tree.leaves(getattr(batch, name)):
                if not np.isfinite(np.asarray(x)).all():
                    raise TaskError(
                        f"{where}: {name} must be finite, also where the weight is 0; got "
                        f"{'NaN' if np.isnan(np.asarray(x, float)).any() else 'infinity'}"
                    )
        if np.min(batch.weights) < 0:
            raise TaskError(f"{where}: weights must not be negative, got {np.min(batch.weights)}")
    if not np.any(case.batch().weights):
        raise TaskError(f"batch(0, {SIZE}): all weights are 0, so there is nothing to learn")
    for part in ("valid", "test"):
        if not any(np.any(batch.weights) for batch in case.held_out(part, SIZE)):
            raise TaskError(f"the part {part}: all weights are 0, so nothing can be judged")


def lengths_are_in_range(case: TaskCase) -> None:
    for where, batch in case.batches():
        if batch.lengths is None:
            continue
        low, high = int(np.min(batch.lengths)), int(np.max(batch.lengths))
        if low < 1 or high > batch.steps:
            wrong = low if low < 1 else high
            raise TaskError(f"{where}: lengths must be from 1 to {batch.steps}, got {wrong}")
        if np.shape(batch.weights)[0] != batch.steps:
            continue
        beyond = np.asarray(batch.weights) * ~np.asarray(batch.valid)
        if beyond.any():
            step, sequence = (int(n[0]) for n in np.nonzero(beyond))
            raise TaskError(
                f"{where}: weights must be 0 in the padding; sequence {sequence} has "
                f"{int(batch.lengths[sequence])} steps and a weight at step {step}"
            )
