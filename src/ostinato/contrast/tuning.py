"""Tuning: the same number of trials for every entry, proposed by optuna.

The trials go in rounds, so that those of all entries in a round train together. The first trial of
an entry has the usual settings; the others come from optuna's TPE sampler (Bergstra et al., 2011),
seeded by the entry and the number of the trial. Optuna's storage and the run folders are all that
an interrupted search needs: a trial that was proposed stays as it is, one that was trained is not
trained again, and a search that was resumed proposes what it would have proposed.
"""

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BadInput
from ..files import unlinked
from .entries import Entry
from .training import Job, Listener, Trainer, best_of, higher_is_better, read_events

STORAGE = "tuning.db"
SEED = 0  # of the trials; the runs that are compared have others
ROUNDS = 3
WORST = 1e300  # the value of a trial that diverged


class Tuned(NamedTuple):
    """What tuning found for an entry.

    Attributes:
        settings: the best values.
        value: their best validation; `None` if no trial had one.
        trials: all values that were tried, each with its best validation.
    """

    settings: dict[str, float]
    value: float | None
    trials: list[tuple[dict[str, float], float | None]]


def tune(
    entries: list[Entry], trials: int, folder: Path, train: Trainer, listener: Listener
) -> dict[str, Tuned]:
    """The best settings of each entry by validation, after the same number of trials.

    Args:
        entries: what is tuned; an entry without anything to tune has one trial.
        trials: how many, per entry; without any, the usual settings are taken.
        folder: of the contrast.
        train: trains the runs of a round.
        listener: called with the folder of a run and each of its events.
    """
    if not trials:
        return {entry.name: Tuned(entry.usual, None, []) for entry in entries}
    with _studies(entries, folder) as studies:
        done = 0
        for size in rounds_of(trials):
            jobs = []
            for entry in entries:
                wanted = done + size if entry.ranges else 1
                asked = _asked(studies[entry.name], entry, wanted)
                configs = [entry.with_seed(SEED, settings) for settings in asked[done:]]
                places = [trial_folder(folder, entry, n) for n in range(done, len(asked))]
                jobs.append(Job(configs, places))
            train([job for job in jobs if job.configs], listener)
            for entry in entries:
                _tell(studies[entry.name], entry, folder)
            done += size
        return {entry.name: _best(studies[entry.name], entry, folder) for entry in entries}


def rounds_of(trials: int) -> list[int]:
    """The sizes of the rounds: at most three, and at least two trials in each but a single one.

    Example:
        >>> rounds_of(1), rounds_of(4), rounds_of(10)
        ([1], [2, 2], [4, 3, 3])
    """
    count = max(1, min(ROUNDS, trials // 2))
    return [trials // count + (place < trials % count) for place in range(count)]


def trial_folder(folder: Path, entry: Entry, number: int) -> Path:
    """The run folder of a trial."""
    return unlinked(folder, folder / "trials" / entry.name / f"{number + 1}")


@contextlib.contextmanager
def _studies(entries: list[Entry], folder: Path) -> Iterator[dict[str, Any]]:
    try:
        import optuna
    except ImportError:
        raise BadInput("a contrast needs optuna: pip install 'ostinato[search]'") from None
    path = unlinked(folder, folder / STORAGE)
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        try:
            storage = optuna.storages.RDBStorage(f"sqlite:///{path.resolve()}")
            studies = {
                entry.name: optuna.create_study(
                    storage=storage, study_name=entry.name, load_if_exists=True
                )
                for entry in entries
            }
        except Exception as error:  # of sqlalchemy, which depends on the kind of damage
            reason = str(error).partition("\n")[0]
            raise BadInput(f"{path} cannot be read or written: {reason}") from None
        yield studies
        storage.remove_session()
        storage.engine.dispose()
    finally:
        optuna.logging.set_verbosity(level)


def _asked(study: Any, entry: Entry, wanted: int) -> list[dict[str, float]]:
    """The settings of the first `wanted` trials; those that are missing are proposed."""
    import optuna

    kind: Callable[..., Any] = optuna.distributions.FloatDistribution
    floats = {name: kind(low, high, log=True) for name, (low, high) in entry.ranges.items()}
    while (number := len(study.get_trials(deepcopy=False))) < wanted:
        study.sampler = optuna.samplers.TPESampler(
            seed=_seed(entry.name, number), constant_liar=True, n_startup_trials=4
        )
        if number == 0:
            study.add_trial(
                optuna.trial.create_trial(
                    state=optuna.trial.TrialState.RUNNING,
                    params=entry.usual,
                    distributions=floats,
                )
            )
        else:
            study.ask(floats)
    return [dict(trial.params) for trial in study.get_trials(deepcopy=False)[:wanted]]


def _tell(study: Any, entry: Entry, folder: Path) -> None:
    """Tell the results of the trials that are finished; lower values are better."""
    for trial in study.get_trials(deepcopy=False):
        if not trial.state.is_finished():
            run = trial_folder(folder, entry, trial.number)
            study.tell(trial.number, _cost(run))


def _cost(run: Path) -> float:
    value, diverged = best_of(run)
    if value is None or diverged:
        return WORST
    return -value if higher_is_better(read_events(run)) else value


def _best(study: Any, entry: Entry, folder: Path) -> Tuned:
    trials, costs = [], []
    for trial in study.get_trials(deepcopy=False):
        run = trial_folder(folder, entry, trial.number)
        value, diverged = best_of(run)
        trials.append((dict(trial.params), None if diverged else value))
        costs.append(_cost(run))
    place = costs.index(min(costs))
    return Tuned(*trials[place], trials)


def _seed(name: str, number: int) -> int:
    digest = hashlib.sha256(f"{name} {number}".encode()).digest()
    return int.from_bytes(digest[:4], "big")
