"""`ostinato contrast`: compare cells, wirings, learners and tasks fairly."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer import Argument, Option

from ..contrast import Spec
from ..contrast import contrast as run_contrast
from ..contrast.result import Result
from ..contrast.run import run_name, spec_of
from ..contrast.spec import BUDGET, CELLS, SEEDS, STEPS, TRIALS
from ..contrast.write import PAGE, comparisons_table, entries_table
from ..errors import BadInput
from ..files import next_folder
from ..runs.loop.signals import Interrupted
from .arguments import Json, Ray, changes, check_new_folder, chosen, names_of, path
from .output import answer, show_table, writing
from .progress import progress

FOLDER = "contrasts"
LEFT_OUT = ("95 % interval", "best validation", "gradient-equivalents")  # on narrow terminals


def contrast(
    file: Annotated[
        Path | None,
        Argument(
            help="a specification (.toml), or a data file",
            show_default="the text that comes with Python",
            parser=path,
        ),
    ] = None,
    cells: Annotated[
        str | None, Option(help="cells, separated by commas", show_default=",".join(CELLS))
    ] = None,
    learners: Annotated[
        str | None, Option(help="learners, separated by commas", show_default="adam")
    ] = None,
    tasks: Annotated[
        str | None, Option(help="tasks, separated by commas", show_default="text, or by the file")
    ] = None,
    budget: Annotated[
        int | None, Option(help="parameters of every entry", show_default=f"{BUDGET}")
    ] = None,
    seeds: Annotated[
        int | None, Option(help="runs per entry that are compared", show_default=f"{SEEDS}")
    ] = None,
    trials: Annotated[
        int | None, Option(help="tuning trials per entry, 0 for none", show_default=f"{TRIALS}")
    ] = None,
    steps: Annotated[
        int | None, Option(help="training steps of every run", show_default=f"{STEPS}")
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", help="another setting of all entries, such as length=100; can be repeated"),
    ] = None,
    test: Annotated[
        bool | None,
        Option(help="whether to test the differences", show_default="with two seeds or more"),
    ] = None,
    out: Annotated[
        Path | None,
        Option(help="folder for the runs and the result", show_default="next free", parser=path),
    ] = None,
    resume: Annotated[bool, Option("--resume", help="continue the contrast in --out")] = False,
    ray: Ray = None,
    as_json: Json = False,
) -> None:
    """Compare cells, wirings, learners and tasks fairly, and test the differences.

    Every entry is brought to the same number of parameters, tuned with the same number of trials,
    and trained with the same seeds on the same data. Wirings, variants of learners and ranges for
    the tuning go into a TOML file. A contrast that was interrupted continues with --resume.

    Examples:
        ostinato contrast
        ostinato contrast book.txt --cells lstm,mlstm,gru --budget 220000 --seeds 5
        ostinato contrast --tasks adding --set length=100 --learners adam,rmsprop
        ostinato contrast SPEC.toml --out contrasts/deep
        ostinato contrast --out contrasts/deep --resume
    """
    given = chosen(
        cells=names_of(cells, "--cells"),
        learners=names_of(learners, "--learners"),
        tasks=names_of(tasks, "--tasks"),
        budget=budget,
        seeds=seeds,
        trials=trials,
        test=test,
    )
    flat = changes(settings or []) | chosen(steps=steps)
    if resume and out is None:
        raise BadInput("--resume needs --out, the folder of the contrast to continue")
    if resume and out is not None and file is None:
        begun = spec_of(out)
        own = begun.as_json()
        changed = {**own, **given, "settings": {**own["settings"], **flat}}
        spec = Spec.from_dict(changed, begun.source)
    else:
        spec = _spec(file, given, flat)
    if out is None:
        check_new_folder(Path(FOLDER), "--out")
        out = next_folder(f"{FOLDER}/")
    else:
        check_new_folder(out, "--out")
    try:
        with progress(quiet=as_json) as report:
            hear = _Results(report.note)
            result = run_contrast(spec, out, resume=resume, ray=ray, listener=hear, report=report)
    except Interrupted as stopped:
        if not as_json:
            with writing():
                print(f"interrupted; continue with: ostinato contrast --out {out} --resume")
        raise typer.Exit(128 + stopped.number) from None
    answer({"folder": str(out), **result.as_json()}, lambda: _show(result, out), as_json)


def _spec(file: Path | None, given: dict[str, Any], settings: dict[str, Any]) -> Spec:
    if file is not None and file.suffix == ".toml":
        if given or settings:
            name = next(iter(given), "set")
            raise BadInput(f"{file} has the whole specification; put --{name} into it")
        return Spec.from_toml(file)
    if file is not None:
        settings = {**settings, "file": str(file)}
    return Spec.from_dict({**given, "settings": settings})


class _Results:
    """A line for each run that ends."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self.note, self.started = note, time.monotonic()

    def __call__(self, run: Path, event: dict) -> None:
        if event["kind"] not in ("end", "diverged") or event.get("reason") == "interrupted":
            return
        words = "diverged"
        if event["kind"] == "end" and event.get("best") is not None:
            words = f"{event['best']:.4g} {event['metric']}"
        seconds = time.monotonic() - self.started
        self.note(f"{seconds:6.0f} s  {run_name(run)}: {words}")


def _show(result: Result, out: Path) -> None:
    console = Console(highlight=False)
    for group in result.groups:
        show_table(console, entries_table(group, group.task), LEFT_OUT)
        if group.comparisons:
            pairs = comparisons_table(group, result, f"{group.task}: comparisons")
            show_table(console, pairs, LEFT_OUT)
    console.print(f"page: {out / PAGE}", soft_wrap=True)
