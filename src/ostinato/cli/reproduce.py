"""`ostinato reproduce`: repeat published experiments."""

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.table import Table
from typer import Argument, Exit, Option

from ..errors import BadInput
from ..experiments import RECIPES, Job, Recipe, Result, collect, recipe
from ..experiments import reproduce as repeat
from ..experiments.page import table_of, verdict_of
from ..runs.folder import is_run
from ..runs.loop.signals import Interrupted
from .arguments import Json, Ray, changes, check_new_folder, names_of, path
from .output import answer, print_json
from .progress import progress


def reproduce(
    name: Annotated[
        str | None, Argument(help="the experiment", show_default="list them all")
    ] = None,
    quick: Annotated[bool, Option("--quick", help="a small size, of about a minute")] = False,
    rows: Annotated[
        str | None, Option(help="some rows of its table, as in lstm,mlstm", show_default="all")
    ] = None,
    seeds: Annotated[int, Option(help="how many runs per row", min=1, max=1000)] = 1,
    minutes: Annotated[
        float | None, Option(help="the most minutes of training per run", min=0)
    ] = None,
    corpus: Annotated[
        Path | None,
        Option(help="the original text, if you have it", show_default="a stand-in", parser=path),
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", metavar="NAME=VALUE", help="change a setting of the runs; repeatable"),
    ] = None,
    folder: Annotated[
        Path | None,
        Option(help="where runs, results and page go", show_default="reproduce/NAME", parser=path),
    ] = None,
    page: Annotated[
        bool, Option("--page", help="train nothing; write the page of the results in the folder")
    ] = False,
    ray: Ray = None,
    as_json: Json = False,
) -> None:
    """Repeat a published experiment, and write a page with published numbers beside obtained ones.

    What is finished is kept: the same command continues after an interruption, and adds rows or
    seeds.

    Examples:
        ostinato reproduce
        ostinato reproduce temporal-xor --quick
        ostinato reproduce krause-table --rows mrnn,mlstm --seeds 2 --minutes 6
    """
    if name is None:
        given = [quick, rows, seeds != 1, minutes, corpus, settings, folder, page, ray]
        if any(x not in (None, False) for x in given):
            raise BadInput("options need the name of an experiment; ostinato reproduce lists them")
        return _list(as_json)
    chosen = recipe(name)
    where = folder or Path("reproduce") / (f"{name}-quick" if quick and chosen.trains else name)
    check_new_folder(where, "--folder")
    if is_run(where):
        raise BadInput(f"--folder {where} is the folder of a run; give another one")
    names = names_of(rows, "--rows", ", as in lstm,mlstm")
    job = Job(where, quick, seeds, names, minutes, changes(settings or []), corpus)
    if page:
        results = collect(chosen, where)
    else:
        try:
            with progress(quiet=as_json) as report:
                hear = _Validations(chosen, report.note)
                job = dataclasses.replace(job, listener=hear, report=report)
                results = repeat(chosen, job, ray)
        except Interrupted as end:
            if as_json:
                print_json({"experiment": name, "folder": str(where), "reason": "interrupted"})
            else:
                print("stopped and saved; the same command continues", file=sys.stderr)
            raise Exit(128 + end.number) from None
    rows_found = [dataclasses.asdict(result) for result in results]
    document = {"experiment": name, "page": str(where / "report.html"), "results": rows_found}
    answer(document, lambda: _show(chosen, results, where), as_json)


def _list(as_json: bool) -> None:
    fields = ("name", "title", "source", "shows")
    about = [{field: getattr(one, field) for field in fields} for one in RECIPES.values()]
    table = Table("experiment", "source", "what it shows", show_lines=True)
    for one in RECIPES.values():
        table.add_row(one.name, one.source, one.shows)
    answer(about, lambda: Console().print(table), as_json)


class _Validations:
    """A line for every validation of a run."""

    def __init__(self, about: Recipe, note: Callable[[str], None]):
        self.about, self.note = about, note

    def __call__(self, row: str, seed: int, event: dict) -> None:
        where = self.about.named(row, seed)
        if event["kind"] == "start":
            self.note(f"{where}: {event['parameters']:,} parameters, {event['device']}")
        elif event["kind"] == "valid":
            self.note(f"{where}: step {event['step']}: {event['value']:.4g}")


def _show(about: Recipe, results: list[Result], where: Path) -> None:
    whole = table_of(about, results)
    # Pairs of columns, published and obtained, become one, because a terminal is narrow.
    names = [name.removesuffix(" (published)") for name in whole.columns[1::2]]
    table = Table("published → obtained", *names, title=f"{about.title} ({about.source})")
    for title, *cells in whole.rows:
        pairs = zip(cells[::2], cells[1::2], strict=True)
        table.add_row(title, *(f"{published} → {obtained}" for published, obtained in pairs))
    console = Console()
    console.print(table)
    for words in verdict_of(about, results):
        console.print(words, highlight=False)
    if any(result.quick for result in results):
        console.print("quick size: not comparable with the published numbers", highlight=False)
    print(f"page: {where / 'report.html'}")
