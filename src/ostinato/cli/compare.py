"""`ostinato compare`: draw several runs on one page."""

from pathlib import Path
from typing import Annotated

from rich.console import Console
from typer import Argument, Option

from ..contrast.comparison import comparison_page, read_logs, results_table, settings_table
from ..files import write_whole
from ..runs import open_run
from .arguments import Json, check_page, path
from .output import print_json, show_table, writing
from .progress import progress

PAGE = "comparison.html"


def compare(
    runs: Annotated[list[Path], Argument(help="the run folders", parser=path)],
    html: Annotated[
        Path | None, Option(help="where to write the page", show_default=PAGE, parser=path)
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw runs on one page: their curves, and what differs in their settings.

    The curves are against steps, gradient-equivalents and seconds; runs that were trained with
    --lens also have their gradient by lag.

    Examples:
        ostinato compare runs/text-lstm-1 runs/text-gru-1
        ostinato compare runs/* --html all.html
    """
    opened = [open_run(run) for run in runs]
    target = html or Path(PAGE)
    check_page(target, "--html")
    with progress(quiet=as_json) as report:
        logs = read_logs(opened, report)
        report(0, None, "drawing the page")
        results, settings = results_table(opened, logs), settings_table(opened)
        write_whole(target, comparison_page(opened, logs).encode(errors="backslashreplace"))
    if as_json:
        rows = [dict(zip(results.columns, row, strict=True)) for row in results.rows]
        differ = {row[0]: row[1:] for row in settings.rows}
        print_json({"runs": rows, "differ": differ, "page": str(target)})
        return
    with writing():
        console = Console(highlight=False)
        show_table(console, results)
        if settings.rows:
            show_table(console, settings)
        console.print(f"page: {target}", soft_wrap=True)
