"""The subject of a report: a run, its last network, and the sequences to measure it on."""

import dataclasses
from pathlib import Path

import numpy as np

from ..data import read_symbols
from ..errors import BadInput
from ..runs import Run
from ..runs.events import readable
from ..runs.examination import last_network
from ..tasks import Batch, Softmax, Task, Text, streams
from ..tasks.losses import Sigmoid
from ..wiring import Network

SEQUENCES = 16


@dataclasses.dataclass(frozen=True)
class Course:
    """A run, its task, and the events of its log, as `readable` gives them."""

    run: Run
    task: Task
    events: list[dict]

    @property
    def start(self) -> dict:
        """The first `start` or `resume` event."""
        return next((e for e in self.events if e["kind"] in ("start", "resume")), {})

    @property
    def in_nats(self) -> str:
        """The unit of the training loss and its derivatives, as a suffix for axis titles."""
        return " (nats)" if isinstance(self.task.loss, Softmax | Sigmoid) else ""

    def of_kind(self, kind: str) -> list[dict]:
        return [event for event in self.events if event["kind"] == kind]


@dataclasses.dataclass(frozen=True)
class Subject(Course):
    """A run with its network and the data to measure it on.

    Attributes:
        network: the network of the last checkpoint, with noise off.
        batch: a few sequences.
        at: the last step of `batch` that has a loss.
        symbols: the beginning of the text; `None` for other tasks.
        where: where batch and symbols come from, in words.
    """

    network: Network
    batch: Batch
    at: int
    symbols: np.ndarray | None
    where: str


def course(run: Run) -> Course:
    """The part of a subject that a run without a checkpoint has, too."""
    return Course(run, run.task(), readable(run.events()))


def subject(run: Run, data: Path | None = None) -> Subject:
    """The subject of a report; `data` is another text to measure the network on.

    Example:
        >>> subject(open_run("runs/text-mlstm-1")).batch.xs.shape
        (10, 16)
    """
    network = last_network(run)
    task = run.task()
    batch, symbols = None, None
    if data is not None:
        symbols, where = read_data(run, data), str(data)
        batch = next(streams(symbols, SEQUENCES, task.length))
    elif isinstance(task, Text):
        part = "valid" if len(task.parts["valid"]) > 2 * task.length else "train"
        symbols = task.parts[part]
        where = "the validation part" if part == "valid" else "the training part"
        batch = next(streams(symbols, SEQUENCES, task.length))
    else:
        batch, where = next(task.held_out("valid", SEQUENCES)), "the validation part"
    at = int(np.flatnonzero(batch.weights.any(axis=1))[-1])
    events = readable(run.events())
    return Subject(run, task, events, network, batch, at, symbols, where)


def read_data(run: Run, data: Path) -> np.ndarray:
    """The symbols of another text, in the vocabulary of the run."""
    vocabulary = run.vocabulary
    if vocabulary is None:
        raise BadInput(f"--data is for texts; {run.path} has learned {run.config.task}")
    symbols, _ = read_symbols(data, vocabulary.level, run.config.encoding, vocabulary)
    if len(symbols) < 2:
        raise BadInput(f"{data} has fewer than 2 symbols; there is nothing to predict")
    return symbols
