"""The result of a contrast as plain numbers: a row for each entry, and their comparisons."""

import dataclasses
from pathlib import Path
from typing import Any

from ..runs import open_run
from ..runs.folder.events import opening
from ..runs.folder.log import read_events
from .curves import Course, Profile, course_of
from .entries import Entry
from .measures import measures
from .spec import Spec
from .statistics import Comparison, Summary, compare, smallest_effect, summary
from .training import outcome_of
from .tuning import Tuned


@dataclasses.dataclass(frozen=True)
class EntryResult:
    """An entry with its results.

    Attributes:
        entry, label: its name, and what it is called among the entries of its task.
        parameters: how many.
        tuned: the tuned settings.
        trials: how many were tried.
        valid: the best validation of each seed; `None` for a run that diverged before its first.
        test: the metric on the test part, of the network with the best validation.
        values: what the table and the tests are about: `test` if the task has a test part, else
            `valid`; empty if a seed has no value.
        summary: of the values.
        diverged: how many seeds diverged.
        memory: the memory length of each seed's network, in steps.
        steps, gradients, seconds: spent until the end, on average over seeds.
    """

    entry: str
    label: str
    parameters: int
    tuned: dict[str, float]
    trials: int
    valid: list[float | None]
    test: list[float | None]
    values: list[float]
    summary: Summary | None
    diverged: int
    memory: list[int | None]
    steps: float
    gradients: float
    seconds: float


@dataclasses.dataclass(frozen=True)
class Group:
    """The entries of one task, which share its metric; the best first.

    Attributes:
        task, metric, higher_is_better: the task's variant and its metric.
        part: what the values are measured on: `"test"` or `"validation"`.
        rows: the entries.
        comparisons: between all pairs of entries; empty without a test.
        baselines: of the task.
        courses, profiles: for the charts, by label.
    """

    task: str
    metric: str
    higher_is_better: bool
    part: str
    rows: list[EntryResult]
    comparisons: list[Comparison]
    baselines: dict[str, float]
    courses: dict[str, list[Course]]
    profiles: dict[str, list[Profile]]


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of a contrast.

    Attributes:
        spec: what was contrasted.
        groups: one for each task.
        comparisons: how many there are, over all tasks.
        detectable: the smallest difference that the t-test finds with a probability of 80 %, in
            standard deviations of the differences; `None` without a test.
    """

    spec: Spec
    groups: list[Group]
    comparisons: int
    detectable: float | None

    def as_json(self) -> dict[str, Any]:
        """The result as plain JSON, without the curves."""
        groups = [dataclasses.asdict(group) for group in self.groups]
        for group in groups:
            del group["courses"], group["profiles"]
        return {
            "groups": groups,
            "comparisons": self.comparisons,
            "detectable": self.detectable,
            "spec": self.spec.as_json(),
        }


def result_of(
    spec: Spec, entries: list[Entry], tuned: dict[str, Tuned], folders: dict[str, list[Path]]
) -> Result:
    """The result of a contrast whose runs are all finished.

    Args:
        spec, entries: what was contrasted.
        tuned: the tuned settings by entry.
        folders: the run folders of each entry, one per seed.
    """
    tasks = list(dict.fromkeys(entry.task for entry in entries))
    groups = []
    for task in tasks:
        own = [entry for entry in entries if entry.task == task]
        groups.append(_group(task, own, tuned, folders))
    wanted = len(spec.seeds) > 1 if spec.test is None else spec.test
    count, detectable = 0, None
    if wanted:
        bounds = [next(entry.bounds for entry in entries if entry.task == task) for task in tasks]
        values = [{r.label: r.values for r in g.rows if r.values} for g in groups]
        compared = compare(values, bounds)
        groups = [
            dataclasses.replace(group, comparisons=pairs)
            for group, pairs in zip(groups, compared, strict=True)
        ]
        count = sum(map(len, compared))
        detectable = smallest_effect(len(spec.seeds), count) if count else None
    return Result(spec, groups, count, detectable)


def _group(
    task: str, entries: list[Entry], tuned: dict[str, Tuned], folders: dict[str, list[Path]]
) -> Group:
    start = opening(read_events(folders[entries[0].name][0]))
    seen = {e.name: [measures(folder) for folder in folders[e.name]] for e in entries}
    every = [one.get("test") is not None for group in seen.values() for one in group]
    part = "test" if all(every) else "validation"
    rows, courses, profiles = [], {}, {}
    for entry in entries:
        own = [course_of(open_run(folder)) for folder in folders[entry.name]]
        courses[entry.label] = own
        looks = [one for one in seen[entry.name] if "gradient" in one]
        profiles[entry.label] = [Profile(one["lags"], one["gradient"]) for one in looks]
        rows.append(
            _row(entry, tuned[entry.name], folders[entry.name], seen[entry.name], own, part)
        )
    higher = bool(start.get("higher_is_better"))
    rows.sort(key=lambda row: _rank(row, higher))
    return Group(
        task=task,
        metric=start.get("metric", "metric"),
        higher_is_better=higher,
        part=part,
        rows=rows,
        comparisons=[],
        baselines=start.get("baselines") or {},
        courses={row.label: courses[row.label] for row in rows},
        profiles={row.label: profiles[row.label] for row in rows},
    )


def _row(
    entry: Entry,
    tuned: Tuned,
    folders: list[Path],
    seen: list[dict],
    courses: list[Course],
    part: str,
) -> EntryResult:
    ends = [outcome_of(folder) for folder in folders]
    valid, test = [end.value for end in ends], [one.get("test") for one in seen]
    chosen = test if part == "test" else valid
    values = [value for value in chosen if value is not None]
    values = values if len(values) == len(chosen) else []
    last = [[column[-1] if column else 0 for column in one] for one in courses]
    return EntryResult(
        entry=entry.name,
        label=entry.label,
        parameters=opening(read_events(folders[0])).get("parameters", 0),
        tuned=tuned.settings,
        trials=len(tuned.trials),
        valid=valid,
        test=test,
        values=values,
        summary=summary(values, entry.bounds) if values else None,
        diverged=sum(end.diverged for end in ends),
        memory=[one.get("memory") for one in seen],
        steps=mean([one[0] for one in last]),
        gradients=mean([one[2] for one in last]),
        seconds=mean([one[3] for one in last]),
    )


def _rank(row: EntryResult, higher: bool) -> float:
    """Lower is better; an entry without a value comes last."""
    if row.summary is None:
        return float("inf")
    return -row.summary.mean if higher else row.summary.mean


def mean(values: list) -> float:
    return sum(values) / len(values)
