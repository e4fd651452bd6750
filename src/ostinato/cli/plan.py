"""`ostinato plan`: how long a step of a run would take on other devices."""

from pathlib import Path
from typing import Annotated

from rich.console import Console
from typer import Argument, Option

from ..errors import BadInput
from ..memory import shown
from ..runs import Config, open_run
from ..runs.plan import MACHINES, Planned
from ..runs.plan import plan as planned
from .arguments import Json, path
from .output import answer

BAR = 40  # characters of the longest time
LARGE = 1e30  # the largest constant: a time of a larger one may not be finite
# Constants by which the plan divides.
DIVIDING = {"flops", "bfloat16", "exact", "bandwidth", "link", "between", "node", "width"}
DIVIDING |= {"program", "program_bfloat16", "program_exact", "reading"}


def plan(
    run: Annotated[Path, Argument(help="a run folder, or a TOML file of settings", parser=path)],
    devices: Annotated[
        str | None,
        Option(
            help="numbers of devices, such as 1,2,8,64; by default powers of two that can share "
            "the batch"
        ),
    ] = None,
    machine: Annotated[str, Option(help=f"what a device is: {', '.join(MACHINES)}")] = "h200",
    grow: Annotated[
        bool, Option("--grow", help="each device has the batch of the run, not its share of it")
    ] = False,
    constant: Annotated[
        list[str] | None,
        Option(help="another constant of the machine, such as link=5e10 (bytes per second)"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say how long a step of a run would take on other devices, and whether it fits.

    The page on scaling explains the model and its constants, of which --constant replaces some.

    Examples:
        ostinato plan runs/text-lstm-1 --devices 1,8,64
        ostinato plan settings.toml --grow --constant link=1e11 --constant delay=1e-5
    """
    if machine not in MACHINES:
        raise BadInput(f"there is no machine {machine!r:.40}; there are {', '.join(MACHINES)}")
    config = Config.from_toml(run) if run.suffix == ".toml" else open_run(run).config
    known = MACHINES[machine]
    rows = [*planned(config, known._replace(**_constants(constant)), _counts(devices), grow)]
    document = [row._asdict() | {"seconds": row.seconds} for row in rows]
    console, lines = Console(highlight=False), picture(rows)
    answer(document, lambda: console.print("\n".join(lines), soft_wrap=True), as_json)


def picture(rows: list[Planned]) -> list[str]:
    """A line for each number of devices, with a bar: computing is full, the reduction is light."""
    longest = max(row.seconds for row in rows)
    lines = [f"{'devices':>8} {'batch':>8} {'ms':>9} {'per device':>10}  bound by"]
    for row in rows:
        full, light = (round(BAR * x / longest) for x in (row.computing, row.reduction))
        needs = shown(row.memory) + ("" if row.fits else ", too much")
        lines.append(
            f"{row.devices:>8,} {row.batch:>8,} {1e3 * row.seconds:>9.3f} {needs:>10}  "
            f"{row.bound:13}  {'█' * full}{'░' * light}"
        )
    return lines


def _counts(words: str | None) -> list[int] | None:
    if words is None:
        return None
    try:
        counts = [int(word) for word in words.split(",")]
    except ValueError:
        counts = []
    if not counts or min(counts) < 1 or max(counts) > 10**6:
        raise BadInput(
            f"--devices must be numbers from 1 to 1,000,000, such as 1,8,64; got {words}"
        )
    return counts


def _constants(given: list[str] | None) -> dict[str, float]:
    constants: dict[str, float] = {}
    for words in given or ():
        name, _, value = words.partition("=")
        if name not in MACHINES["h200"]._fields:
            known = ", ".join(MACHINES["h200"]._fields)
            raise BadInput(f"--constant {words:.60}: there is no such constant; there are {known}")
        try:
            constants[name] = float(value)
        except ValueError:
            raise BadInput(f"--constant {words:.60}: give a number, as in link=5e10") from None
        least = 1 / LARGE if name in DIVIDING else 0
        if not least <= constants[name] <= LARGE:
            raise BadInput(f"--constant {words:.60}: give a number from {least:g} to {LARGE:g}")
    return constants
