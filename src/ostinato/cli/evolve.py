"""`ostinato evolve`: search for a new recurrent cell."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import Exit, Option

from ..errors import BadInput
from ..evolve import Entry, Plan, best_of, memory_kind
from ..evolve import evolve as search
from ..evolve.ancestry import read_ancestry
from ..evolve.search import BEST, TASKS, read_plan
from ..files import next_folder
from ..report.evolution_page import write_evolution
from .arguments import Ray, check_new_folder, check_seed, chosen, path
from .output import answer
from .progress import progress

MEMORY = {
    "gated": "a state is kept by addition, with a gate",
    "additive": "a state is kept by addition, without a gate",
    "none": "no state is kept by addition",
}


def evolve(
    tasks: Annotated[
        str | None,
        Option(
            help="tasks to learn, each perhaps with settings: adding:length=50,copy",
            show_default=",".join(TASKS),
        ),
    ] = None,
    start: Annotated[
        str | None,
        Option(
            "--from",
            help="the first cell: a built-in one, or yours as file.py:Class",
            show_default="simple",
        ),
    ] = None,
    population: Annotated[
        int | None,
        Option(help="how many of the best cells have children", min=1, show_default="12"),
    ] = None,
    evaluations: Annotated[
        int | None,
        Option(help="how many cells to try in all", min=1, show_default="100"),
    ] = None,
    seed: Annotated[int | None, Option(help="random seed", show_default="0")] = None,
    units: Annotated[
        int | None, Option(help="units of every cell", min=1, show_default="12")
    ] = None,
    steps: Annotated[
        int | None,
        Option(help="training steps per rung", min=1, show_default="100"),
    ] = None,
    rungs: Annotated[
        int | None,
        Option(
            help="rungs of training; after each a cell may be rejected", min=1, show_default="3"
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        Option(help="where to keep the search", show_default="the next runs/evolve-N", parser=path),
    ] = None,
    resume: Annotated[bool, Option("--resume", help="continue the search of --folder")] = False,
    ray: Ray = None,
    as_json: Annotated[
        bool, Option("--json", help="print one JSON document at the end and nothing else")
    ] = False,
) -> None:
    """Search for a recurrent cell by evolution, from a simple tanh cell or any other.

    The folder gets every cell that was tried (ancestry.jsonl), the best one as Python source
    (best.py) and a page about both (evolution.html). A search that was stopped continues with
    --resume, to the same result.

    Examples:
        ostinato evolve
        ostinato evolve --tasks adding:length=50,copy:length=30 --evaluations 300 --seed 1
        ostinato evolve --from gru --tasks copy:length=20
        ostinato evolve --resume --folder runs/evolve-1 --evaluations 500
        ostinato train --cell runs/evolve-1/best.py:Evolved --task adding
    """
    if resume and folder is None:
        raise BadInput("--resume needs --folder, the folder of the search to continue")
    if folder is not None and not resume:
        check_new_folder(folder, "--folder")
    plan = read_plan(folder) if resume and folder is not None else Plan()
    check_seed(seed)
    settings = chosen(start=start, population=population, evaluations=evaluations, seed=seed)
    if tasks is not None:
        settings["tasks"] = tuple(word for word in tasks.split(",") if word)
    budget = dataclasses.replace(plan.budget, **chosen(units=units, steps=steps, rungs=rungs))
    plan = dataclasses.replace(plan, budget=budget, **settings)
    folder = folder or next_folder("runs/evolve-")
    with progress(quiet=as_json) as report:
        report(len(read_ancestry(folder)) if resume else 0, plan.evaluations, "the first cell")
        entries, signal = search(
            plan,
            folder,
            resume=resume,
            ray=ray,
            listener=lambda entries: report(len(entries), plan.evaluations, _line(entries)),
        )
    best = best_of(entries)
    page = write_evolution(folder) if best else None
    about = _about(folder, entries, page)
    answer(about, lambda: _tell(folder, entries, page, signal), as_json)
    if signal is not None:
        raise Exit(128 + signal)


def _line(entries: Sequence[Entry]) -> str:
    last, (best,) = entries[-1], best_of(entries)
    how = "+".join(last.changes) or "the start"
    fate = f"score {last.score:.3f}" if last.finished else f"rejected at rung {len(last.rungs)}"
    return (
        f"cell {last.number} ({how}) {fate}; best is cell {best.number} with {best.score:.3f}, "
        f"memory: {memory_kind(best.graph)}"
    )


def _tell(folder: Path, entries: list[Entry], page: Path | None, signal: int | None) -> None:
    if page is None:
        print(f"stopped before the first cell was tried; continue: --resume --folder {folder}")
        return
    (best,) = best_of(entries)
    print(f"tried {len(entries)} cells; the best is cell {best.number}, score {best.score:.3f}:")
    for line in str(best.graph).splitlines():
        print(f"    {line}")
    print(MEMORY[memory_kind(best.graph)])
    print(f"source: {folder / BEST}, class Evolved")
    print(f"page: {page}")
    if signal is not None:
        print(f"interrupted; continue: ostinato evolve --resume --folder {folder}")


def _about(folder: Path, entries: list[Entry], page: Path | None) -> dict[str, Any]:
    about: dict[str, Any] = {"folder": str(folder), "cells": len(entries)}
    if page is not None:
        (best,) = best_of(entries)
        about |= {
            "best": {**best.as_json(), "equations": str(best.graph).splitlines()},
            "source": str(folder / BEST),
            "page": str(page),
        }
    return about
