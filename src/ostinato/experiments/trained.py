"""Recipes whose rows are trained: each seed is an ordinary run folder."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..cells import Model
from ..contrast.training import finish
from ..data import Batch
from ..data.files import find_data
from ..errors import BadInput
from ..files import unlinked
from ..progress import each
from ..runs import Config, Diverged, Run, open_run
from ..runs.analysis.evaluation import measured
from ..runs.folder.events import Divergence, Event, Measured, Train, Valid, of_form, opening
from ..runs.many import is_over
from ..tasks import Task
from ..weights import count_parameters
from ..wiring import outputs_of
from .recipes import Curve, Job, Measurements, Prepared, Recipe, Result, TableRow

CLOSE = 0.04  # Hochreiter and Schmidhuber (1997): a number counts as right if it is this close
# Settings that --set cannot change, and what to do instead.
FIXED = {
    "task": "an experiment is about its task",
    "seed": "give --seeds",
    "file": "give --corpus",
    "minutes": "give --minutes",
}


@dataclasses.dataclass(frozen=True)
class Trial:
    """A finished run, ready to be measured: its folder, best network, task, row and job."""

    run: Run
    network: Model
    task: Task
    row: TableRow
    job: Job

    def tested(self) -> tuple[Batch, np.ndarray]:
        """A thousand test sequences, and the outputs of the network for them."""
        batch = next(self.task.held_out("test", 1000))
        return batch, np.asarray(outputs_of(self.network, batch.arrays.on_device())[0])


def on_test(column: str, size: int, factor: float = 1.0) -> Callable[[Trial], Measurements]:
    """Measures `factor` times the task's metric on the test part, in batches of `size`."""

    def measure(trial: Trial) -> Measurements:
        batches = trial.task.held_out("test", size)
        (value,) = measured(trial.network, batches, (trial.task.metric,))
        return Measurements({column: scaled(value, factor)})

    return measure


def scaled(value: Measured, factor: float = 100.0) -> Measured:
    """A number times a factor, by default a share in percent; `None` stays `None`."""
    return None if value is None else factor * value


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trained(Recipe):
    """A recipe whose rows are trained.

    Attributes:
        common: settings of `Config` that all rows share.
        quick: settings that replace others with `--quick`.
        files: settings that are files of a data set, by their path in the folder of all data sets.
        measure: the numbers of a finished run.
    """

    common: Mapping[str, Any]
    quick: Mapping[str, Any]
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)
    measure: Callable[[Trial], Measurements]

    def config(self, row: TableRow, job: Job, seed: int, text: Prepared | None = None) -> Config:
        """The configuration of a row; later settings replace earlier ones."""
        settings = {**self.common, **row.settings, "seed": seed}
        settings |= {**self.quick, **row.quick} if job.quick else {}
        settings |= text.settings if text is not None else {}
        settings |= {name: str(find_data(path)) for name, path in self.files.items()}
        settings |= _limit(job)
        return Config(**(settings | dict(job.changes)))

    def obtain(self, row: TableRow, seeds: Sequence[int], job: Job) -> Iterable[Result]:
        for name in job.changes:
            if name in FIXED:
                raise BadInput(f"--set cannot change {name}; {FIXED[name]}")
        if self.corpus is None and job.corpus is not None:
            raise BadInput(f"{self.name} reads no text; leave out --corpus")
        text = None
        if self.corpus is not None:
            text = self.corpus.prepared(job.corpus, job.folder, job.quick)
        configs = [self.config(row, job, seed, text) for seed in seeds]
        names = [f"{row.name}-{seed}" for seed in seeds]
        folders = [unlinked(job.folder, job.folder / "runs" / name) for name in names]
        for config, folder in zip(configs, folders, strict=True):
            if (folder / "config.json").exists():
                _check_same(config, open_run(folder))

        seed_of = dict(zip(folders, seeds, strict=True))

        def hear(folder: Path, event: dict) -> None:
            if job.listener is not None:
                job.listener(row.name, seed_of[folder], event)

        finish(configs, folders, hear)
        words = "" if text is None else text.words
        lost = []
        for folder, seed in each([*seed_of.items()], job.report, f"{row.title}: measuring"):
            run = open_run(folder)
            ends = of_form(run.events(), Divergence)
            if ends and not run.steps():
                lost.append(Diverged(ends[-1]["words"], ends[-1]["step"]))
            else:
                yield self._result(run, row, seed, job, words)
        if lost:
            raise lost[0]

    def _result(self, run: Run, row: TableRow, seed: int, job: Job, corpus: str) -> Result:
        events = run.events()
        with run.precision():
            trial = Trial(run, run.network(), run.task(), row, job)
            measurements = self.measure(trial)
        unusual = {k: v for k, v in run.config.non_default().items() if k != "file"}
        return Result(
            row=row.name,
            seed=seed,
            quick=job.quick,
            settings=unusual,
            changes={**dict(job.changes), **_limit(job)},
            corpus=corpus,
            parameters=count_parameters(trial.network),
            steps=events[-1]["step"],
            seconds=round(sum(e.get("took", 0.0) for e in of_form(events, Train)), 1),
            device=opening(events).get("device", ""),
            numbers=measurements.numbers,
            curves={**course(events), **measurements.curves},
            words=measurements.words,
        )


def course(events: list[Event]) -> dict[str, Curve]:
    """The validations of a run by step and by second of training, and its training loss."""
    seconds, at = 0.0, {}
    trained, valid = of_form(events, Train), of_form(events, Valid)
    for event in trained:
        seconds += event.get("took", 0.0)
        at[event["step"]] = round(seconds, 2)
    factor = opening(events).get("loss_factor")
    learned = [] if factor is None else [(e["step"], scaled(e["loss"], factor)) for e in trained]
    values = [event["value"] for event in valid]
    return {
        "validation": {"x": [event["step"] for event in valid], "y": values},
        "by second": {"x": [at.get(event["step"], 0.0) for event in valid], "y": values},
        "training": {
            "x": [step for step, _ in learned],
            "y": [value for _, value in learned],
        },
    }


def _limit(job: Job) -> dict[str, float]:
    return {} if job.minutes is None else {"minutes": job.minutes}


def _check_same(config: Config, run: Run) -> None:
    """Refuse a folder in which the same row was trained with other settings.

    A run that is not over yet may get other steps and minutes.
    """
    own, asked = run.config.flat(), config.flat()
    may_change = ("file", "minutes") if is_over(run.path) else ("file", "minutes", "steps")
    for name in own.keys() | asked.keys():
        if name not in may_change and own.get(name) != asked.get(name):
            raise BadInput(
                f"{run.path} was trained with {name} = {own.get(name)}, not {asked.get(name)}; "
                "choose another --folder"
            )
