"""`ostinato export`: a trained network as code that runs elsewhere."""

from pathlib import Path
from typing import Annotated

from typer import Option

from ..export.run_export import TARGETS, export_run
from ..runs import open_run
from .arguments import Json, RunFolder, path
from .output import answer


def export(
    run: RunFolder,
    to: Annotated[
        str, Option(help="; ".join(f"{name}: {target.help}" for name, target in TARGETS.items()))
    ],
    out: Annotated[
        Path | None,
        Option(help="where to write, without a suffix", show_default="the run's name", parser=path),
    ] = None,
    bits: Annotated[int, Option(help="of a weight: 32, or in C also 8")] = 32,
    licence: Annotated[
        str | None, Option(help="of the weights, for the card of a folder: 'CC BY 4.0'")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a trained network as code that needs nothing of Ostinato, or as a folder to give away.

    The data of the run are not needed, and nothing that exists is overwritten.

    Examples:
        ostinato export runs/text-mlstm-1 --to html --out writer
        ostinato export runs/series-lstm-1 --to c --out sales && cc -O2 sales.c -o sales -lm
    """
    written = export_run(open_run(run), to, out, bits=bits, licence=licence)
    result = {"run": str(run), "to": to, "files": [str(file) for file in written]}
    answer(result, lambda: print("\n".join(f"saved in {file}" for file in written)), as_json)
