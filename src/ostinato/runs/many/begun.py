"""Runs that have begun: they are kept, or continued, if they are what would be trained now."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...errors import BadInput
from ...settings import as_words, shown
from ..analysis.answers import Run
from ..build import build_learner, build_task, precision
from ..config import Config
from ..folder.events import ending
from ..folder.log import read_events
from ..folder.manifest import changed_setting
from ..folder.provenance import values_used
from ..folder.run import is_run
from ..network.budget import network_shapes, units_of


def is_over(folder: Path) -> bool:
    """Whether a folder holds a run that has nothing left to do: it has ended or diverged."""
    if not is_run(folder):
        return False
    end = ending(read_events(folder))
    return end is not None and end.get("reason") != "interrupted"


def check_settings(run: Run, config: Config) -> None:
    """Refuse a finished run that was trained with other settings."""
    if change := changed_setting(run.config, config, fixed=("steps", "epochs")):
        name, own, asked = change
        raise BadInput(
            f"{run.path} was trained with {name} = {_words(own)}, and would now be trained with "
            f"{_words(asked)}; choose another folder, or remove this one to train it again"
        )


def check_unchanged(runs: Iterable[tuple[Run, Config]]) -> None:
    """Refuse runs that were trained with other settings, code or data than their configuration.

    Args:
        runs: each with the configuration with which it would be trained now. One that may continue
            to another step is given as `with_steps` returns it.
    """
    task, built = None, None
    for run, config in sorted(runs, key=lambda pair: _data(pair[1])):
        check_settings(run, config)
        with precision(config):
            if task is None or built != _data(config):  # one at a time: it holds the data
                task, built = build_task(config), _data(config)
            learner, units = build_learner(config, task), run.units or units_of(config, task)
            network = network_shapes(config, task, units)
            try:
                run.check_made(task, network, values_used(config, task, learner, units), learner)
            except BadInput as error:
                raise BadInput(
                    f"{error}; change it back, choose another folder, or remove this one to train "
                    "it again"
                ) from None


def _data(config: Config) -> tuple[str, str, int, str]:
    """What determines the task of a configuration."""
    task = config.task
    return task.name, repr(task.settings), config.training.seed, config.training.precision


def _words(value: Any) -> str:
    return as_words(value) if isinstance(value, str) else shown(value)
