"""The subject of a report: a run, its best network, and the sequences to measure it on."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from ..data import Batch
from ..runs import Run
from ..runs.events import readable
from ..runs.examination import finite_checkpoint
from ..runs.looking import first_counted, looked_at
from ..tasks import Task
from ..wiring import Network
from .course import Course as Course
from .course import weights_of

SEQUENCES = 16


@dataclasses.dataclass(frozen=True)
class Subject(Course):
    """A run with its network and the data to measure it on.

    Attributes:
        step: the step that the network is from: that of the best checkpoint.
        whole: the network, with noise off.
        network: the part of it that is unrolled over the steps of `batch`: usually all of it.
        batch: a few sequences.
        state: the state before them; `None` for the initial one.
        at: the last step of `batch` that has a loss.
        symbols: the beginning of the text; `None` for other tasks.
        where: where batch and symbols come from, in words.
    """

    step: int
    whole: Any
    network: Any
    batch: Batch
    state: Any
    at: int
    symbols: np.ndarray | None
    where: str

    @property
    def measured(self) -> str:
        """On what and with which weights, in words."""
        return f"{self.where}, {weights_of(self.step)}"


def course(run: Run, task: Task | None = None) -> Course:
    """The part of a subject that a run without a checkpoint has, too."""
    return Course(run, task or run.task(), readable(run.events()))


def subject(
    run: Run, data: Path | None = None, task: Task | None = None, like: Network | None = None
) -> Subject:
    """The subject of a report.

    Args:
        run: a run with a checkpoint.
        data: another file to measure the network on.
        task, like: your own task or network, if the run was trained with one.

    Example:
        >>> subject(open_run("runs/text-mlstm-1")).batch.inputs.shape
        (10, 16)
    """
    step, network = finite_checkpoint(run, "best", like)
    task = task or run.task()
    looked = task if data is None else run.task_on(data)
    where = "the validation part" if data is None else str(data)
    batches = looked.held_out("valid", SEQUENCES)
    batch = next((batch for batch in batches if np.any(batch.counted)), None)
    symbols = looked.stream("valid")
    if batch is None:
        batch = task.batch(first_counted(task, SEQUENCES), SEQUENCES)
        symbols, where = task.stream("train"), "the training part"
    layer, few, state, at = looked_at(network, batch, SEQUENCES)
    events = readable(run.events())
    return Subject(run, task, events, step, network, layer, few, state, at, symbols, where)
