"""Train the runs of a contrast: what is finished stays, what was interrupted continues."""

import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from ..errors import BadInput
from ..progress import Report
from ..runs import Config, Diverged
from ..runs.folder.events import Divergence, Event, Valid, of_form, opening, opens
from ..runs.folder.log import read_events
from ..runs.loop.signals import Interrupted
from ..runs.many import is_over, train_many
from .measures import measure_all

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
        try:
            runs = train_many([configs[place] for place in left], hear.folders, listener=hear)
            if len(runs) < len(left):  # a signal came between two runs
                raise Interrupted(signal.SIGINT)
        except Diverged:
            pass  # its log says so
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


def best_of(folder: Path) -> tuple[float | None, bool]:
    """The best validation of a run, and whether the run diverged."""
    events = read_events(folder)
    values = [e["value"] for e in of_form(events, Valid) if e["value"] is not None]
    diverged = bool(of_form(events, Divergence))
    if not values:
        return None, diverged
    return (max if higher_is_better(events) else min)(values), diverged


def higher_is_better(events: Iterable[Event]) -> bool:
    """Whether larger values of a run's metric are better."""
    return opening(events).get("higher_is_better", False)
