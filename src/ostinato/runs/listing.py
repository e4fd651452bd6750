"""Lists of run folders, from their files alone: nothing is checked, and JAX is not needed."""

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..files import is_locked
from .log import NAME as LOG
from .record import CONFIG, MODEL, member_name, read_settings
from .summary import Summary


@dataclasses.dataclass(frozen=True)
class Listed:
    """What a list says about a run folder.

    Attributes:
        run: the folder.
        task, cell, learner: their names; `None` if the folder is broken.
        parameters, steps: how many; `None` if unknown.
        best: the best validation.
        metric: what was validated.
        state: `running`, `done`, `no gain` (early stopping), `diverged`, `interrupted`, `not
            started`, or `broken` with the reason.
        seconds: of the last session.
        settings: all settings by name.
    """

    run: str
    task: str | None = None
    cell: str | None = None
    learner: str | None = None
    parameters: int | None = None
    steps: int | None = None
    best: float | None = None
    metric: str | None = None
    state: str = "broken"
    seconds: float | None = None
    settings: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)


def run_folders(folder: Path) -> Iterator[Path]:
    """All run folders below a folder, broken ones too, in the order of their names.

    A folder is a run if it has a file that only runs have; folders within runs are not looked at.
    """
    for here, inside, files in os.walk(folder):
        if CONFIG in files or MODEL in files or LOG in files:
            inside.clear()
            yield Path(here)
        else:
            inside.sort()


def listed(folder: Path) -> Listed:
    """What a list says about a run folder.

    Example:
        >>> found = listed(Path("runs/text-mlstm-1"))
        >>> found.task, found.cell, found.steps, found.state
        ('text', 'mlstm', 4, 'done')
    """
    name, path = str(folder), Path(os.path.realpath(folder / LOG))
    log = Summary(path)
    try:
        settings = read_settings(folder)
        if path.is_file():
            log.read()
    except FileNotFoundError:
        return Listed(name, state=f"broken: it has no {CONFIG}")
    except OSError as error:
        return Listed(name, state=f"broken: {error.strerror}")
    except ValueError:
        return Listed(name, state=f"broken: its {CONFIG} is not what a run writes")
    if not (folder / MODEL).is_file():
        return Listed(name, state=f"broken: it has no {MODEL}")
    state = "running" if is_locked(folder) else log.state
    if log.damaged and not log.start and not log.values:
        state = f"broken: its {LOG} cannot be read"
    return Listed(
        run=name,
        task=member_name(settings, "task"),
        cell=member_name(settings, "cell"),
        learner=member_name(settings, "learner"),
        parameters=log.start.get("parameters"),
        steps=log.timed["step"] if log.timed else None,
        best=log.best,
        metric=log.start.get("metric"),
        state=state,
        seconds=log.timed["seconds"] if log.timed else None,
        settings=settings,
    )
