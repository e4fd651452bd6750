"""Execute a program: in Python, by its network, and by both side by side."""

import dataclasses
from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.sparse import BCOO

from ..errors import BadInput
from ..through_time import unroll
from .compiler import ProgramNetwork
from .language import Program

CHUNK = 1024
SPARSE_ABOVE = 1000  # units; with fewer, compiling a sparse product costs more than it saves
HALTED, TRANSITION = -1, -2
FIRST, LAST = 20, 10  # states that a comparison keeps


class State(NamedTuple):
    """The state of a program between two instructions.

    Attributes:
        position: the index of the instruction to come; `None` after the program has halted.
        values: those of the variables, in the order of `Program.variables`.
    """

    position: int | None
    values: tuple[int, ...]


def interpret(program: Program, inputs: Mapping[str, int]) -> Iterator[State]:
    """The state before every instruction that is executed, and the state after the last one.

    A program that does not halt has no last state.

    Example:
        >>> program = parse("again: ifzero a goto done\\ndec a\\ninc b\\ngoto again\\ndone: halt")
        >>> *_, last = interpret(program, {"a": 2, "b": 3})
        >>> last
        State(position=None, values=(0, 5))
    """
    values = list(program.starting_values(inputs))
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


class Step(NamedTuple):
    """A state of the program, and the step of the network at which it is there."""

    step: int
    state: State


def network_trace(
    network: ProgramNetwork, inputs: Mapping[str, int], steps: int | None = None
) -> Iterator[Step]:
    """The states of a program, executed by its network.

    The network runs through `unroll` in chunks of 1,024 steps, so the states of a long program are
    never all in memory. The transition steps of a branch, at which no instruction's turn has come,
    are left out; so the states are those of `interpret`, one for one.

    Args:
        network: from `compile_program`.
        inputs: values of variables at the start.
        steps: the most steps of the network to run; by default until the program halts.

    Raises:
        BadInput: when a variable outgrows what the dtype counts exactly.

    Example:
        >>> program = parse("again: ifzero a goto done\\ndec a\\ninc b\\ngoto again\\ndone: halt")
        >>> *_, last = network_trace(compile_program(program), {"a": 2, "b": 3})
        >>> last
        Step(step=13, state=State(position=None, values=(0, 5)))
    """
    done = 0
    for states in _chunks(network, inputs, steps):
        values, positions = read_states(network, states)
        _check_exact(network, states, done)
        for row, position in enumerate(positions.tolist()):
            if position == TRANSITION:
                continue
            halted = position == HALTED
            yield Step(done + row, State(None if halted else position, tuple(values[row].tolist())))
            if halted:
                return
        done += len(states)


def read_states(network: ProgramNetwork, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variables and program position of states `(T, units)` of the network.

    Returns:
        The values `(T, variables)` as integers, and the index of the instruction to come `(T,)`:
        `HALTED` (-1) after the end, `TRANSITION` (-2) within a branch.
    """
    program = network.program
    first, last = len(program.variables), len(program.variables) + len(program.instructions)
    values = states[:, :first].astype(np.int64)
    turns, transitions = states[:, first:last], states[:, last:]
    elsewhere = np.where(transitions.any(axis=1), TRANSITION, HALTED)
    return values, np.where(turns.any(axis=1), turns.argmax(axis=1), elsewhere)


def _chunks(
    network: ProgramNetwork, inputs: Mapping[str, int], steps: int | None
) -> Iterator[np.ndarray]:
    """The states from the initial one on, `(T, units)` at a time."""
    state = network.initial(inputs)
    yield state[None]
    left, cell = steps, network.cell
    while left is None or left > 0:
        # "highest" because some devices round the operands of products.
        with jax.enable_x64(state.dtype == np.float64), jax.default_matmul_precision("highest"):
            if len(network.units) > SPARSE_ABOVE and cell is network.cell:
                cell = eqx.tree_at(lambda cell: cell.R, cell, _sparse(cell.R))
            xs = jnp.zeros((CHUNK, 1), state.dtype)
            ys, _ = unroll(cell, xs, jnp.asarray(state), backend="scan")
        states = np.asarray(ys)[:left]
        yield states
        state = states[-1]
        left = None if left is None else left - len(states)


def _sparse(R: jax.Array) -> BCOO:
    """The same matrix; a unit has few connections, so the product is linear in the units."""
    dense = np.asarray(R)
    places = np.nonzero(dense)
    return BCOO((jnp.asarray(dense[places]), jnp.asarray(np.stack(places, 1))), shape=R.shape)


def _check_exact(network: ProgramNetwork, states: np.ndarray, done: int) -> None:
    """Refuse an increment beyond the largest number that the dtype counts to."""
    program = network.program
    first = len(program.variables)
    full = states[:, :first] >= network.limit
    if not full.any():
        return
    for i, instruction in enumerate(program.instructions):
        if instruction.kind == "inc":
            place = program.variables.index(instruction.variable or "")
            beyond = np.flatnonzero(full[:, place] & (states[:, first + i] > 0))
            if len(beyond):
                dtype = network.cell.R.dtype
                advice = "; run it in float64 (--float64)" if dtype == np.float32 else ""
                raise BadInput(
                    f"{program.name}, line {instruction.line}: {instruction.variable} reaches "
                    f"{network.limit} at step {done + beyond[0]}, and {dtype} counts no further "
                    f"without gaps{advice}"
                )


class ComparedState(NamedTuple):
    """A state before an instruction, according to both.

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

    first: list[ComparedState]
    last: list[ComparedState]
    between: int
    steps: int
    halted: bool
    differs: ComparedState | None

    @property
    def values(self) -> tuple[int, ...]:
        """The values of the variables in the network's last state."""
        return (self.last or self.first)[-1].network.values


def compare(network: ProgramNetwork, inputs: Mapping[str, int], steps: int) -> Comparison:
    """Run a program for up to `steps` steps of its network, beside the interpreter.

    Example:
        >>> traces = compare(compile_program(load_program("gcd")), {"a": 12, "b": 18}, 1000)
        >>> traces.halted, traces.differs, traces.values
        (True, None, (0, 0, 0, 6))
    """
    first: list[ComparedState] = []
    last: deque[ComparedState] = deque(maxlen=LAST)
    count, differs, row = 0, None, None
    # The interpreter is never behind: a step of the network executes at most one instruction.
    for step, state in zip(
        network_trace(network, inputs, steps), interpret(network.program, inputs), strict=False
    ):
        row = ComparedState(step.step, state, step.state)
        if step.state != state and differs is None:
            differs = row
        (first if count < FIRST else last).append(row)
        count += 1
    assert row is not None  # the initial state is always there
    halted = row.network.position is None
    between = count - len(first) - len(last)
    return Comparison(first, list(last), between, row.step, halted, differs)
