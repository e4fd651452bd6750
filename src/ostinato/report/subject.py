"""The subject of a report: a run, its best network, and the sequences to measure it on."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from ..cells import Layer, Model
from ..data import Batch
from ..runs import Run
from ..runs.analysis.examination import finite_checkpoint
from ..runs.folder.events import KINDS, Goal
from ..runs.loop.probe import first_counted, looked_at
from ..tasks import Task, TextTask
from ..wiring import Network
from .training_charts import Course, clipped_above, weights_of

SEQUENCES = 16


@dataclasses.dataclass(frozen=True)
class RunCourse(Course):
    """The course of a run that can be opened, with its task."""

    run: Run
    task: Task


@dataclasses.dataclass(frozen=True)
class Subject(RunCourse):
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
    whole: Model
    network: Layer
    batch: Batch
    state: Any
    at: int
    symbols: np.ndarray | None
    where: str

    @property
    def measured(self) -> str:
        """On what and with which weights, in words."""
        return f"{self.where}, {weights_of(self.step)}"


def course(run: Run, task: Task | None = None) -> RunCourse:
    """The part of a subject that a run without a checkpoint has, too."""
    task = task or run.task()
    events = [event for event in run.events() if event["kind"] in KINDS]
    clip = clipped_above(run.config.flat().get("clip"))
    return RunCourse(events, Goal.of(task), clip, run, task)


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
    other = None if data is None else run.task_on(data)  # first, so that its errors are, too
    step, network = finite_checkpoint(run, "best", like)
    task = task or run.task()
    looked = task if other is None else other
    where = "the validation part" if data is None else str(data)
    batch = validating(looked)
    symbols = _symbols(looked, "valid")
    if batch is None:
        batch = task.batch(first_counted(task, SEQUENCES), SEQUENCES)
        symbols, where = _symbols(task, "train"), "the training part"
    layer, few, state, at = looked_at(network, batch, SEQUENCES)
    return Subject(
        **vars(course(run, task)),
        step=step,
        whole=network,
        network=layer,
        batch=few,
        state=state,
        at=at,
        symbols=symbols,
        where=where,
    )


def validating(task: Task) -> Batch | None:
    """A few sequences of the validation part; `None` if nothing in it counts."""
    batches = task.held_out("valid", SEQUENCES)
    return next((batch for batch in batches if np.any(batch.counted)), None)


def _symbols(task: Task, part: str) -> np.ndarray | None:
    text = task.ability(TextTask)
    return None if text is None else text.stream(part)
