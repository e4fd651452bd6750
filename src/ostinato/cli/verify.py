"""`ostinato verify`: claims from the literature, checked by computation."""

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from ..claims import Result, named
from .output import print_json, writing


def verify(
    names: Annotated[
        list[str] | None, typer.Argument(help="names of claims", show_default="all of them")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Check claims from the literature by computation, and show the evidence.

    The exit code is 1 if a verdict differs from the known one.

    Examples:
        ostinato verify
        ostinato verify toy-net hochreiter-bound --json
    """
    claims = named(names or None)
    err = Console(stderr=True)
    waiting = track(claims, "checking", console=err, transient=True, disable=not err.is_terminal)
    results = [claim.verify() for claim in waiting]
    if as_json:
        print_json([_about(result) for result in results], indent=2)
    else:
        with writing():
            _show(results)
    if not all(result.reproduces for result in results):
        raise typer.Exit(1)


def _about(result: Result) -> dict:
    claim, finding = result.claim, result.finding
    return {
        "name": claim.name,
        "claim": claim.text,
        "source": claim.source,
        "verdict": finding.verdict,
        "evidence": finding.evidence,
        "reproduces": result.reproduces,
    }


def _show(results: list[Result]) -> None:
    table = Table("claim and verdict", "evidence", show_lines=True)
    for result in results:
        claim, finding = result.claim, result.finding
        verdict = Text(finding.verdict, style="" if result.reproduces else "bold red")
        if not result.reproduces:
            verdict.append(f" (known: {claim.expected})")
        table.add_row(Text(claim.name, style="bold") + "\n" + verdict, Text(finding.evidence))
    console = Console()
    console.print(table)
    agree = sum(result.reproduces for result in results)
    seconds = sum(result.seconds for result in results)
    console.print(f"{agree} of {len(results)} as known, in {seconds:.0f} s", highlight=False)
