"""Hyötyniemi's compiler: from a program to the weights of a ReLU network that executes it.

A picture shows which of its units feeds which.
"""

import dataclasses
import io
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Simple
from ..errors import BadInput, NeedsExtra
from ..files import write_whole
from .language import Program

MAX_UNITS = 8192
EXACT = {"float32": 2**24, "float64": 2**53}
MAX_DRAWN = 200
LONGEST_NAME = 40  # characters
SOFTWARE = ("Software", "Ostinato")  # metadata of pictures, by which they are recognised


@dataclasses.dataclass(frozen=True)
class ProgramNetwork:
    """A program as a recurrent network.

    Attributes:
        program: what it executes.
        cell: a `Simple` cell of ReLU units, without inputs or biases; in float64 it must run within
            `jax.enable_x64`.
        units: the names of the units: first the variables, then the instructions as
            `line: instruction`, then the two transition units of each branch.
    """

    program: Program
    cell: Simple
    units: tuple[str, ...]

    @property
    def limit(self) -> int:
        """The largest number up to which the network counts exactly: 2²⁴ or 2⁵³."""
        return EXACT[self.cell.R.dtype.name]

    def initial(self, inputs: Mapping[str, int]) -> np.ndarray:
        """The initial state `(units,)`: the inputs, and a 1 at the first instruction."""
        values = self.program.starting_values(inputs)
        for name, value in zip(self.program.variables, values, strict=True):
            if value > self.limit:
                raise BadInput(
                    f"{name} = {value} is larger than {self.limit}, up to which "
                    f"{self.cell.R.dtype} holds every whole number"
                )
        state = np.zeros(len(self.units), self.cell.R.dtype)
        state[: len(values)] = values
        state[len(values)] = 1
        return state


def compile_program(program: Program, dtype: Any = "float32") -> ProgramNetwork:
    """The network `h_t = relu(h_{t-1} R)` that executes a program step by step.

    All weights are 1, -1 or 0. A unit V per variable holds its value, with weight 1 to itself. A
    unit N_i per instruction is 1 when it is that instruction's turn, and 0 otherwise:

        inc V             N_i → V: 1      N_i → N_{i+1}: 1
        dec V             N_i → V: -1     N_i → N_{i+1}: 1, and ReLU stops at 0
        goto k            N_i → N_k: 1
        halt              nothing: all these units are 0 from then on
        ifzero V goto k   two transition units, N'_i = relu(N_i) and N''_i = relu(N_i - V), which
                          is 1 only if V = 0; then N''_i → N_k: 1, and N'_i - N''_i → N_{i+1}

    An instruction takes one step, a branch two, because its transition units come in between. A
    program of v variables and n instructions, b of them branches, has v + n + 2b units: one per
    instruction and three per branch, where Galvan speaks of one or two.

    The numbers are exact up to 2²⁴ in float32 and 2⁵³ in float64.

    Source: Hyötyniemi (1996), Turing machines are recurrent neural networks; Galvan (2015),
    section 1.7.

    Args:
        program: from `parse`.
        dtype: `"float32"` or `"float64"`.

    Example:
        >>> program = parse("again: ifzero a goto done\\ndec a\\ninc b\\ngoto again\\ndone: halt")
        >>> network = compile_program(program)
        >>> network.units
        ('a', 'b', '1: ifzero a goto done', '2: dec a', '3: inc b', '4: goto again', '5: halt',
        "1': reached", "1'': a = 0")
        >>> ys, _ = ostinato.unroll(network.cell, jnp.zeros((15, 1)), network.initial({"a": 2}))
        >>> ys[-1, :2]
        Array([0., 2.], dtype=float32)
    """
    rows = [f"{x.line}: {x}" for x in program.instructions]
    branches = [i for i, x in enumerate(program.instructions) if x.kind == "ifzero"]
    names = [*program.variables, *rows]
    for i in branches:
        instruction = program.instructions[i]
        names += [
            f"{instruction.line}': reached",
            f"{instruction.line}'': {instruction.variable} = 0",
        ]
    if len(names) > MAX_UNITS:
        raise BadInput(
            f"{program.name} needs {len(names)} units; programs of up to {MAX_UNITS} are compiled"
        )
    variables = {name: place for place, name in enumerate(program.variables)}
    first, last = len(variables), len(variables) + len(program.instructions)
    transitions = {i: last + 2 * n for n, i in enumerate(branches)}
    R = np.zeros((len(names), len(names)), dtype)

    def activate(unit: int, target: int, weight: int = 1) -> None:
        if target < len(program.instructions):  # past the end there is no unit: the program halts
            R[unit, first + target] += weight

    for place in variables.values():
        R[place, place] = 1
    for i, instruction in enumerate(program.instructions):
        unit = first + i
        if instruction.kind in ("inc", "dec"):
            R[unit, variables[instruction.variable or ""]] = 1 if instruction.kind == "inc" else -1
            activate(unit, i + 1)
        elif instruction.kind == "goto":
            activate(unit, instruction.target or 0)
        elif instruction.kind == "ifzero":
            reached = transitions[i]
            zero = reached + 1
            R[unit, reached] = R[unit, zero] = 1
            R[variables[instruction.variable or ""], zero] = -1
            activate(zero, instruction.target or 0)
            activate(reached, i + 1)
            activate(zero, i + 1, -1)
    return ProgramNetwork(program, _cell(R), tuple(names))


def _cell(R: np.ndarray) -> Simple:
    """A ReLU cell with these recurrent weights; its one input is not connected."""
    cell = Simple(1, 1, key=jax.random.key(0), f="relu")
    with jax.enable_x64(R.dtype == np.float64):
        weights = jnp.zeros((1, len(R)), R.dtype), jnp.asarray(R), jnp.zeros(len(R), R.dtype)
    return eqx.tree_at(lambda cell: (cell.W, cell.R, cell.b), cell, weights)


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
    _figure(network).savefig(drawn, format="png", metadata=dict([SOFTWARE]))
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
