"""`ostinato lens`: what is to be seen in a run, and what is wrong with it."""

from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.text import Text
from typer import Argument, Option

from ..errors import BadInput
from ..lens.doctor.finding import Finding
from ..report import read_data, write_report
from ..runs import examine, open_run


def lens(
    run: Annotated[Path, Argument(help="the run folder")],
    data: Annotated[
        Path | None, Option(help="another text to look at", show_default="the validation part")
    ] = None,
    out: Annotated[
        Path | None, Option(help="folder for page and pictures", show_default="the run folder")
    ] = None,
) -> None:
    """Say what looks wrong with a run, and write a report: report.html and a picture of each chart.

    The page is one file that needs nothing else: it opens in any browser, without a network.

    Examples:
        ostinato lens runs/text-mlstm-1
        ostinato lens runs/text-mlstm-1 --data other.txt --out report
    """
    found = open_run(run)
    if out is not None and out.exists() and not out.is_dir():
        raise BadInput(f"--out must be a folder; {out} is a file")
    if data is not None:
        read_data(found, data)  # what is wrong with it is to be said first
    console = Console(highlight=False)
    findings = examine(found, found.task())
    _show(findings, console)
    path = write_report(found, findings, out, data)
    console.print(Text(f"report: {path}"), soft_wrap=True)


def _show(findings: list[Finding], console: Console) -> None:
    if not findings:
        console.print("No finding: nothing looks wrong.")
    for finding in findings:
        console.print(Text(finding.name, style="bold"))
        for words in (finding.words, finding.evidence, f"Try: {finding.advice}"):
            console.print(Text(f"  {words}"), soft_wrap=True)  # a command is to be copied whole
        console.print()
