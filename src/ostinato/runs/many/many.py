"""Many runs: those that are finished are kept, those that were stopped go on, others start.

Runs that differ only in their seed and in plain numbers of the learner (rate, clip, momentum,
weight decay) share what they compile. On a GPU their steps are one program (`pack`). On a CPU a
mapped step takes longer than the same steps one after the other (four LSTMs of 128 units: 122
against 89 ms of CPU time per run), so as many runs as there are cores go side by side instead.
"""

import os
import queue
import signal
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax

from ...errors import BadInput
from ...files import checked_path
from ...learning import Learner, Objective, RunSize
from ...progress import Report
from ...settings import checked_kind, shown
from ...tasks.losses import CrossEntropy
from ..analysis.answers import Run, open_run
from ..config import Config
from ..fit import room
from ..folder.events import ending, opens
from ..folder.run import is_run
from ..loop.divergence import Diverged
from ..loop.prefetch import for_thread
from ..loop.signals import Stop, stop_signals
from ..loop.start import train_with
from ..loop.step import RunGroup, SharedSteps
from .begun import check_unchanged, is_over
from .pack import Pack


class _Job(NamedTuple):
    number: int
    config: Config
    path: Path


def train_many(
    configs: Sequence[Config],
    folders: Sequence[str | Path],
    *,
    listener: Callable[[int, dict], None] | None = None,
) -> list[Run]:
    """Train the network of each configuration in its folder.

    A run that has ended or diverged is only opened; one that was interrupted continues. If the
    settings, code or data of any of them are others now, that is an error, and nothing is trained.
    A run that diverges does not stop the others. A signal such as Ctrl-C interrupts and saves all
    runs that are being trained. Any other error stops them in the same way, and is raised at the
    end.

    Args:
        configs: the settings of each run.
        folders: a folder for each.
        listener: called with the number of the run and each of its events, by one thread at a time.

    Returns:
        The runs, without those that an interruption kept from starting.

    Example:
        >>> configs = [Config(task="adding", length=10, units=4, steps=2, seed=n) for n in range(2)]
        >>> [run.steps()[-1] for run in train_many(configs, ["runs/seed-0", "runs/seed-1"])]
        [2, 2]
    """
    if isinstance(folders, str):
        raise BadInput(f"folders must be a list of folders, one for each run; got {shown(folders)}")
    try:
        configs, folders = [*configs], [*folders]
    except TypeError as error:
        raise BadInput(f"train_many takes lists of configurations and folders: {error}") from None
    for config in configs:
        checked_kind("each of configs", config, Config, "a Config")
    paths = [checked_path("each of folders", folder) for folder in folders]
    if len(configs) != len(paths):
        raise BadInput(f"there are {len(configs)} configurations, but {len(paths)} folders")
    if twice := next((path for path in paths if paths.count(path) > 1), None):
        raise BadInput(f"two runs cannot share a folder, got {twice} twice")
    jobs = [_Job(*job) for job in zip(range(len(paths)), configs, paths, strict=True)]
    over = {job.number for job in jobs if is_over(job.path)}
    begun = [(job, open_run(job.path)) for job in jobs if is_run(job.path)]
    check_unchanged(
        (run if job.number in over else run.with_steps(job.config), job.config)
        for job, run in begun
    )
    groups: dict[tuple, list[_Job]] = {}
    for job in jobs:
        if job.number not in over:
            groups.setdefault(_shared_settings(job.config), []).append(job)
    with stop_signals() as stop:
        for group in groups.values():
            _Group(group, stop, listener).train()
    return [open_run(path) for path in paths if stop.number is None or is_run(path)]


class _Group:
    """Runs that share what they compile."""

    def __init__(self, jobs: list[_Job], stop: Stop, listener: Callable[[int, dict], None] | None):
        self.jobs, self.stop, self.listener = jobs, stop, listener
        self.shared, self.hearing = SharedSteps(), threading.Lock()
        self.errors: list[BaseException] = []

    def train(self) -> None:
        size, beside = side_by_side(self.jobs[0].config, len(self.jobs))
        packs: queue.SimpleQueue[list[_Job]] = queue.SimpleQueue()
        for start in range(0, len(self.jobs), size):
            packs.put(self.jobs[start : start + size])

        def work() -> None:
            while self.stop.number is None:
                try:
                    self._pack(packs.get_nowait(), size)
                except queue.Empty:
                    return

        _all_at_once([work] * beside)
        if self.errors:
            raise self.errors[0]

    def _pack(self, jobs: list[_Job], size: int) -> None:
        if size == 1:
            self._run(jobs[0], RunGroup(self.stop, self.shared if len(self.jobs) > 1 else None))
        else:
            pack = Pack(self.stop, self.shared, len(jobs))
            _all_at_once([partial(self._run, job, pack) for job in jobs])

    def _run(self, job: _Job, group: RunGroup) -> None:
        try:
            hear = None if self.listener is None else lambda event: self._hear(job.number, event)
            train_with(group, job.config, job.path, is_run(job.path), hear)
        except Diverged:
            pass  # its last event says so
        except BaseException as error:
            self.errors.append(error)
            self.stop.number = self.stop.number or signal.SIGINT
        finally:
            group.leave()

    def _hear(self, number: int, event: dict) -> None:
        assert self.listener is not None
        with self.hearing:
            self.listener(number, event)


def side_by_side(config: Config, count: int) -> tuple[int, int]:
    """How many of `count` runs to map into one program, and how many such programs to run at once.

    Example:
        >>> size, beside = side_by_side(Config(task="adding", units=8), 20)
        >>> size * beside <= 20
        True
    """
    most = min(count, room(config)) if count > 1 else 1
    alone = config.backend == "persistent" or config.devices > 1
    if jax.default_backend() == "cpu":
        return 1, 1 if alone else min(most, _cores())
    return (1 if alone or not _learner(config).can_vmap else most), 1


def _shared_settings(config: Config) -> tuple:
    """The settings in which runs that share a compiled step must agree."""
    differ = {"seed", *_learner(config).numbers}
    return tuple((name, value) for name, value in config.flat().items() if name not in differ)


def _learner(config: Config) -> Learner:
    """The learner, for its attributes only: without a task."""
    size = RunSize(config.steps, config.batch_size, units=1)
    return config.learner.make_learner(Objective(CrossEntropy()), size)


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _all_at_once(work: Sequence[Callable[[], None]]) -> None:
    """Call functions in a thread each; in this one if there is only one."""
    if len(work) == 1:
        work[0]()
        return
    threads = [threading.Thread(target=for_thread(each), daemon=True) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(0.1)  # signals are handled between two waits


class HowFar:
    """Reports how far many runs are.

    A run counts by the fraction of its steps; one that has ended or diverged counts as a whole.
    Other work counts as much as a run.

    Attributes:
        total: how many runs there are, and how many other parts of the work.
        report: hears of each event.
        parts: the fraction that is done of each run and part, by its name.
        steps: the number of steps of each run.

    Example:
        >>> runs = HowFar(2, print)
        >>> runs.hear("lstm, seed 0", {"kind": "start", "step": 0, "steps": 10})
        0.0 2 lstm, seed 0: step 0 of 10
        >>> runs.hear("lstm, seed 0", {"kind": "train", "step": 5})
        0.5 2 lstm, seed 0: step 5 of 10
        >>> runs.over("lstm, seed 0")
        >>> runs.within(1, 4, "measuring")
        1.25 2 measuring
    """

    def __init__(self, total: int, report: Report):
        self.total, self.report = total, report
        self.parts: dict[str, float] = {}
        self.steps: dict[str, int] = {}

    def over(self, name: str) -> None:
        """Count a run that has nothing left to do."""
        self.parts[name] = 1.0

    def hear(self, name: str, event: Any) -> None:
        """An event of a run; on a cluster only the last one is heard."""
        step = event["step"]
        if opens(event):
            self.steps[name] = event["steps"]
        steps = self.steps.get(name, step)
        self.parts[name] = min(step / max(steps, 1), 1.0)
        words = f"{name}: step {step:,} of {steps:,}"
        end = ending([event])
        if end is not None and end.get("reason") != "interrupted":
            self.over(name)
            words = f"{name} has ended"
        self.within(0, None, words)

    def within(self, done: float, total: float | None, what: str) -> None:
        """The `Report` of a part of the work other than the runs; it counts if its total is known.

        Args:
            done, total: of this part alone.
            what: in words, which also tell it from other parts.
        """
        if total:
            self.parts[what] = done / total
        self.report(sum(self.parts.values()), self.total, what)
