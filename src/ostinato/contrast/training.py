"""Train the runs of a contrast: what is finished stays, what was interrupted continues.

They are trained in this process (`train_here`) or on a Ray cluster (`on_ray`). There a job, the
runs of one entry, is one Ray task. All machines must see the contrast's folder under the same path:
the run folders are the only store. If a worker is lost, Ray starts its task again on another one,
where finished runs are only opened and the others continue from their checkpoints. So the result is
the same as in one process.
"""

import json
import math
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BadInput, NeedsExtra
from ..progress import Report
from ..runs import Config
from ..runs.config.config import flattened
from ..runs.folder.events import Divergence, Valid, of_form, opening, opens
from ..runs.folder.log import read_events
from ..runs.loop.signals import Interrupted
from ..runs.many import is_over, train_many
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
        value: its best validation, or `None` if it has none.
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
    costs = [sign * e["value"] for e in of_form(events, Valid) if e["value"] is not None]
    diverged = bool(of_form(events, Divergence))
    if not costs:
        return Outcome(None, diverged, math.inf)
    return Outcome(sign * min(costs), diverged, math.inf if diverged else min(costs))


RETRIES = 5  # of a job whose Ray worker was lost


def on_ray(address: str | None = None) -> Trainer:
    """A trainer that spreads jobs over a Ray cluster.

    Args:
        address: of the cluster; `"auto"` for the one that this machine belongs to, and `None` to
            start one on this machine, which ends with the process.
    """
    try:
        import ray
    except ImportError:
        raise NeedsExtra("--ray", "ray", "cluster") from None
    if not ray.is_initialized():
        try:
            ray.init(address=address, log_to_driver=False, include_dashboard=False)
        except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
            words = str(error).strip().splitlines()[0] if str(error).strip() else ""
            raise BadInput(f"there is no Ray cluster at {address}: {words}") from None
    gpus = 1 if ray.cluster_resources().get("GPU") else 0
    remote: Any = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(_train_job)

    def train(jobs: list[Job], listener: Listener, report: Report) -> None:
        done = {folder for job in jobs for folder in job.folders if is_over(folder)}
        here = Path.cwd()
        running = {
            remote.remote(
                [str(config) for config in job.configs],
                [str(here / folder) for folder in job.folders],
                job.measure,
            ): job
            for job in jobs
        }
        while running:
            (first,), _ = ray.wait(list(running), num_returns=1)
            job = running.pop(first)
            try:
                ray.get(first)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except ray.exceptions.RayError as error:
                raise BadInput(
                    f"the Ray workers of {job.folders[0].parent} were lost {RETRIES + 1} times; "
                    f"what they finished is kept, continue with --resume ({type(error).__name__})"
                ) from None
            _report_ends([folder for folder in job.folders if folder not in done], listener)
            if job.measure:
                report(1, 1, measuring(job.folders))

    return train


def _train_job(configs: list[str], folders: list[str], measure: bool) -> None:
    """A job, on a worker: configurations as JSON and folders as absolute paths."""
    os.environ.setdefault("XLA_FLAGS", "--xla_gpu_deterministic_ops=true")
    paths = [Path(folder) for folder in folders]
    # Whoever started the contrast has named its classes, on whichever machine this is.
    named = [Config(**flattened(json.loads(one))) for one in configs]
    finish(named, paths, lambda run, event: None)
    if measure:
        measure_all(paths)


def _report_ends(folders: list[Path], listener: Listener) -> None:
    """Pass on how each run ended: events of workers stay in their logs."""
    for folder in folders:
        if events := read_events(folder):
            listener(folder, dict(events[-1]))
