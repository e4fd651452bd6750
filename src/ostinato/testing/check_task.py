"""The list of checks of a task, and `check_task`, which runs them."""

from collections.abc import Callable
from typing import Any

from .task_behaviour import (
    a_batch_is_its_number,
    artefacts_are_json,
    baselines_are_numbers,
    chance_is_that_of_a_constant_answer,
    fingerprint_is_stable,
    held_out_is_fixed_and_apart,
    held_out_is_the_same_in_any_size,
    loss_and_metrics_add_up,
    loss_is_finite,
    other_numbers_are_other_batches,
    padding_does_not_count,
    right_answer_is_better_than_chance,
)
from .task_case import TaskCase, TaskError, called
from .task_form import (
    attributes_are_there,
    batches_are_batches,
    dtypes_fit,
    it_is_a_task,
    lengths_are_in_range,
    numbers_are_finite,
    shapes_fit,
    symbols_are_in_range,
)

TaskCheck = Callable[[TaskCase], None]

# If a check fails, the later stages are skipped, because they would fail for the same reason.
TASK_STAGES: tuple[tuple[TaskCheck, ...], ...] = (
    (it_is_a_task,),
    (attributes_are_there,),
    (batches_are_batches,),
    (shapes_fit,),
    (dtypes_fit,),
    (symbols_are_in_range, numbers_are_finite, lengths_are_in_range),
    (a_batch_is_its_number, other_numbers_are_other_batches, held_out_is_fixed_and_apart),
    (loss_is_finite, padding_does_not_count),
    (held_out_is_the_same_in_any_size, loss_and_metrics_add_up),
    (right_answer_is_better_than_chance, chance_is_that_of_a_constant_answer),
    (fingerprint_is_stable, artefacts_are_json, baselines_are_numbers),
)

TASK_CHECKS: tuple[TaskCheck, ...] = tuple(check for stage in TASK_STAGES for check in stage)


def check_task(task: Any) -> list[str]:
    """Run the conformance suite on a task.

    It checks shapes and dtypes, seeds, lengths and weights, the held-out sets, and the loss and the
    metrics of the right answer and of a constant one. It takes a few seconds and trains nothing.

    Args:
        task: the task.

    Returns:
        The names of the checks, all of which passed.

    Raises:
        TaskError: with one line per problem.

    Example:
        >>> from ostinato.tasks import Adding
        >>> len(check_task(Adding(length=20))) == len(TASK_CHECKS)
        True
    """
    name = task.__name__ if isinstance(task, type) else type(task).__name__
    case = TaskCase(task)
    for stage in TASK_STAGES:
        if problems := [line for check in stage if (line := _problem(check, case))]:
            raise TaskError("\n".join(dict.fromkeys(f"{name}: {line}" for line in problems)))
    return [check.__name__ for check in TASK_CHECKS]


def _problem(check: TaskCheck, case: TaskCase) -> str | None:
    try:
        called(check.__name__.replace("_", " "), lambda: check(case))
    except TaskError as error:
        return str(error)
    return None
