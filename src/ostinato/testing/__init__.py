"""Check your own cell or task: the conformance suites that every built-in one passes.

`check_cell` works in float64 on a copy of the cell, takes some seconds (with `quick=True` about
two), and raises `CellError` with one line per problem. The checks, in the order in which they run:

    parts          the parameters, the arguments of the methods, `initial`
    methods        `inputs` and `step` on their own
    running        `unroll` against a loop of steps; padded and packed sequences against single ones
    claims         `operators`, `memory_rules` and `is_simple` against the step
    derivatives    against finite differences, and by every method that computes them

`check_task` does the same for a task: shapes, seeds, held-out sets, loss, metrics and baselines.
"""

from .case import Case as Case
from .check import check_cell as check_cell
from .check import check_task as check_task
from .explain import CellError as CellError
from .task_case import TaskError as TaskError
