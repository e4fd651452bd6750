"""Run a program twice, by the interpreter and by its network, and compare every state."""

import dataclasses
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from .compiler import ProgramNetwork
from .interpreter import State, interpret
from .trace import network_trace

FIRST, LAST = 20, 10


class Row(NamedTuple):
    """A state before an instruction.

    Attributes:
        step: the network's step.
        interpreted, network: the state according to each of them.
    """

    step: int
    interpreted: State
    network: State


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Two traces of a program, side by side.

    Attributes:
        first, last: the first 20 states and the last 10; all of them if there are fewer.
        between: how many states lie between the two.
        steps: how many steps the network made.
        halted: whether the program came to its end.
        differs: the first state in which the two differ; `None` if they agree.
    """

    first: list[Row]
    last: list[Row]
    between: int
    steps: int
    halted: bool
    differs: Row | None

    @property
    def values(self) -> tuple[int, ...]:
        """The values of the variables in the network's last state."""
        return (self.last or self.first)[-1].network.values


def compare(network: ProgramNetwork, inputs: Mapping[str, int], steps: int) -> Comparison:
    """Run a program for up to `steps` steps of its network, beside the interpreter.

    Example:
        >>> found = compare(compile_program(load_program("gcd")), {"a": 12, "b": 18}, 1000)
        >>> found.halted, found.differs, found.values
        (True, None, (0, 0, 0, 6))
    """
    first: list[Row] = []
    last: deque[Row] = deque(maxlen=LAST)
    count, differs, row = 0, None, None
    # The interpreter is never behind: a step of the network executes at most one instruction.
    for step, state in zip(
        network_trace(network, inputs, steps), interpret(network.program, inputs), strict=False
    ):
        row = Row(step.step, state, step.state)
        if step.state != state and differs is None:
            differs = row
        (first if count < FIRST else last).append(row)
        count += 1
    assert row is not None  # the initial state is always there
    halted = row.network.position is None
    between = count - len(first) - len(last)
    return Comparison(first, list(last), between, row.step, halted, differs)
