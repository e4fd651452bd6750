"""`ostinato program`: compile programs to recurrent networks, and run them."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer import Argument, Exit, Option

from ..errors import BadInput
from ..symbolic import Program, compile_program, load_program
from ..symbolic.compiler import SOFTWARE, write_network_picture
from ..symbolic.execution import ComparedState, Comparison, State, compare
from ..symbolic.language import EXAMPLES, example_text
from .arguments import Json, check_replaced, path
from .output import answer, print_json, writing

app = typer.Typer(
    no_args_is_help=True, help="Compile programs to recurrent networks, and run them."
)


@app.command("run")
def run_(
    file: Annotated[
        Path,
        Argument(help=f"a file, or an example: {', '.join(EXAMPLES)}", parser=path),
    ],
    more: Annotated[list[str] | None, Argument(metavar="[a=3 b=4 ...]", hidden=True)] = None,
    inputs: Annotated[
        list[str] | None,
        Option(metavar="a=3 b=4 ...", help="values of variables at the start; others are 0"),
    ] = None,
    steps: Annotated[
        int, Option(help="the most steps of the network to run", min=1, max=10**12)
    ] = 100_000,
    float64: Annotated[
        bool, Option("--float64", help="count exactly to 2^53 instead of 2^24")
    ] = False,
    picture: Annotated[
        Path | None, Option(help="draw the network into this PNG file", parser=path)
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a program by an interpreter and as a network, and show both traces side by side.

    The exit code is 1 if the two differ.

    Examples:
        ostinato program run addition --inputs a=3 b=4
        ostinato program run mine.txt --inputs n=7 --steps 1000000 --picture network.png
    """
    program = load_program(file)
    given = _values([*(inputs or []), *(more or [])])
    program.starting_values(given)
    if picture is not None:
        mark = "\0".join(SOFTWARE).encode()  # a text chunk of PNG
        check_replaced(picture, "--picture", mark, "a picture of Ostinato")
    network = compile_program(program, "float64" if float64 else "float32")
    if picture is not None:
        write_network_picture(network, picture)
    comparison = compare(network, given, steps)
    if not as_json:
        with writing():
            _show(program, network.units, comparison)
            if picture is not None:
                print(f"picture: {picture}")
    if not comparison.halted:
        raise BadInput(
            f"{program.name} has not halted after {comparison.steps} steps of the network; "
            "give more --steps, or it may run forever"
        )
    if as_json:
        print_json(_about(program, given, comparison, len(network.units)), indent=2)
    if comparison.differs is not None:
        raise Exit(1)


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List the examples."""
    examples = {name: example_text(name).splitlines()[0].lstrip("# ") for name in EXAMPLES}
    document = [{"name": name, "description": words} for name, words in examples.items()]
    lines = [f"{name:16}{words}" for name, words in examples.items()]
    answer(document, lambda: print("\n".join(lines)), as_json)


@app.command("show")
def show_(name: Annotated[str, Argument(help=f"one of {', '.join(EXAMPLES)}")]) -> None:
    """Print the text of an example, to start a program of your own from."""
    if name not in EXAMPLES:
        raise BadInput(f"there is no example {name}; there are {', '.join(EXAMPLES)}")
    with writing():
        print(example_text(name), end="")


def _values(given: list[str]) -> dict[str, int]:
    """`a=3 b=4` as a dictionary."""
    values: dict[str, int] = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise BadInput(f"an input is written as variable=number, like a=3; got {word!r:.60}")
        if not re.fullmatch("[0-9]{1,300}", value):
            raise BadInput(f"an input is a whole number from 0 on; got {word!r:.60}")
        if name in values:
            raise BadInput(f"the input {name} is given twice")
        values[name] = int(value)
    return values


def _show(program: Program, units: tuple[str, ...], comparison: Comparison) -> None:
    rows = [*comparison.first, *comparison.last]
    widths = [
        max(len(name), *(len(str(state.values[i])) for row in rows for state in row[1:]))
        for i, name in enumerate(program.variables)
    ]

    def aligned(values: Any) -> str:
        return "  ".join(str(x).rjust(width) for x, width in zip(values, widths, strict=True))

    table = Table("step", "instruction")
    for title in ("interpreter", "network"):
        names = aligned(program.variables)
        table.add_column(f"{title}\n{names}", no_wrap=True, min_width=len(names))
    for number, row in enumerate(rows):
        if number == len(comparison.first) and comparison.between:
            table.add_row("…", f"({comparison.between:,} more)", "…", "…")
        network = Text(aligned(row.network.values), "" if row[1] == row[2] else "bold red")
        where = _where(program, row.network)
        if row.network.position != row.interpreted.position:
            where += f" (interpreter: {_where(program, row.interpreted)})"
        table.add_row(str(row.step), where, aligned(row.interpreted.values), network)
    # A terminal that is too narrow wraps lines; Rich would leave out the first columns instead.
    least = Console(width=10_000).measure(table).minimum
    console = Console()
    Console(width=max(console.width, least)).print(table)
    verdict = "the traces agree" if comparison.differs is None else "THE TRACES DIFFER"
    console.print(
        f"{len(units)} units, {comparison.steps:,} steps; {verdict}",
        highlight=False,
        soft_wrap=True,
    )


def _where(program: Program, state: State) -> str:
    if state.position is None:
        return "halted"
    instruction = program.instructions[state.position]
    return f"{instruction.line}: {instruction}"


def _about(program: Program, inputs: dict, comparison: Comparison, units: int) -> dict:
    def told(row: ComparedState) -> dict:
        values = (dict(zip(program.variables, s.values, strict=True)) for s in row[1:])
        where = row.network.position
        line = None if where is None else program.instructions[where].line
        interpreted, network = values
        return {"step": row.step, "line": line, "interpreter": interpreted, "network": network}

    return {
        "program": program.name,
        "inputs": inputs,
        "variables": dict(zip(program.variables, comparison.values, strict=True)),
        "units": units,
        "steps": comparison.steps,
        "agree": comparison.differs is None,
        "first": [told(row) for row in comparison.first],
        "between": comparison.between,
        "last": [told(row) for row in comparison.last],
    }
