"""Train: from a configuration to a run folder."""

from pathlib import Path

import optax

from ...cells import Model
from ...errors import BadInput
from ...files import checked_path, locked, unlinked
from ...settings import checked_kind, shown
from ...tasks import Task
from ...tasks.task import check_declared
from ...wiring import Network
from ..build import (
    build_learner,
    build_network,
    build_task,
    check_counts,
    config_of,
    precision,
)
from ..config import Config
from ..fit import check_fits
from ..folder.provenance import values_used
from ..folder.run import Run, check_free, create_run, open_run
from ..network.budget import units_of
from .loop import Listener, Training
from .step import RunGroup, over_devices


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
        listener: called with every event, a dictionary as in `events.jsonl`.
        task: your own, instead of the one that the configuration describes. Its name and settings
            become those of the configuration if its class is one of ours, and data that it was
            given in memory are kept in the folder, up to 256 MiB. A task of your own class is not:
            pass it again to resume.
        network: your own. The folder does not contain it: pass it again to resume, and pass
            `like=network` to `Run.network`.
        learner: an optax transformation instead of the configuration's learner, with its own
            learning rate. Pass it again to resume.

    Returns:
        The run. Its last event says how it ended: `done`, `no gain` (early stopping), `time` (the
        minutes are over) or `interrupted`.

    Raises:
        Diverged: if the loss became NaN or exploded; the last good checkpoint is kept.

    Example:
        >>> config = Config(task="adding", length=10, units=8, steps=5)
        >>> run = train(config, "runs/adding")
        >>> run.steps()[-1]  # of the last checkpoint
        5
    """
    checked_kind("config", config, Config, "a Config")
    for name, own, kind in (("task", task, Task), ("network", network, Model)):
        if own is not None:
            checked_kind(name, own, kind, f"a {kind.__name__}")
    if listener is not None and not callable(listener):
        raise BadInput(f"listener must be a function of an event; got {shown(listener)}")
    path = checked_path("folder", folder)
    with precision(config):
        return _train(config, path, resume, listener, task, network, learner)


def train_with(
    group: RunGroup, config: Config, folder: Path, resume: bool, listener: Listener | None
) -> Run:
    """`train`, in a group of runs."""
    with precision(config):
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
) -> Run:
    run = open_run(path) if resume else None
    # The folder of an earlier version says nothing of the data of a given task.
    if task is not None and (run is None or "data" in run.manifest):
        config = config_of(config, task) or config
    if run is not None:
        run = run.with_steps(config)
        unlinked(path, run.checkpoints.folder)
    else:
        check_free(path)
    own = {"task": task, "network": network, "learner": learner}
    given = [name for name, x in own.items() if x is not None]
    if task is None:
        task = run.task() if run else build_task(config)
    check_declared(task)
    method, units = build_learner(config, task, learner), None
    if network is None:
        units = (run.units if run else None) or units_of(config, task)
        check_fits(config, task, method, units)
        network = task.starting(build_network(config, task, units))
    check_counts(config, task)
    spread = over_devices(config.devices)
    used = values_used(config, task, method, units)
    if run:
        run.check(task, network, used, method)
    path.mkdir(parents=True, exist_ok=True)
    with locked(path):
        run = run or create_run(path, config, task, network, used, given, method)
        return Training(run, task, network, method, listener, spread, learner, group).train()
