"""Any runs on one page: their curves, and what differs in their settings."""

import os
from collections.abc import Sequence

from ..names import distinct
from ..progress import Report, each, silent
from ..report.page import Part, Section, Table, tables_page
from ..runs import Run
from ..runs.folder.digest import Digest
from .curves import course_of, curves_by_metric, differing, gradient_profiles, profile


def read_logs(runs: Sequence[Run], report: Report = silent) -> list[Digest]:
    """The log of each run, read once for all that a comparison shows."""
    every = each(runs, report, "reading the logs", len(runs))
    return [Digest(run.path).read() for run in every]


def comparison_page(runs: Sequence[Run], logs: Sequence[Digest] | None = None) -> str:
    """Runs on one page, as one self-contained HTML document.

    Args:
        runs: the runs.
        logs: those of `read_logs`, if they are at hand.

    Example:
        >>> comparison_page([open_run("runs/text-mlstm-1")])[:15]
        '<!DOCTYPE html>'
    """
    logs = read_logs(runs) if logs is None else logs
    names = names_of(runs)
    tasks = ", ".join(dict.fromkeys(str(run.config.task) for run in runs))
    parts: list[Part] = [results_table(runs, logs), settings_table(runs)]
    title = names[0] if len(runs) == 1 else f"{len(runs)} runs"
    return tables_page(title, f"Compared on {tasks}", [*parts, *sections_of(runs, logs)])


def sections_of(runs: Sequence[Run], logs: Sequence[Digest]) -> list[Section]:
    """The charts: curves for each metric, and the gradient by lag of the runs that measured it."""
    names = names_of(runs)
    courses = {
        name: [course_of(run, log)] for name, run, log in zip(names, runs, logs, strict=True)
    }
    starts = {name: log.start for name, log in zip(names, logs, strict=True)}
    charts = curves_by_metric(courses, starts)
    sections = [
        Section(f"Learning: {metric}" if len(charts) > 1 else "Learning", drawn)
        for metric, drawn in charts.items()
    ]
    looks = {name: profile(log) for name, log in zip(names, logs, strict=True)}
    profiles = gradient_profiles({name: [x] for name, x in looks.items() if x is not None})
    return [*sections, *([Section("Memory", profiles)] if profiles else [])]


def results_table(runs: Sequence[Run], logs: Sequence[Digest]) -> Table:
    """How far each run came."""
    rows = []
    for name, run, log in zip(names_of(runs), runs, logs, strict=True):
        start, spent, best = log.start, course_of(run, log), log.best
        rows.append(
            [
                name,
                f"{start.get('parameters', 0):,}",
                f"{spent.steps[-1]:,}" if spent.steps else "0",
                "–" if best is None else f"{best['value']:.4g} {start.get('metric', '')}",
                f"{spent.gradients[-1]:,.0f}" if spent.steps else "0",
                f"{spent.seconds[-1]:.1f}" if spent.steps else "0",
                "diverged" if log.diverged else "",
            ]
        )
    columns = ["run", "parameters", "steps", "best validation", "gradient-equivalents", "seconds"]
    return Table("Results", [*columns, ""], rows)


def settings_table(runs: Sequence[Run]) -> Table:
    """The settings in which the runs differ."""
    rows = [[name, *row] for name, row in differing([x.config.flat() for x in runs]).items()]
    caption = "" if rows else "All settings are the same."
    return Table("What differs in their settings", ["setting", *names_of(runs)], rows, caption)


def names_of(runs: Sequence[Run]) -> list[str]:
    """A short name for each run: its folder, without what all have in common."""
    paths = [run.path.resolve() for run in runs]
    if len({path.name for path in paths}) == len(paths):
        return [path.name for path in paths]
    common = os.path.commonpath([path.parent for path in paths])
    return distinct([os.path.relpath(path, common) for path in paths])
