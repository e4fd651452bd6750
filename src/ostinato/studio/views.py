"""What the pages show, as JSON: a run, one of its charts, and several runs compared."""

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any

from ..contrast.curves import Course as Spent
from ..contrast.curves import course, curves_by_metric, differing, gradient_profiles, profile
from ..errors import BadInput
from ..report.charts import Chart, numbers
from ..report.figures import figure
from ..report.training_charts import (
    Course,
    clipped_above,
    gradient_maps,
    losses,
    memory_over_training,
    speed_over_training,
    steps_taken,
)
from ..runs.folder.digest import Digest
from ..runs.folder.events import Goal
from ..runs.folder.listing import RunRecord
from .folder import Row

TOGETHER = 12  # runs on one chart
READ_TEXT = (
    "text",
    "tag",
    "classify",
    "translate",
    "dialogue",
    "execute",
    "addition",
)  # the tasks that can be looked at from inside: those with a passage


def course_of(digest: Digest) -> Course:
    """The course of a run for the charts of `ostinato.report`, so that both show the same ones."""
    clip = clipped_above(RunRecord.read(digest.path).settings.get("clip"))
    return Course(digest.events(), Goal.logged(digest.start), clip)


def charts_of(course: Course) -> list[tuple[str, list[Chart]]]:
    """The charts of a log under their headings."""
    sections = [
        ("Learning", losses(course)),
        ("Where the gradient goes", gradient_maps(course)),
        ("Memory", memory_over_training(course)),
        ("Steps", [*steps_taken(course), *speed_over_training(course)]),
    ]
    return [(heading, charts) for heading, charts in sections if charts]


def run_view(row: Row, digest: Digest, sampled: bool = False) -> dict[str, Any]:
    """Everything on the page of a run, except the doctor's findings.

    Args:
        row: the run in the list.
        digest: its log.
        sampled: whether that is only a first impression.
    """
    course = course_of(digest)
    sections = charts_of(course) if digest.start or digest.train.count else []
    record = RunRecord.read(digest.path)
    return {
        "row": dataclasses.asdict(row),
        "numbers": live_numbers(digest),
        "notice": digest.diverged["words"] if digest.diverged else "",
        "notes": list(digest.start.get("notes", [])),
        "sections": [
            {"heading": heading, "charts": [as_json(chart) for chart in charts]}
            for heading, charts in sections
        ],
        "samples": [
            {"step": event["step"], "value": event["value"], "text": event["preview"]}
            for event in reversed(digest.samples.events())
        ],
        "used": record.used,
        "versions": record.versions,
        "offset": digest.offset,
        "whole": digest.whole,
        "sampled": sampled,
    }


def pages_of(row: Row, saved: bool) -> list[str]:
    """The pages on which a run has something to show; a task of one's own may read a text."""
    if not saved or row.state.startswith("broken"):
        return ["run"]
    name = str(row.settings.get("task"))
    return ["run", *(["inside"] if name in READ_TEXT or ":" in name else []), "play"]


def chart_view(digest: Digest, name: str, first: float, last: float) -> dict[str, Any]:
    """One chart of a run, with as much detail as there is between two steps."""
    for _, charts in charts_of(course_of(digest.zoomed(first, last))):
        for chart in charts:
            if chart.name == name:
                return as_json(chart)
    raise BadInput(f"this run has no chart {name:.60}")


def as_json(chart: Chart) -> dict[str, Any]:
    words = {"name": chart.name, "title": chart.title, "caption": chart.caption}
    return {**words, "zooms": chart.zooms, "figure": figure(chart)}


def live_numbers(digest: Digest) -> dict[str, Any]:
    """Where a run is: step, time, speed, what is left, and its best validation."""
    start, recent = digest.start, list(digest.recent)
    step = int(recent[-1][0]) if recent else max(digest.start.get("step", 0), 0)
    total = start.get("steps")
    told: dict[str, Any] = {
        "step": step,
        "total": total,
        "seconds": digest.seconds + digest.latest,
        "metric": start.get("metric"),
        "higher": bool(start.get("higher_is_better")),
        "best": digest.best,
        "baselines": start.get("baselines", {}),
        "parameters": start.get("parameters"),
        "device": start.get("device"),
        "factor": start.get("loss_factor"),
    }
    if recent:
        told["loss"] = numbers([recent[-1][4]])[0]
    if total and (epochs := start.get("epochs")):
        told["epochs"] = epochs * step / total
    speeds = [symbols / took for _, _, took, symbols, *_ in recent if took > 0 and symbols > 0]
    if speeds:
        told["speed"] = statistics.median(speeds)
    if len(recent) > 1 and total:
        (first, begin, *_), (last, end, *_) = recent[len(recent) > 2], recent[-1]
        if last > first and end > begin:
            told["left"] = max(0.0, (total - step) * (end - begin) / (last - first))
    return told


def compare_view(runs: Sequence[tuple[Row, Digest]], over_seeds: bool) -> dict[str, Any]:
    """Runs on one chart, and what differs in their settings.

    Args:
        runs: the runs.
        over_seeds: draw runs that differ in nothing but their seed as one line with a band.
    """
    if len(runs) > TOGETHER * 8:
        raise BadInput(f"at most {TOGETHER * 8} runs can be compared, got {len(runs)}")
    differ = differing([row.settings for row, _ in runs])
    lines = grouped(runs, [*differ], over_seeds)
    courses = {name: [_spent(digest) for _, digest in group] for name, group in lines.items()}
    starts = {name: group[0][1].start for name, group in lines.items()}
    charts = [one for drawn in curves_by_metric(courses, starts).values() for one in drawn]
    looks = {name: [profile(digest) for _, digest in group] for name, group in lines.items()}
    charts += gradient_profiles(
        {name: [x for x in own if x is not None] for name, own in looks.items()}
    )
    return {
        "rows": [dataclasses.asdict(row) for row, _ in runs],
        "charts": [as_json(chart) for chart in charts],
        "differing": differ,
        "lines": {name: [row.name for row, _ in group] for name, group in lines.items()},
    }


def _spent(digest: Digest) -> Spent:
    """What a run had spent until each validation."""
    return course(digest, RunRecord.read(digest.path).batch)


def grouped(
    runs: Sequence[tuple[Row, Digest]], differ: list[str], over_seeds: bool
) -> dict[str, list[tuple[Row, Digest]]]:
    """The runs of each line. Runs of different length never share one, nor do broken ones."""
    if not over_seeds:
        return {row.name: [(row, digest)] for row, digest in runs}
    groups: dict[tuple, list[tuple[Row, Digest]]] = {}
    for row, digest in runs:
        settings = {name: str(x) for name, x in row.settings.items() if name != "seed"}
        key = tuple(sorted(settings.items())) if settings else (row.name,)
        groups.setdefault(key, []).append((row, digest))
    flat = [row.settings for row, _ in runs]
    shared = [name for name in differ if all(one.get(name) is not None for one in flat)]
    lines = {}
    for group in groups.values():
        row = group[0][0]
        words = [_told(name, row.settings[name]) for name in shared if name != "seed"]
        label = ", ".join([*words[:3], f"{len(group)} seeds"])
        if len(group) == 1 or not words or label in lines:
            label = row.name if len(group) == 1 else f"{row.name} and {len(group) - 1} more seeds"
        lines[label] = group
    return lines


def _told(name: str, value: Any) -> str:
    """A setting in a label: the names of members speak for themselves."""
    return str(value) if name in ("task", "cell", "learner") else f"{name} {value}"
