"""Measures of a trained network: its metric on the test part, and how far back it looks."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..files import read_json, write_whole
from ..lens import memory_length
from ..lens.gradient_by_lag import joint_gradient
from ..progress import Report, each, silent
from ..report.subject import validating
from ..runs import Run, evaluate_network, open_run
from ..runs.loop.divergence import finite_or_none
from ..runs.loop.probe import Lens
from ..tasks import Task

NAME = "measured.json"


def measure_all(folders: Sequence[Path], report: Report = silent) -> None:
    """Measure the best network of each run, and keep the numbers in its folder.

    The runs must be of the same task and shapes, so that what is compiled serves all of them.
    """
    lens: Lens | None = None
    for folder in each(folders, report, measuring(folders), len(folders)):
        if not (folder / NAME).exists():
            run = open_run(folder)
            with run.precision():
                task = run.task()
                lens = lens or Lens(task.loss)
                numbers = _measured(run, task, lens)
            write_whole(folder / NAME, json.dumps(numbers).encode())


def measuring(folders: Sequence[Path]) -> str:
    """What `measure_all` does with the runs of an entry, in words."""
    return f"measuring {folders[0].parent.name}"


def measures(folder: Path) -> dict[str, Any]:
    """The measures of a run: `test`, `memory`, `lags` and `gradient`; each may be missing."""
    try:
        measured = read_json(folder / NAME)
    except (OSError, ValueError):
        return {}
    return measured if isinstance(measured, dict) else {}


def _measured(run: Run, task: Task, lens: Lens) -> dict[str, Any]:
    measured: dict[str, Any] = {}
    try:
        network = run.network()
    except BadInput:  # it diverged before its first checkpoint
        return measured
    try:
        measured["test"] = finite_or_none(evaluate_network(network, task, "test"))
    except BadInput:  # there is no test part
        pass
    if (batch := validating(task)) is not None:
        looked = lens.look(network, batch, None)
        gradient, lags = joint_gradient(looked["gradient"]), looked["lags"]
        length = memory_length(gradient, lags) if looked["gradient"] else None
        if length is not None:
            measured |= {"memory": length, "lags": lags, "gradient": gradient.tolist()}
    return measured
