"""`ostinato verify`: check claims from the literature by computation."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..claims import Result, named
from .arguments import Json
from .output import answer
from .progress import progress


def verify(
    names: Annotated[
        list[str] | None, typer.Argument(help="names of claims", show_default="all of them")
    ] = None,
    falsehoods: Annotated[
        bool,
        typer.Option("--falsehoods", help="also plant a falsehood in every check, to be refused"),
    ] = False,
    as_json: Json = False,
) -> None:
    """Check claims from the literature by computation, and show the evidence.

    The exit code is 1 if a verdict differs from the known one. With `--falsehoods` every check
    runs a second time on something that is false (or, for a false statement, on its correction),
    and has to come to the verdict that is right then.

    Examples:
        ostinato verify
        ostinato verify hopfield-capacity --falsehoods
        ostinato verify toy-net hochreiter-bound --json
    """
    claims = named(names or None)
    results = []
    with progress(quiet=as_json) as report:
        for done, claim in enumerate(claims):
            report(done, len(claims), claim.name)
            results.append((claim.verify(), claim.plant() if falsehoods else None))
        report(len(claims), len(claims), "all claims")
    answer([_about(*both) for both in results], lambda: _show(results), as_json, indent=2)
    if not all(result.reproduces for both in results for result in both if result):
        raise typer.Exit(1)


def _about(result: Result, planted: Result | None) -> dict:
    claim, finding = result.claim, result.finding
    about = {
        "name": claim.name,
        "claim": claim.text,
        "source": claim.source,
        "verdict": finding.verdict,
        "evidence": finding.evidence,
        "reproduces": result.reproduces,
    }
    if planted:
        about["falsehood"] = {
            "planted": claim.falsehood.planted,
            "verdict": planted.finding.verdict,
            "evidence": planted.finding.evidence,
            "refused": planted.reproduces,
        }
    return about


def _show(results: list[tuple[Result, Result | None]]) -> None:
    table = Table("claim and verdict", "evidence", show_lines=True)
    for result, planted in results:
        verdict, evidence = _verdict(result), Text(result.finding.evidence)
        if planted:
            verdict += Text("\nplanted: ", style="dim") + _verdict(planted)
            evidence.append(f"\nplanted: {result.claim.falsehood.planted}", style="dim")
        table.add_row(Text(result.claim.name, style="bold") + "\n" + verdict, evidence)
    console = Console()
    console.print(table)
    known, plants = ([one for one in side if one] for side in zip(*results, strict=True))
    said = f"{sum(one.reproduces for one in known)} of {len(known)} as known"
    if plants:
        refused = sum(one.reproduces for one in plants)
        said += f", {refused} of {len(plants)} planted falsehoods refused"
    seconds = sum(one.seconds for one in (*known, *plants))
    console.print(f"{said}, in {seconds:.0f} s", highlight=False)


def _verdict(result: Result) -> Text:
    verdict = Text(result.finding.verdict, style="" if result.reproduces else "bold red")
    if not result.reproduces:
        verdict.append(f" (known: {result.expected})")
    return verdict
