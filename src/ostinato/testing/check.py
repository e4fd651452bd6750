"""The list of checks of a cell, and `check_cell`, which runs them."""

from collections.abc import Callable
from typing import Any

import jax

from ._explain import CellError, explain
from .case import Case
from .derivatives import (
    derivative_is_finite,
    derivative_is_right,
    every_parameter_is_reached,
    forward_mode_is_reverse_mode,
    gradient_is_that_of_a_scan,
    memory_changes_nothing,
    vmap_over_seeds_works,
)
from .methods import (
    batch_axes_are_kept_apart,
    inputs_keep_their_axes,
    inputs_see_one_time,
    own_dtypes_are_kept,
    state_keeps_its_shape,
    step_is_pure,
    values_are_finite,
)
from .packing import packing_changes_nothing, padding_changes_nothing
from .parts import initial_gives_a_state, it_is_a_cell, parameters_can_be_trained
from .running import (
    lengths_give_each_sequence_alone,
    unroll_is_a_loop_of_steps,
    weights_survive_a_file,
)

Check = Callable[[Case], None]

# If a check fails, the later stages are skipped, because they would fail for the same reason.
STAGES: tuple[tuple[Check, ...], ...] = (
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

CHECKS: tuple[Check, ...] = tuple(check for stage in STAGES for check in stage)


def check_cell(
    cell: Any, inputs: int | None = None, *, state: Any = None, noisy: bool = False
) -> list[str]:
    """Run the conformance suite on a cell.

    Args:
        cell: the cell, with parameters of any floating dtype.
        inputs: size of its input vectors, or number of symbols; by default found by trial.
        state: a state of one sequence, like `cell.initial(())`, to test the cell at; by default
            `initial` and a state that the cell reaches from there.
        noisy: the cell's noise depends on the position in the batch, so a sequence alone gives
            other results.

    Returns:
        The names of the checks, all of which passed.

    Raises:
        CellError: with one line per problem.

    Example:
        >>> passed = check_cell(ostinato.cells.Simple(2, 3, key=jax.random.key(0)))
        >>> "derivative_is_right" in passed
        True
    """
    name = cell.__name__ if isinstance(cell, type) else type(cell).__name__
    case = Case(cell, inputs, state=state, noisy=noisy)
    with jax.enable_x64(True):
        for stage in STAGES:
            if problems := [line for check in stage if (line := _problem(check, case))]:
                raise CellError("\n".join(dict.fromkeys(f"{name}: {line}" for line in problems)))
    return [check.__name__ for check in CHECKS]


def _problem(check: Check, case: Case) -> str | None:
    try:
        check(case)
    except Exception as error:  # report whatever the cell raises
        return explain(error)
    return None
