"""Train: from a configuration to a run folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import optax

from ...errors import BadInput
from ...files import checked_path, locked, unlinked
from ...settings import checked_kind, shown
from ...tasks import StartedTask, Task
from ...tasks.checks import check_declared
from ...wiring import Network
from ..analysis.answers import Run, open_run
from ..build import (
    build_learner,
    build_network,
    build_task,
    check_counts,
    config_of,
    in_precision,
    precision,
    recipe_is_open,
)
from ..config import Config
from ..fit import check_fits
from ..folder.checkpoints import Checkpoint, Progress
from ..folder.provenance import values_used
from ..folder.run import check_free, check_own, is_run
from ..network.budget import units_of
from ..network.parts import Sizes
from . import processes
from .devices import Devices
from .loop import Listener, Training
from .own_errors import own_errors
from .step import RunGroup


def train(
    config: Config,
    folder: str | Path,
    *,
    resume: bool = False,
    listener: Listener | None = None,
    task: Task | None = None,
    network: Network | None = None,
    learner: optax.GradientTransformation | None = None,
) -> Run:
    """Train the network of a configuration, and keep everything in a folder.

    Args:
        config: the settings. With `resume`, only steps, epochs and minutes may differ from
            the run's.
        folder: the run folder: new or empty, or with `resume` an existing run.
        resume: continue from the last checkpoint; the results are the same as without a break.
        listener: called with every event, a dictionary as in `events.jsonl`; if several processes
            train together (`join_processes`), in each of them.
        task: your own, instead of the one that the configuration describes. Its name and settings
            become those of the configuration if its class is one of ours, and data that it was
            given in memory are kept in the folder, up to 256 MiB. A task of your own class is not:
            pass it again to resume.
        network: your own. Pass it again to resume; to open the run, only if parts of it are
            classes of your own (`open_run(path, network=network)`).
        learner: an optax transformation instead of the configuration's learner, with its own
            learning rate. Pass it again to resume.

    Returns:
        The run. Its last event says how it ended: `done`, `no gain` (early stopping), `time` (the
        minutes are over) or `interrupted`.

    Raises:
        Diverged: if the loss became NaN or exploded, or no validation was finite; the last good
            checkpoint is kept.

    Example:
        >>> config = Config(task="adding", length=10, units=8, steps=5)
        >>> run = train(config, "runs/adding")
        >>> run.steps()[-1]  # of the last checkpoint
        5
    """
    checked_kind("config", config, Config, "a Config")
    check_own(task, network)
    if listener is not None and not callable(listener):
        raise BadInput(f"listener must be a function of an event; got {shown(listener)}")
    path, built = checked_path("folder", folder), None
    kind = config.task.kind if task is None else type(task)
    with own_errors(kind, path):
        if not resume and network is None and learner is None and recipe_is_open(config):
            with precision(config):
                read = build_task(config) if task is None else task
                settled = config.with_recipe_of(read)
            # Another precision scales the data again.
            config, built = settled, read if settled is config and task is None else None
        with precision(config):
            return _train(config, path, resume, listener, task, network, learner, built=built)


def train_with(
    group: RunGroup, config: Config, folder: Path, resume: bool, listener: Listener | None
) -> Run:
    """`train`, in a group of runs."""
    with precision(config), own_errors(config.task.kind, folder):
        return _train(config, folder, resume, listener, group=group)


def _train(
    config: Config,
    path: Path,
    resume: bool,
    listener: Listener | None,
    task: Task | None = None,
    network: Network | None = None,
    learner: optax.GradientTransformation | None = None,
    group: RunGroup | None = None,
    built: Task | None = None,
) -> Run:
    """Train in the precision of the configuration; `built` is its task, if there is one already."""
    first, config = processes.index() == 0, processes.on_all_devices(config)
    with processes.all_or_none() as facts:
        run = open_run(path) if resume else None
        # The folder of an earlier version says nothing of the data of a given task.
        if task is not None and (run is None or "data" in run.manifest):
            config, task = config_of(config, task) or config, in_precision(task)
        if run is not None:
            run = run.with_steps(config)
            unlinked(path, run.checkpoints.folder)
        elif first:
            check_free(path)
        own = {"task": task, "network": network, "learner": learner}
        given = [name for name, x in own.items() if x is not None]
        if task is None:
            task = run.task() if run else built or build_task(config)
        check_declared(task)
        method, units = build_learner(config, task, learner), None
        if network is None:
            units = (run.units if run else None) or units_of(config, task)
            check_fits(config, task, method, units)
            with Devices.of(config, task).aside():
                network = build_network(config, task, units)
                if (started := task.ability(StartedTask)) is not None:
                    network = started.starting(network)
        check_counts(config, task)
        used = values_used(config, task, method, units)
        if run:
            run.check(task, network, used, method)
        facts |= processes.facts(_settings(config), task, network)
    devices = Devices.of(config, task)

    def trained(run: Run) -> Run:
        return Training(run, task, network, method, listener, devices, learner, group).train()

    if first:
        path.mkdir(parents=True, exist_ok=True)
        with locked(path):
            run = trained(run or Run.create(path, config, task, network, used, given, method))
    else:
        run = trained(_onlooker(path, config, task, given, used))
    processes.wait_for_all()  # so that the folder is complete
    return run if first or not is_run(path) else open_run(path)


def _settings(config: Config) -> dict[str, Any]:
    """The settings that all processes must share; the file may lie elsewhere on each machine.

    Whether it holds the same is seen by the fingerprint of the data.
    """
    settings = config.as_json()
    task = {name: value for name, value in settings["task"].items() if name != "file"}
    return {**settings, "task": task}


def _onlooker(path: Path, config: Config, task: Task, given: list[str], used: dict) -> "Onlooker":
    """The run as a process that is not the first has it."""
    manifest = {"run": "", "given": given, "used": used, "data": None}
    return Onlooker(path, config, Sizes.of(task), task.artefacts(), manifest)


class Onlooker(Run):
    """A run in a process that is not the first: it reads and writes nothing in the folder."""

    def save(self, checkpoint: Checkpoint, progress: Progress) -> None:
        pass

    def note(self, event: Mapping[str, Any]) -> None:
        pass

    def events(self) -> list:
        return []

    def steps(self) -> list[int]:
        return []

    def go_on(self) -> None:
        pass

    def check_log(self) -> None:
        pass
