"""Many runs: those that are finished are kept, those that were stopped go on, others start."""

from collections.abc import Callable, Sequence
from pathlib import Path

from .config import Config
from .folder import Run, open_run
from .training import train

MANIFEST = "config.json"


def train_many(
    configs: Sequence[Config],
    folders: Sequence[str | Path],
    *,
    listener: Callable[[int, dict], None] | None = None,
) -> list[Run]:
    """Train the network of each configuration in its folder.

    A run that has ended is only opened, and one that was interrupted continues.

    Args:
        configs: the settings of each run.
        folders: a folder for each.
        listener: called with the number of the run and each of its events.

    Example:
        >>> configs = [Config(task="adding", length=10, units=4, steps=2, seed=n) for n in range(2)]
        >>> [run.steps()[-1] for run in train_many(configs, ["runs/seed-0", "runs/seed-1"])]
        [2, 2]
    """
    done = []
    for number, (config, folder) in enumerate(zip(configs, folders, strict=True)):
        path, hear = Path(folder), None
        if listener is not None:
            hear = lambda event, number=number: listener(number, event)  # noqa: E731
        begun = (path / MANIFEST).exists()
        if begun and has_ended(open_run(path)):
            done.append(open_run(path))
        else:
            done.append(train(config, path, resume=begun, listener=hear))
    return done


def has_ended(run: Run) -> bool:
    """Whether a run has nothing left to do."""
    events = run.events()
    return bool(events) and events[-1]["kind"] == "end" and events[-1]["reason"] != "interrupted"
