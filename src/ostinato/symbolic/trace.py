"""Run a compiled program in the engine, and read its states back as variables and position."""

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
from .interpreter import State

CHUNK = 1024
SPARSE_ABOVE = 1000  # units; with fewer, compiling a sparse product costs more than it saves


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


HALTED, TRANSITION = -1, -2


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
            found, _ = unroll(cell, xs, jnp.asarray(state), backend="scan")
        states = np.asarray(found)[:left]
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
