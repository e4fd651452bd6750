"""Charts of special networks: the heads of a Turing machine, the spectrum of a reservoir."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Model
from ..lens import largest_singular_value
from ..reservoir.sparse import BlockSparse
from ..through_time import unroll
from ..wiring import NeuralTuringMachine
from .charts import Chart, Heat, Plane
from .network_charts import inputs_of_cell, reservoir_matrices
from .subject import Subject

STEP, ROW = "step of the sequence", "row of the memory"
DENSE_UP_TO = 1000  # units up to which all eigenvalues of a reservoir are computed


def heads_and_memory(subject: Subject) -> list[Chart]:
    """Where each head is at every step of one sequence, and what is in the memory then."""
    machine = _machine(subject.network)
    if machine is None:
        return []
    weightings, memory = over_time(machine, _inputs(subject))
    at = {"x_title": STEP, "y_title": ROW}
    charts: list[Chart] = [
        Heat.of(
            weightings[:, head].T,
            name=f"{kind}-head-{n}",
            title=f"{kind.capitalize()} head {n}",
            caption=f"The weighting of {kind} head {n} over the rows of the memory, at every step "
            f"of one sequence of {subject.measured}. A single coloured row in a column is a head "
            "with a sharp focus; a diagonal is a head that moves on by a row per step.",
            z_title="weight",
            **at,
        )
        for head, (kind, n) in enumerate(_names(machine.heads))
    ]
    lengths = Heat.of(
        np.sqrt(np.sum(memory**2, axis=-1)).T,
        name="memory-over-time",
        title="Memory over time",
        caption="How much each row of the memory holds after every step of the same sequence: the "
        "length of its vector. A row changes colour when a head writes to it.",
        z_title="length of the row",
        **at,
    )
    final = Heat.of(
        memory[-1],
        name="memory-at-the-end",
        title="Memory after the sequence",
        caption="The numbers in the memory after the last step of the same sequence.",
        x_title="column of the memory",
        y_title=ROW,
        z_title="value",
    )
    return [*charts, lengths, final]


def over_time(machine: NeuralTuringMachine, xs: Any) -> tuple[np.ndarray, np.ndarray]:
    """The weightings `(T, 2 H, N)` and the memory `(T, N, M)` after each step of one sequence.

    Args:
        machine: the machine.
        xs: its inputs, `(T, inputs)`.

    Example:
        >>> machine = NeuralTuringMachine.of(LSTM, 3, 4, rows=8, columns=5, key=key)
        >>> weightings, memory = over_time(machine, xs[:, 0])
        >>> weightings.shape, memory.shape
        ((10, 2, 8), (10, 8, 5))
    """
    (_, states), _ = unroll(machine, jnp.asarray(xs)[:, None], watch="states")
    memory, weightings, _ = states[-3:]  # the last fields of the state
    shape = machine.rows, machine.columns
    return (
        np.asarray(weightings, float).reshape(len(xs), -1, machine.rows),
        np.asarray(memory, float).reshape(len(xs), *shape),
    )


def _machine(network: Model) -> NeuralTuringMachine | None:
    """The machine that reads the inputs of a network, if there is one."""

    def is_machine(part: Any) -> bool:
        return isinstance(part, NeuralTuringMachine)

    parts = jax.tree.leaves(network.parts().cell, is_leaf=is_machine)
    return next((part for part in parts if is_machine(part)), None)


def _inputs(subject: Subject) -> Any:
    """The inputs of the first sequence, without padding."""
    batch, network = subject.batch, subject.network
    steps = batch.steps if batch.lengths is None else int(batch.lengths[0])
    return inputs_of_cell(network, jnp.asarray(batch.inputs)[:steps, :1])[0][:, 0]


def _names(heads: int) -> Sequence[tuple[str, int]]:
    return [(kind, n) for kind in ("read", "write") for n in range(1, heads + 1)]


def reservoir_spectra(subject: Subject) -> list[Chart]:
    """The eigenvalues of the recurrent matrix of each reservoir, one chart per layer."""
    matrices = reservoir_matrices(subject.network)
    return [
        _reservoir_spectrum(n if len(matrices) > 1 else None, matrix)
        for n, matrix in enumerate(matrices.values(), 1)
    ]


def _reservoir_spectrum(layer: int | None, matrix: BlockSparse) -> Chart:
    whole, units = np.asarray(matrix.dense(), float), matrix.units
    if units <= DENSE_UP_TO:
        points = np.linalg.eigvals(whole)
        shown = f"All {units:,} eigenvalues of the recurrent matrix R of the reservoir."
    else:
        points = matrix.outermost()
        shown = (
            f"The {len(points)} eigenvalues of largest absolute value of the recurrent matrix R of "
            f"the reservoir. The others are left out: R has {units:,} units, and all eigenvalues "
            f"are computed for up to {DENSE_UP_TO:,}."
        )
    radius, stretch = np.abs(points).max(), float(largest_singular_value(whole))
    return Plane(
        name=f"reservoir-spectrum-{layer}" if layer else "reservoir-spectrum",
        title=f"Eigenvalues of the reservoir{f', layer {layer}' if layer else ''}",
        caption=(
            f"{shown} The spectral radius is their largest absolute value, {radius:.3g}; the "
            f"largest singular value σ is {stretch:.3g}. Directions with eigenvalues outside the "
            "unit circle grow from step to step by the matrix alone, those inside it shrink; "
            "neither the activation function nor the leak is included."
        ),
        points={f"radius {radius:.3g}, σ {stretch:.3g}": [complex(z) for z in points]},
    )
