"""Jozefowicz et al. (2015), as in Galvan (2015), section 2.1.2: does mutation find a better cell?

Each row is a search of `ostinato evolve` from another cell. Its own first cell is trained in the
same way, so the table shows what mutation gained.
"""

import dataclasses
from collections.abc import Sequence

from ..errors import BadInput
from ..evolve import Entry, Plan, best_of, evolve, memory_kind
from ..evolve.search import SETTINGS
from ..files import unlinked
from ..progress import each
from ..runs.loop.signals import Interrupted
from .page import curve_charts
from .recipes import Job, Recipe, Result, TableRow

FIRST, BEST, TASKS, GATED = "first cell", "best cell", "tasks it is better at", "gated"
CHANGES = ("evaluations", "population")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evolved(Recipe):
    """A recipe whose rows are searches for a cell; the settings of a row name the first one.

    Attributes:
        plan, quick: the settings of each search, also with `--quick`.
    """

    plan: Plan
    quick: Plan

    def obtain(self, row: TableRow, seeds: Sequence[int], job: Job) -> list[Result]:
        if job.minutes is not None or job.corpus is not None:
            raise BadInput(f"{self.name} takes no --minutes and no --corpus; --set evaluations=N")
        if strange := sorted(job.changes.keys() - {*CHANGES}):
            raise BadInput(f"--set of {self.name} takes {', '.join(CHANGES)}, got {strange[0]}")
        plan = dataclasses.replace(self.quick if job.quick else self.plan, **row.settings)
        plan = dataclasses.replace(plan, **job.changes)
        ordered = each(seeds, job.report, f"{row.title}: evolving", len(seeds))
        return [self._result(row, dataclasses.replace(plan, seed=seed), job) for seed in ordered]

    def _result(self, row: TableRow, plan: Plan, job: Job) -> Result:
        folder = unlinked(job.folder, job.folder / "runs" / f"{row.name}-{plan.seed}")
        entries, signal = evolve(plan, folder, resume=(folder / SETTINGS).exists())
        if signal is not None:
            raise Interrupted(signal)
        (best,) = best_of(entries)
        gained = zip(_by_task(best), _by_task(entries[0]), strict=True)
        leaders = [best_of(entries[: n + 1])[0].score for n in range(len(entries))]
        return Result(
            row=row.name,
            seed=plan.seed,
            quick=job.quick,
            changes=dict(job.changes),
            steps=len(entries),
            settings={"tasks": list(plan.tasks), "evaluations": plan.evaluations, **row.settings},
            numbers={
                FIRST: entries[0].score,
                BEST: best.score,
                TASKS: float(sum(after > before for after, before in gained)),
                GATED: float(memory_kind(best.graph) == "gated"),
            },
            curves={"search": {"x": [*range(len(leaders))], "y": [*leaders]}},
            words=f"The best of {len(entries)} cells: {'; '.join(str(best.graph).splitlines())}.",
        )


def _by_task(entry: Entry) -> list[float]:
    """The progress on each task, the mean over rungs."""
    return [sum(rungs) / len(rungs) for rungs in zip(*entry.rungs, strict=True)]


SEARCH = {
    "title": "The best score so far",
    "caption": "0 is chance on all tasks, 1 is solved at once. A line per search.",
    "x_title": "cells tried",
    "y_title": "score",
}
QUICK = dataclasses.replace(
    Plan(("adding:length=6",)).budget, rungs=1, steps=3, batch=4, units=3, seeds=1, rates=(0.01,)
)

RECIPE = Evolved(
    name="cell-evolution",
    title="Evolution of cells",
    source="Jozefowicz et al. (2015), as reviewed by Galvan (2015), section 2.1.2",
    shows="Mutating a cell, by other activation functions and by multiplication, subtraction or "
    "addition, finds none that is better than LSTM and GRU on all tasks; the best ones resemble "
    "the GRU.",
    differs=(
        "100 cells per search on three small tasks, 300 steps each at two rates; the source tries "
        "thousands on arithmetic, XML and the Penn Treebank, with hyperparameters of their own.",
        "A search also starts from a tanh cell, and mutations also add states and gates.",
        "The score of a cell is its mean progress from chance to solved, over tasks and time; the "
        "source compares accuracies after training.",
        "Three searches from a tanh cell, with seeds that were not looked at before, all ended "
        "with a gated cell, with scores of 0.84 to 0.99 where the tanh cell has 0.34. Those from "
        "the LSTM and the GRU have not been run, so whether none is better on all tasks is open.",
        "Gated is 1 if a state of the best cell is kept by addition and a gate multiplies it or "
        "what is added.",
    ),
    columns=(FIRST, BEST, TASKS, GATED),
    digits=3,
    plan=Plan(),
    quick=Plan(("adding:length=6",), budget=QUICK, evaluations=3),
    rows=(
        TableRow("simple", "from a tanh cell", {"start": "simple"}),
        TableRow("lstm", "from the LSTM", {"start": "lstm"}, {TASKS: "not all"}),
        TableRow("gru", "from the GRU", {"start": "gru"}, {TASKS: "not all"}),
    ),
    charts=curve_charts({"search": SEARCH}),
)
