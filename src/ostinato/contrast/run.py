"""Run a contrast: tune every entry, train the best settings with every seed, compare.

contrast.json     the specification
trials/           a run folder for each trial of each entry
seeds/            a run folder for each seed of each entry, with the tuned settings
result.json, result.html
"""

import json
from pathlib import Path

from ..errors import BadInput
from ..files import is_unused, locked, read_json, unlinked, write_whole
from ..progress import Report, silent
from ..runs import open_run
from ..runs.folder.run import is_run
from ..runs.many import check_settings, check_unchanged, connected, is_over
from ..runs.many.many import HowFar
from .entries import Entry, entries_of
from .result import Result, result_of
from .spec import Source, Spec
from .training import Job, Listener, train_here, train_on
from .tuning import SEED, count_trials, trial_folder, tune
from .write import write_result

SPEC = "contrast.json"
LARGEST = 16 << 20  # bytes


def contrast(
    spec: Spec,
    folder: str | Path,
    *,
    resume: bool = False,
    ray: str | None = None,
    listener: Listener | None = None,
    report: Report = silent,
) -> Result:
    """Contrast the entries of a specification, and keep everything in a folder.

    Args:
        spec: what is contrasted.
        folder: new or empty, or with `resume` that of an interrupted contrast.
        resume: continue; what was trained is not trained again, and refused if settings, code or
            data have changed since.
        ray: the address of a Ray cluster that trains the runs, see `runs.many.connected`; they are
            trained in this process without one.
        listener: called with the folder of a run and each of its events.
        report: hears how far all runs are together.

    Returns:
        The result, which is also in the folder as `result.json` and `result.html`.

    Raises:
        Interrupted: if a signal stopped it; everything is saved.

    Example:
        >>> from ostinato.contrast import Spec, contrast
        >>> settings = {"length": 10, "units": 4, "batch": 4, "steps": 4}
        >>> spec = Spec.from_dict(
        ...     {"cells": ["simple"], "tasks": ["adding"], "trials": 0, "settings": settings}
        ... )
        >>> [group] = contrast(spec, "contrasts/adding").groups
        >>> group.metric, [len(row.values) for row in group.rows]
        ('mean squared error', [2])
    """
    folder = Path(folder)
    if resume:
        check_same(spec, spec_of(folder))
    else:
        check_free(folder)
    entries = entries_of(spec)
    with connected(ray, folder) as cluster, locked(folder):
        if not (folder / SPEC).exists():
            write_whole(folder / SPEC, json.dumps(spec.as_json(), indent=1).encode())
        check_begun(spec, entries, folder)
        trials = sum(count_trials(entry, spec.trials) for entry in entries)
        # Measuring the networks of an entry takes about as long as a run.
        runs = HowFar(trials + len(entries) * (len(spec.seeds) + 1), report)

        def hear(run: Path, event: dict) -> None:
            runs.hear(run_name(run), event)
            if listener is not None:
                listener(run, event)

        train = train_here if cluster is None else train_on(cluster)

        def train_all(jobs: list[Job]) -> None:
            for job in jobs:
                for config, run in zip(job.configs, job.folders, strict=True):
                    if is_over(run):
                        check_settings(open_run(run), config)
                        runs.over(run_name(run))
            runs.within(0, None, "compiling the runs")
            train(jobs, hear, runs.within)

        tuned = tune(entries, spec.trials, folder, train_all)
        jobs = [
            Job(
                [entry.with_seed(seed, tuned[entry.name].settings) for seed in spec.seeds],
                [seed_folder(folder, entry, seed) for seed in spec.seeds],
                measure=True,
            )
            for entry in entries
        ]
        train_all(jobs)
        folders = {e.name: job.folders for e, job in zip(entries, jobs, strict=True)}
        result = result_of(spec, entries, tuned, folders)
        write_result(result, folder)
    return result


def check_begun(spec: Spec, entries: list[Entry], folder: Path) -> None:
    """Refuse to continue, before anything is trained, if settings, code or data have changed.

    The tuned settings of each run are checked once the tuning has found them.
    """
    begun = []
    for entry in entries:
        trials = range(count_trials(entry, spec.trials))
        places = [(SEED, trial_folder(folder, entry, number)) for number in trials]
        places += [(seed, seed_folder(folder, entry, seed)) for seed in spec.seeds]
        for seed, path in places:
            if is_run(path):
                run = open_run(path)
                own = run.config.flat()
                begun.append(
                    (run, entry.with_seed(seed, {name: own[name] for name in entry.usual}))
                )
    check_unchanged(begun)


def seed_folder(folder: Path, entry: Entry, seed: int) -> Path:
    """The run folder of an entry and a seed."""
    return unlinked(folder, folder / "seeds" / entry.name / f"{seed}")


def run_name(run: Path) -> str:
    """A run of a contrast in words, from its folder.

    Example:
        >>> run_name(Path("contrasts/1/trials/lstm/2"))
        'lstm, trial 2'
    """
    kind = {"trials": "trial", "seeds": "seed"}.get(run.parent.parent.name, "run")
    return f"{run.parent.name}, {kind} {run.name}"


def spec_of(folder: str | Path) -> Spec:
    """The specification of an existing contrast."""
    folder = Path(folder)
    if not folder.is_dir():
        raise BadInput(f"there is no folder {folder}")
    try:
        given = read_json(folder / SPEC, LARGEST)
    except FileNotFoundError:
        raise BadInput(f"{folder} is not a contrast: it has no {SPEC}") from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{folder / SPEC} cannot be read: {error}") from None
    if not isinstance(given, dict):
        raise BadInput(f"{folder / SPEC} is not what a contrast writes: it should be an object")
    try:
        return Spec.from_dict(given, Source(named=False))
    except BadInput as error:
        raise BadInput(f"{folder / SPEC}: {error}") from None


def check_same(spec: Spec, own: Spec) -> None:
    """Refuse to continue a contrast with another specification."""
    asked, before = spec.as_json(), own.as_json()
    for name in {**before, **asked}:
        if asked.get(name) != before.get(name):
            raise BadInput(
                f"the contrast was started with {name} = {before.get(name)}, so it cannot continue "
                f"with {asked.get(name)}; start another one"
            )


def check_free(folder: Path) -> None:
    """Refuse a folder for a new contrast unless it is empty."""
    if (folder / SPEC).exists():
        raise BadInput(f"{folder} is already a contrast; continue with --resume")
    if not is_unused(folder):
        raise BadInput(f"{folder} is not an empty folder; choose another --out")
