"""Tuning: the same number of trials for every entry.

The trials go in rounds, so that those of all entries in a round train together. The first trial of
an entry has the usual settings. The others of the first round are spread over the whole ranges, on
a logarithmic scale, and those of a later round over ranges half as wide as in the round before,
around the best settings so far. Within a round they are a Latin hypercube (McKay, Beckman and
Conover, 1979), seeded by the entry and the round: each n-th of a range has one of n trials. The run
folders are all that an interrupted search needs: what is proposed follows from the rounds before.
"""

import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import BadInput
from ..files import unlinked
from .entries import Entry
from .training import Job, outcome_of

SEED = 0  # of the trials; the runs that are compared have others
ROUNDS = 3


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
    entries: list[Entry], trials: int, folder: Path, train: Callable[[list[Job]], None]
) -> dict[str, Tuned]:
    """The best settings of each entry by validation, after the same number of trials.

    Args:
        entries: what is tuned; an entry without anything to tune has one trial.
        trials: how many, per entry; without any, the usual settings are taken.
        folder: of the contrast.
        train: trains the runs of a round.
    """
    if not trials:
        return {entry.name: Tuned(entry.usual, None, []) for entry in entries}
    if (folder / "tuning.db").exists():
        raise BadInput(
            f"{folder} was tuned in another way, by an earlier version; start another one"
        )
    settings: dict[str, list[dict[str, float]]] = {entry.name: [] for entry in entries}
    for number, size in enumerate(rounds_of(trials)):
        jobs = []
        for entry in entries:
            tried = settings[entry.name]
            new = _proposed(entry, tried, number, size, folder)
            places = [trial_folder(folder, entry, len(tried) + n) for n in range(len(new))]
            jobs.append(Job([entry.with_seed(SEED, one) for one in new], places))
            tried += new
        train([job for job in jobs if job.configs])
    return {entry.name: _best(entry, settings[entry.name], folder) for entry in entries}


def rounds_of(trials: int) -> list[int]:
    """The sizes of the rounds: at most three, and at least two trials in each but a single one.

    Example:
        >>> rounds_of(1), rounds_of(4), rounds_of(10)
        ([1], [2, 2], [4, 3, 3])
    """
    count = max(1, min(ROUNDS, trials // 2))
    return [trials // count + (place < trials % count) for place in range(count)]


def count_trials(entry: Entry, trials: int) -> int:
    """How many trials an entry has: one if there is nothing to tune."""
    return trials if entry.ranges else min(trials, 1)


def trial_folder(folder: Path, entry: Entry, number: int) -> Path:
    """The run folder of a trial."""
    return unlinked(folder, folder / "trials" / entry.name / f"{number + 1}")


def _proposed(
    entry: Entry, tried: list[dict[str, float]], number: int, size: int, folder: Path
) -> list[dict[str, float]]:
    """The settings of an entry's trials in a round, after those that were tried before."""
    usual = [] if tried else [entry.usual]
    count = size - len(usual) if entry.ranges else 0
    best = _best(entry, tried, folder).settings if tried else entry.usual
    rng = np.random.default_rng(_seed(entry.name, number))
    new: list[dict[str, float]] = [{} for _ in range(count)]
    for name, (low, high) in entry.ranges.items():
        start, width = _narrowed(math.log(low), math.log(high), math.log(best[name]), number)
        places = (rng.permutation(count) + rng.random(count)) / max(count, 1)
        for one, place in zip(new, places, strict=True):
            one[name] = min(max(math.exp(start + width * place), low), high)
    return usual + new


def _narrowed(low: float, high: float, best: float, number: int) -> tuple[float, float]:
    """Where the range of a round begins, and how wide it is: around the best, within the whole."""
    width = (high - low) / 2**number
    return min(max(best - width / 2, low), high - width), width


def _best(entry: Entry, settings: list[dict[str, float]], folder: Path) -> Tuned:
    ends = [outcome_of(trial_folder(folder, entry, number)) for number in range(len(settings))]
    values = [None if end.diverged else end.value for end in ends]
    trials = list(zip(settings, values, strict=True))
    costs = [end.cost for end in ends]
    return Tuned(*trials[costs.index(min(costs))], trials)


def _seed(name: str, number: int) -> int:
    digest = hashlib.sha256(f"{name} {number}".encode()).digest()
    return int.from_bytes(digest[:4], "big")
