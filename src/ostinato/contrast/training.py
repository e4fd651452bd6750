"""Train the runs of a contrast: what is finished stays, what was interrupted continues.

They are trained in this process (`train_here`) or on a cluster (`train_on`).
"""

import json
import math
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ..errors import BadInput
from ..progress import Report
from ..runs import Config
from ..runs.config.config import flattened
from ..runs.folder.events import Divergence, End, Valid, of_form, opening, opens
from ..runs.folder.log import read_events
from ..runs.loop.signals import Interrupted
from ..runs.many import is_over, train_many
from ..runs.many.cluster import Call, Cluster
from .measures import measure_all, measuring

Listener = Callable[[Path, dict], None]


class Job(NamedTuple):
    """Runs that belong together: of one entry, and so of the same shapes.

    Attributes:
        configs, folders: of each run.
        measure: whether to measure the networks after training.
    """

    configs: list[Config]
    folders: list[Path]
    measure: bool = False


Trainer = Callable[[list[Job], Listener, Report], None]


def train_here(jobs: list[Job], listener: Listener, report: Report) -> None:
    """Train all runs of all jobs in this process, as many together as can be packed."""
    finish(
        [config for job in jobs for config in job.configs],
        [folder for job in jobs for folder in job.folders],
        listener,
    )
    for job in jobs:
        if job.measure:
            measure_all(job.folders, report)


def finish(configs: list[Config], folders: list[Path], listener: Listener) -> None:
    """Train until every run has ended or diverged; a run that has is not touched again.

    Raises:
        Interrupted: if a signal stopped the training. No other run is started then.
    """
    while left := [place for place, folder in enumerate(folders) if not is_over(folder)]:
        hear = _Hearing([folders[place] for place in left], listener)
        runs = train_many([configs[place] for place in left], hear.folders, listener=hear)
        if len(runs) < len(left):  # a signal came between two runs
            raise Interrupted(signal.SIGINT)
        if hear.stopped is not None:
            raise Interrupted(hear.stopped)
        stuck = [folders[place] for place in left if not is_over(folders[place])]
        if len(stuck) == len(left):
            raise BadInput(f"{stuck[0]} has not ended, and training it again does not help")


class _Hearing:
    """Passes events on, and stops before the next run starts if one was interrupted."""

    def __init__(self, folders: list[Path], listener: Listener):
        self.folders, self.listener = folders, listener
        self.stopped: int | None = None

    def __call__(self, place: int, event: dict) -> None:
        if self.stopped is not None and opens(event):
            raise Interrupted(self.stopped)
        if event["kind"] == "end" and event["reason"] == "interrupted":
            self.stopped = event.get("signal") or int(signal.SIGINT)
        self.listener(self.folders[place], event)


class Outcome(NamedTuple):
    """How a run ended.

    Attributes:
        value: its best validation, or `None` if it has none. A run that has ended says so itself,
            even if lines of its log were lost.
        diverged: whether it did.
        cost: the best validation with the sign that makes lower better; infinite for a run that
            diverged.
    """

    value: float | None
    diverged: bool
    cost: float


def outcome_of(folder: Path) -> Outcome:
    """How the run in a folder ended, from its log."""
    events = read_events(folder)
    sign = -1 if opening(events).get("higher_is_better") else 1
    values = [event["value"] for event in of_form(events, Valid)]
    values += [event.get("best") for event in of_form(events, End)]
    costs = [sign * value for value in values if value is not None]
    diverged = bool(of_form(events, Divergence))
    if not costs:
        return Outcome(None, diverged, math.inf)
    return Outcome(sign * min(costs), diverged, math.inf if diverged else min(costs))


def train_on(cluster: Cluster) -> Trainer:
    """A trainer that spreads the runs over a cluster."""

    def train(jobs: list[Job], listener: Listener, report: Report) -> None:
        for job in jobs:
            for runs in cluster.split([*zip(job.configs, job.folders, strict=True)]):
                folders = [folder for _, folder in runs]
                given = [str(config) for config, _ in runs], folders, job.measure
                # Events of workers stay in their logs; how each run ended is passed on.
                new = [folder for folder in folders if not is_over(folder)]
                call = Call((job, new), _train_job, given, folders, cores=len(runs))
                cluster.submit(call)
        for (job, new), _ in cluster.results():
            for folder in new:
                if events := read_events(folder):
                    listener(folder, dict(events[-1]))
            if job.measure:
                report(1, 1, measuring(job.folders))

    return train


def _train_job(configs: list[str], folders: list[Path], measure: bool) -> None:
    """Some runs of a job, on a worker; the configurations are JSON."""
    # Whoever started the contrast has named its classes, on whichever machine this is.
    named = [Config(**flattened(json.loads(one))) for one in configs]
    finish(named, folders, lambda run, event: None)
    if measure:
        measure_all(folders)
