"""Checks of how a task behaves: seeds, held-out sets, loss, metrics and baselines."""

import json

import jax
import numpy as np

from ..data import Batch
from .task_case import MANY, SIZE, TaskCase, TaskError, called, same, side_by_side

TOLERANCE = 1e-4
SLACK = 0.05  # relative, because `chance` may have been fitted to other sequences


def a_batch_is_its_number(case: TaskCase) -> None:
    one = case.batch(1)
    case.fresh(3, SIZE)
    case.held_out_again("valid", SIZE)
    if not same(one, case.fresh(1, SIZE)):
        raise TaskError(
            f"batch(1, {SIZE}) differs from one call to the next: make it from the seed and its "
            "number alone, for example with numpy.random.default_rng([seed, index])"
        )
    length = case.task.length
    if not same(one, case.fresh(1, SIZE, length)):
        raise TaskError(f"batch(1, {SIZE}) differs from batch(1, {SIZE}, length={length})")
    some, size = called("batch_of", lambda: case.task.batch_of(_latter_half, 1, SIZE))
    if size != one.size or not same(some, one.take(_latter_half(one.sequences))):
        raise TaskError(f"batch_of must give the sequences and the size of batch(1, {SIZE})")


def _latter_half(count: int) -> slice:
    return slice(count // 2, count)


def other_numbers_are_other_batches(case: TaskCase) -> None:
    if all(same(case.batch(0), case.batch(index)) for index in (1, 2, 3)):
        raise TaskError("batches 0 to 3 are all the same: use the number of the batch")


def held_out_is_fixed_and_apart(case: TaskCase) -> None:
    for part in ("valid", "test"):
        first, again = case.held_out(part, SIZE), case.held_out_again(part, SIZE)
        if len(first) != len(again) or not all(map(same, first, again)):
            raise TaskError(f'held_out("{part}", {SIZE}) differs from one call to the next')
        if not first[0].first:
            raise TaskError(f'the first batch of held_out("{part}", {SIZE}) must have first=True')
        if any(same(first[0], case.batch(index)) for index in (0, 1, 2, 3)):
            raise TaskError(f"the part {part} is a training batch: hold other sequences out")
    valid, test = (case.held_out(part, SIZE) for part in ("valid", "test"))
    if len(valid) == len(test) and all(map(same, valid, test)):
        raise TaskError("the parts valid and test are the same: hold out different sequences")


def held_out_is_the_same_in_any_size(case: TaskCase) -> None:
    for part in ("valid", "test"):
        whole, again = (side_by_side(case.held_out(part, size)) for size in (SIZE, 7))
        if len(whole) == len(again) and all(map(same, whole, again)):
            continue  # the same arrays have the same numbers, which take long to compute
        (weight, value), (other, others) = (
            (sum(float(np.sum(batch.counted)) for batch in batches), _value(case, batches))
            for batches in (whole, again)
        )
        if abs(weight - other) > TOLERANCE * weight:
            raise TaskError(
                f"the weights of the part {part} add up to {weight:g} in batches of {SIZE} and to "
                f"{other:g} in batches of 7: it must be the same set in batches of any size"
            )
        if not _close(value, others):
            raise TaskError(
                f"{case.task.metric.name} of outputs of zero on the part {part} is {value} in "
                f"batches of {SIZE} and {others} in batches of 7: it must be the same set"
            )


def _value(case: TaskCase, batches: list[Batch]) -> float | None:
    counts = [case.counts(case.zeros(batch), batch) for batch in batches]
    return case.task.metric.value(jax.tree.map(lambda *x: sum(x), *counts))


def _close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= TOLERANCE * max(abs(one), abs(other), 1e-3)


def loss_is_finite(case: TaskCase) -> None:
    task, batch = case.task, case.batch()
    function, arrays = jax.jit(jax.value_and_grad(task.loss)), batch.arrays
    loss, gradient = called(
        "the loss of outputs of zero", lambda: function(case.zeros(batch), arrays)
    )
    if not np.isfinite(loss):
        raise TaskError(f"the loss of outputs of zero must be finite, got {float(loss)}")
    if not np.isfinite(gradient).all():
        raise TaskError("the gradient of the loss at outputs of zero must be finite")
    if not np.any(gradient):
        raise TaskError("the gradient of the loss at outputs of zero is 0: nothing is learned")


def padding_does_not_count(case: TaskCase) -> None:
    for where, batch in case.batches():
        if batch.lengths is None:
            continue
        outputs = case.random(batch)
        spoilt = np.where(np.asarray(batch.valid)[..., None], outputs, 9.0)
        (total, _, counts), (other, _, others) = (case.judged(x, batch) for x in (outputs, spoilt))
        if not _close(float(total), float(other)):
            raise TaskError(f"{where}: the loss reads outputs in the padding; use batch.counted")
        for metric, one, two in zip(case.task.metrics, counts, others, strict=True):
            if not _close(metric.value(one), metric.value(two)):
                raise TaskError(
                    f"{where}: the metric {metric.name} reads outputs in the padding; use "
                    "batch.counted"
                )


def loss_and_metrics_add_up(case: TaskCase) -> None:
    task, batch = case.task, case.batch()
    if batch.sequences < 2:
        return
    outputs, half = case.random(batch), batch.sequences // 2
    whole = case.judged(outputs, batch)
    pieces = [slice(0, half), slice(half, None)]
    first, second = (case.judged(outputs[:, some], batch.take(some)) for some in pieces)
    added = jax.tree.map(np.add, first, second)
    for name, one, other in zip(("total", "weight"), whole, added, strict=False):
        if not _close(float(one), float(other)):
            raise TaskError(
                f"loss.{name} must add up over sequences: it is {one:g} for a batch, and "
                f"{other:g} for its sequences in two pieces"
            )
    # Pieces of one size would hide a mean of means, so the second one counts once more.
    more = [jax.tree.map(np.add, x[2], second[2]) for x in (whole, added)]
    for metric, one, other in zip(task.metrics, *more, strict=True):
        values = metric.value(one), metric.value(other)
        if not _close(*values):
            raise TaskError(
                f"the counts of the metric {metric.name} must add up over batches: it is "
                f"{values[0]} for a batch with its second half once more, and {values[1]} from the "
                "same sequences in three pieces"
            )


def right_answer_is_better_than_chance(case: TaskCase) -> None:
    task, batch = case.task, case.batch()
    outputs = case.right(batch)
    if outputs is None:
        return
    value = task.metric.value(case.judged(outputs, batch)[2][0])
    if value is None:
        raise TaskError(f"the metric {task.metric.name} of the right answer is None")
    if value == task.chance or (value > task.chance) != task.metric.higher_is_better:
        better = "higher" if task.metric.higher_is_better else "lower"
        raise TaskError(
            f"{task.metric.name} of the right answer is {value:.4g}, no better than the chance of "
            f"{task.chance:.4g} ({better} is better)"
        )


def chance_is_that_of_a_constant_answer(case: TaskCase) -> None:
    """`chance` lies between the best constant answer and the best constant per step."""
    task, batch = case.task, case.batch(0, MANY)
    plain, stepwise = (case.constant(batch, per_step) for per_step in (False, True))
    if plain is None or stepwise is None:
        return
    value, best = case.value(plain, batch), case.value(stepwise, batch)
    if value is None or best is None:
        return
    # With fewer targets, the best constant is known less accurately.
    slack = (SLACK + 4 / np.sqrt(max(float(np.sum(batch.counted)), 1))) * max(abs(value), 1e-6)
    low, high = min(value, best) - slack, max(value, best) + slack
    if not low <= task.chance <= high:
        raise TaskError(
            f"chance is {task.chance:.4g}, but the best constant answer to training batches has "
            f"{task.metric.name} {value:.4g}"
        )


def fingerprint_is_stable(case: TaskCase) -> None:
    one = called("fingerprint()", case.task.fingerprint)
    if not isinstance(one, str) or not one:
        raise TaskError(f"fingerprint() must be a string, got {one!r:.40}")
    if one != case.task.fingerprint():
        raise TaskError("fingerprint() differs from one call to the next")


def artefacts_are_json(case: TaskCase) -> None:
    artefacts = called("artefacts()", case.task.artefacts)
    try:
        again = json.loads(json.dumps(artefacts, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TaskError(f"artefacts() must be plain JSON: {error}") from None
    if again != artefacts:
        raise TaskError("artefacts() must be plain JSON: lists, and strings as keys")


def baselines_are_numbers(case: TaskCase) -> None:
    baselines = called("baselines()", case.task.baselines)
    for name, value in baselines.items():
        if not isinstance(name, str) or not np.isfinite(value):
            raise TaskError(
                f"baselines() must be finite numbers by name, got {name!r}: {value!r:.40}"
            )
