"""A picture of a compiled program: which unit feeds which."""

import io
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput, NeedsExtra
from ..files import write_whole
from .compiler import ProgramNetwork

MAX_DRAWN = 200
LONGEST_NAME = 40  # characters


def write_network_picture(network: ProgramNetwork, path: Path) -> None:
    """Draw the recurrent weights of a program's network into a PNG file.

    Rows are the units that a weight comes from, columns those that it leads to. Lines separate
    variables, instructions and transition units.

    Example:
        >>> write_network_picture(compile_program(load_program("addition")), Path("addition.png"))
        >>> Path("addition.png").stat().st_size > 10_000
        True
    """
    if find_spec("matplotlib") is None:
        raise NeedsExtra("a picture", "matplotlib", "plot")
    if len(network.units) > MAX_DRAWN:
        raise BadInput(
            f"{network.program.name} has {len(network.units)} units; the names of more than "
            f"{MAX_DRAWN} cannot be read in a picture"
        )
    drawn = io.BytesIO()
    _figure(network).savefig(drawn, format="png")
    write_whole(path, drawn.getvalue())


def _figure(network: ProgramNetwork) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    R, count = np.asarray(network.cell.R), len(network.units)
    names = [_shortened(name) for name in network.units]
    title = f"{_shortened(network.program.name)}: {count} units, h ← relu(h R)"
    # Inches: the names, the cells, and at least the title.
    size = max(1.0 + 0.09 * max(map(len, names)) + 0.26 * count, 0.5 + 0.09 * len(title), 4.0)
    figure = Figure(figsize=(size, size), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.imshow(R, cmap="RdBu", vmin=-1.6, vmax=1.6)
    for source, target in np.argwhere(R):
        sign = "+" if R[source, target] > 0 else "−"
        axes.text(target, source, sign, ha="center", va="center", color="white", weight="bold")
    axes.set_xticks(range(count), names, rotation=90)
    axes.set_yticks(range(count), names)
    axes.tick_params(labelsize=9, top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.set_xticks(np.arange(count + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(count + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="0.9", linewidth=0.5)
    axes.tick_params(which="minor", length=0)
    variables, instructions = len(network.program.variables), len(network.program.instructions)
    for border in (variables, variables + instructions):
        axes.axhline(border - 0.5, color="0.4", linewidth=1)
        axes.axvline(border - 0.5, color="0.4", linewidth=1)
    axes.set(xlabel="to", ylabel="from")
    figure.suptitle(f"{title}\n+ is a weight of 1, − of -1", fontsize=10, x=0.02, ha="left")
    return figure


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
