"""The checks of a cell and of a task in their order, and `check_cell` and `check_task`."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax

from .case import Case
from .claims import memory_rules_are_the_step, operators_are_the_layer, simple_is_the_step
from .derivatives import (
    derivative_is_finite,
    derivative_is_right,
    every_parameter_is_reached,
    forward_mode_is_reverse_mode,
    gradient_is_that_of_a_scan,
    memory_changes_nothing,
    vmap_over_seeds_works,
)
from .explain import CellError, explain, raised
from .methods import (
    batch_axes_are_kept_apart,
    inputs_keep_their_axes,
    inputs_see_one_time,
    own_dtypes_are_kept,
    refuse_impurity,
    state_keeps_its_shape,
    step_is_pure,
    values_are_finite,
)
from .parts import initial_gives_a_state, it_is_a_cell, parameters_can_be_trained
from .running import (
    lengths_give_each_sequence_alone,
    packing_changes_nothing,
    padding_changes_nothing,
    unroll_is_a_loop_of_steps,
    weights_survive_a_file,
)
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
from .task_case import TaskCase, TaskError
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

C = TypeVar("C")
Stages = tuple[tuple[Callable[[C], None], ...], ...]

# If a check fails, the later stages are skipped, because they would fail for the same reason.
STAGES: Stages[Case] = (
    (it_is_a_cell,),
    (parameters_can_be_trained,),
    (initial_gives_a_state,),
    (inputs_keep_their_axes,),
    (state_keeps_its_shape,),
    (step_is_pure,),
    (own_dtypes_are_kept,),
    (values_are_finite,),
    (inputs_see_one_time,),
    (batch_axes_are_kept_apart,),
    (unroll_is_a_loop_of_steps,),
    (operators_are_the_layer, memory_rules_are_the_step, simple_is_the_step),
    (derivative_is_finite,),
    (derivative_is_right, every_parameter_is_reached),
    (
        gradient_is_that_of_a_scan,
        forward_mode_is_reverse_mode,
        memory_changes_nothing,
        vmap_over_seeds_works,
        lengths_give_each_sequence_alone,
        padding_changes_nothing,
        packing_changes_nothing,
        weights_survive_a_file,
    ),
)

CHECKS = tuple(check for stage in STAGES for check in stage)
QUICK = STAGES[:-1]  # the last stage compiles as much as all others together

TASK_STAGES: Stages[TaskCase] = (
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

TASK_CHECKS = tuple(check for stage in TASK_STAGES for check in stage)


def check_cell(
    cell: Any,
    inputs: int | None = None,
    *,
    state: Any = None,
    noisy: bool = False,
    surrogate: bool = False,
    quick: bool = False,
) -> list[str]:
    """Run the conformance suite on a cell.

    Args:
        cell: the cell, with parameters of any floating dtype.
        inputs: size of its input vectors, or number of symbols; by default found by trial.
        state: a state of one sequence, like `cell.initial(())`, to test the cell at; by default
            `initial` and a state that the cell reaches from there.
        noisy: the cell's noise depends on the position in the batch, so a sequence alone gives
            other results.
        surrogate: the derivative of the step is not that of its numbers on purpose, as
            `jax.custom_jvp` gives a spike one. It is then not compared with finite differences;
            forward mode, reverse mode and a plain scan still have to agree.
        quick: leave out the last stage, which takes most of the time: derivatives by other
            methods, padded and packed sequences, and saving. About two seconds.

    Returns:
        The names of the checks, all of which passed.

    Raises:
        CellError: with one line per problem.

    Example:
        >>> passed = check_cell(ostinato.cells.Simple(2, 3, key=jax.random.key(0)))
        >>> "derivative_is_right" in passed
        True
    """
    case = Case(cell, inputs, state=state, noisy=noisy)
    stages = QUICK if quick else STAGES
    if surrogate:
        stages = tuple(tuple(x for x in stage if x is not derivative_is_right) for stage in stages)

    def explained(error: Exception, _: str) -> str:
        try:
            refuse_impurity(case)  # of which anything may follow
        except CellError as impure:
            return str(impure)
        return explain(error)

    with jax.enable_x64(True):
        return _run(stages, case, cell, explained, CellError)


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
    return _run(TASK_STAGES, TaskCase(task), task, _explain_task, TaskError)


def _explain_task(error: Exception, how: str) -> str:
    return str(error) if isinstance(error, TaskError) else raised(error, how)


def _run(
    stages: Stages[C],
    case: C,
    member: Any,
    explained: Callable[[Exception, str], str],
    failure: type[Exception],
) -> list[str]:
    """The names of all checks; raises `failure` with the problems of the first stage that fails."""
    name = member.__name__ if isinstance(member, type) else type(member).__name__
    for stage in stages:
        problems: dict[str, None] = {}
        for check in stage:
            try:
                check(case)
            except Exception as error:  # report whatever the member raises
                words = explained(error, check.__name__.replace("_", " "))
                problems[f"{name}: {words}"] = None
        if problems:
            raise failure("\n".join(problems))
    return [check.__name__ for stage in stages for check in stage]
