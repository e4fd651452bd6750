"""`ostinato runs`: list run folders in a table."""

import dataclasses
import math
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from ..errors import BadInput
from ..runs.folder.listing import Listed, listed, run_folders
from .arguments import Json, path
from .output import answer

NEVER_BROKEN = ("task", "cell", "learner", "parameters", "steps", "best", "seconds")
COLUMNS = ("run", "task", "cell", "learner", "parameters", "steps", "best", "state", "seconds")


def runs(
    folder: Annotated[
        Path, Argument(help="where to look, in all folders below too", parser=path)
    ] = Path("runs"),
    filters: Annotated[
        list[str] | None,
        Option("--filter", help="only runs with this setting or state, such as cell=lstm"),
    ] = None,
    sort: Annotated[
        str | None, Option(help=f"sort by a column: {', '.join(COLUMNS)}", show_default="run")
    ] = None,
    archived: Annotated[bool, Option("--archived", help="list archived runs too")] = False,
    as_json: Json = False,
) -> None:
    """List run folders: what was trained, how far, how well, and how it ended.

    A filter is a column, a tag or any setting of a run; several filters must all hold. A folder
    that is not a complete run is listed with what is wrong with it. Names, tags, notes and the
    archive are those that `ostinato studio` keeps in a run folder.

    Examples:
        ostinato runs
        ostinato runs experiments --filter cell=lstm --filter state=done --sort best
    """
    if not folder.is_dir():
        raise BadInput(f"there is no folder {folder}")
    if sort is not None and sort not in COLUMNS:
        raise BadInput(f"--sort must be one of {', '.join(COLUMNS)}; got {sort}")
    wanted = [_filter(words) for words in filters or []]
    present = [listed(one) for one in run_folders(folder)]
    listed_runs = [one for one in present if archived or not one.labels.archived]
    for name, _ in wanted:
        if listed_runs and not any(_has(one, name) for one in listed_runs):
            raise BadInput(f"--filter {name}: no run has a setting or column of that name")
    shown = [one for one in listed_runs if all(_matches(one, *pair) for pair in wanted)]
    if sort is not None:
        shown.sort(key=lambda one: _order(getattr(one, sort)))
    hidden = len(present) - len(listed_runs)
    answer([*map(_row, shown)], lambda: _show(shown, len(listed_runs), folder, hidden), as_json)


def _row(one: Listed) -> dict[str, Any]:
    row = dataclasses.asdict(one)
    labels = row.pop("labels")
    del row["settings"]
    return row | labels


def _filter(words: str) -> tuple[str, str]:
    name, equals, value = words.partition("=")
    if not equals or not name:
        raise BadInput(f"--filter is name=value, such as cell=lstm; got {words:.60}")
    return name.strip(), value.strip()


def _has(one: Listed, name: str) -> bool:
    return name in (*COLUMNS, "tag") or name in one.settings


def _matches(one: Listed, name: str, value: str) -> bool:
    if name == "tag":
        return value in one.labels.tags
    if name in COLUMNS:
        own = getattr(one, name)
        if name == "state":
            return own is not None and own.partition(":")[0] == value
    elif name in one.settings:
        own = one.settings[name]
    else:
        return False
    return _words(own) == value or _is_number(own, value)


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return {None: "none", True: "true", False: "false"}.get(value, str(value))


def _is_number(own: Any, value: str) -> bool:
    """Whether two numbers are equal, however they are written: 0.001 and 1e-3."""
    try:
        return not isinstance(own, bool) and math.isclose(float(own), float(value))
    except (TypeError, ValueError):
        return False


def _order(value: Any) -> tuple[bool, Any]:
    """Unknown values come last."""
    return value is None, value if value is not None else 0


def _show(shown: list[Listed], count: int, folder: Path, hidden: int) -> None:
    console = Console(highlight=False)
    words = f"{hidden} archived, listed with --archived" if hidden else ""
    if not shown:
        nothing = f"no runs in {folder}" if not count else f"none of {count} runs matches"
        console.print(f"{nothing} ({words})" if words else nothing)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in COLUMNS:
        right = name in ("parameters", "steps", "best", "seconds")
        justify: Any = "right" if right else "left"
        table.add_column(name, justify=justify, overflow="fold", no_wrap=name in NEVER_BROKEN)
    for one in shown:
        best = "" if one.best is None else f"{one.best:.4g}"
        cells = [_named(one), one.task or "", one.cell or "", one.learner or ""]
        cells += ["" if one.parameters is None else f"{one.parameters:,}"]
        cells += ["" if one.steps is None else f"{one.steps:,}", best, one.state]
        cells += ["" if one.seconds is None else f"{one.seconds:.0f}"]
        table.add_row(*map(Text, cells))
    console.print(table)
    if words:
        console.print(words)


def _named(one: Listed) -> str:
    """The folder of a run, and under it its name and its tags."""
    words = [one.labels.title, *(f"#{tag}" for tag in one.labels.tags)]
    return "\n".join(filter(None, [one.run, " ".join(filter(None, words))]))
