"""The list of checks, and `check_cell`, which runs them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax

from ._explain import CellError, explain
from .case import Case
from .derivatives import (
    compiling_changes_nothing,
    derivative_is_finite,
    derivative_is_right,
    every_parameter_is_reached,
    forward_mode_is_reverse_mode,
    memory_changes_nothing,
    vmap_over_seeds_works,
)
from .methods import (
    batch_axes_are_kept_apart,
    inputs_keep_their_axes,
    inputs_see_one_time,
    state_keeps_its_shape,
    step_is_pure,
    values_are_finite,
)
from .parts import initial_gives_a_state, it_is_a_cell, parameters_can_be_trained
from .running import (
    lengths_give_each_sequence_alone,
    unroll_is_a_loop_of_steps,
    weights_survive_a_file,
)

Check = Callable[[Case], None]

# Where one of these fails, all that follow would fail for the same reason.
FOUNDATIONS: tuple[Check, ...] = (
    it_is_a_cell,
    parameters_can_be_trained,
    initial_gives_a_state,
    inputs_keep_their_axes,
    state_keeps_its_shape,
    step_is_pure,
    values_are_finite,
    inputs_see_one_time,
    batch_axes_are_kept_apart,
    unroll_is_a_loop_of_steps,
    derivative_is_finite,
)

# Where the derivative is wrong or cannot be had, these say nothing new.
OF_THE_DERIVATIVE: tuple[Check, ...] = (
    derivative_is_right,
    forward_mode_is_reverse_mode,
    memory_changes_nothing,
    compiling_changes_nothing,
    vmap_over_seeds_works,
)

CHECKS: tuple[Check, ...] = (
    *FOUNDATIONS,
    *OF_THE_DERIVATIVE,
    every_parameter_is_reached,
    lengths_give_each_sequence_alone,
    weights_survive_a_file,
)


def check_cell(
    cell: Any, inputs: int | None = None, *, state: Any = None, noisy: bool = False
) -> list[str]:
    """Run the conformance suite on a cell.

    Args:
        cell: the cell, with parameters of any floating dtype.
        inputs: size of its input vectors, or number of symbols; by default found by trying.
        state: a state of one sequence, like `cell.initial(())`, to judge the cell at; by default
            `initial` and a state that the cell reaches from there.
        noisy: the cell draws noise by place in the batch, so that a sequence alone differs.

    Returns:
        The names of the checks, all passed.

    Raises:
        CellError: with one line for each problem.

    Example:
        >>> ostinato.testing.check_cell(MyCell(3, 16, key=jax.random.key(0)))
    """
    name = cell.__name__ if isinstance(cell, type) else type(cell).__name__
    problems: list[str] = []
    failed: list[Check] = []
    with quick_compilation():
        case = Case(cell, inputs, state=state, noisy=noisy)
        with jax.enable_x64(True):
            for check in CHECKS:
                if check in OF_THE_DERIVATIVE and set(failed) & set(OF_THE_DERIVATIVE):
                    continue
                try:
                    check(case)
                except Exception as error:
                    failed.append(check)
                    problems.append(f"{name}: {explain(error, doing=check.__name__)}")
                    if check in FOUNDATIONS:
                        break
    if problems:
        raise CellError("\n".join(dict.fromkeys(problems)))
    return [check.__name__ for check in CHECKS]


@contextmanager
def quick_compilation() -> Iterator[None]:
    """Compile without most optimisations: the nets are tiny, and compiling takes all the time."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    try:
        yield
    finally:
        jax.config.update("jax_disable_most_optimizations", before)
