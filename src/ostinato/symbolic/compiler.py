"""Hyötyniemi's compiler: from a program to the weights of a ReLU network that executes it."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Simple
from ..errors import BadInput
from .language import Program

MAX_UNITS = 8192
EXACT = {"float32": 2**24, "float64": 2**53}


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
