"""Run a program in Python, one instruction after the other."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..errors import BadInput
from .language import Program


class State(NamedTuple):
    """The state of a program between two instructions.

    Attributes:
        position: the index of the instruction to come; `None` after the program has halted.
        values: those of the variables, in the order of `Program.variables`.
    """

    position: int | None
    values: tuple[int, ...]


def starting_values(program: Program, inputs: Mapping[str, int]) -> tuple[int, ...]:
    """The values of all variables at the start; those that are not given are 0."""
    for name, value in inputs.items():
        if name not in program.variables:
            known = ", ".join(program.variables) or "none"
            raise BadInput(f"{program.name} has no variable {name}; its variables are {known}")
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise BadInput(f"an input is a whole number from 0 on, got {name} = {value!r:.40}")
    return tuple(inputs.get(name, 0) for name in program.variables)


def interpret(program: Program, inputs: Mapping[str, int]) -> Iterator[State]:
    """The state before every instruction that is executed, and the state after the last one.

    A program that does not halt has no last state.

    Example:
        >>> program = parse("again: ifzero a goto done\\ndec a\\ninc b\\ngoto again\\ndone: halt")
        >>> *_, last = interpret(program, {"a": 2, "b": 3})
        >>> last
        State(position=None, values=(0, 5))
    """
    values = list(starting_values(program, inputs))
    place = {name: index for index, name in enumerate(program.variables)}
    position = 0
    while position < len(program.instructions):
        yield State(position, tuple(values))
        now = program.instructions[position]
        position += 1
        if now.kind == "halt":
            break
        if now.kind == "inc":
            values[place[now.variable]] += 1  # type: ignore[index]
        elif now.kind == "dec":
            values[place[now.variable]] = max(values[place[now.variable]] - 1, 0)  # type: ignore[index]
        elif now.kind == "goto" or values[place[now.variable]] == 0:  # type: ignore[index]
            position = now.target  # type: ignore[assignment]
    yield State(None, tuple(values))
