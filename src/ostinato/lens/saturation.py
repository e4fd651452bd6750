"""The gates of a network over time, and how saturated they are: open or shut for good, or dead."""

import math
from itertools import accumulate
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Layer
from ..errors import BadInput
from ..through_time.check import check_structure, sizes
from ..through_time.lengths_and_resets import Borders, find_borders, without_padding
from .cells_in_turn import Instrumented, open_cells
from .part_names import plain_name

# Up to where an activation is low, and from where it is high.
LIMITS = {"sigmoid": (0.05, 0.95), "tanh": (-0.95, 0.95), "relu": (0.0, np.inf)}


class Squashing(NamedTuple):
    """One squashing function of a step, over all times and sequences of a batch.

    High is above 0.95 (a ReLU is never high). Low is below 0.05 for σ, below -0.95 for tanh, and
    zero for a ReLU. What is high or low passes on little or no error.

    Attributes:
        kind: `"sigmoid"`, `"tanh"` or `"relu"`.
        mean: the mean activation.
        high, low: shares of the activations that are high, and low.
        always_high, always_low: shares of the units that are so at all times in all sequences: a
            gate open or shut for good, a dead ReLU.
        always: share of the units that are always high or low, now one and now the other included.
        unit_mean, unit_high, unit_low: `mean`, `high` and `low` of each unit, `(units,)`.
    """

    kind: str
    mean: float
    high: float
    low: float
    always_high: float
    always_low: float
    always: float
    unit_mean: np.ndarray
    unit_high: np.ndarray
    unit_low: np.ndarray


def saturation(
    cell: Layer, xs: Any, state: Any = None, *, lengths: Any = None, resets: Any = None
) -> dict[str, Squashing]:
    """How often the units of every tanh, σ and ReLU within a step are at an end of their range.

    The step is traced and every such function found in it, whatever the cell and the wiring. One
    that the step cuts into blocks, as an LSTM does with its gates, is told apart by those cuts, and
    a block that nothing reads is left out. Not seen is what is hidden in a loop within the step.
    It costs one forward pass, and no memory for the steps.

    Args:
        cell: a cell, a network, or a layer for `unroll`.
        xs: the inputs, time first: `(T, *batch, inputs)`, or symbols `(T, *batch)`.
        state: the state before the first step.
        lengths, resets: as for `unroll`; padding is not counted.

    Returns:
        A `Squashing` by name. The name begins with the path of the cell whose parameters are
        squashed, and goes on with what the cell calls it, `.cell.forget gate`, or else with the
        function and a number, `.layers[0] tanh 0`.

    Example:
        >>> lstm = ostinato.cells.LSTM(3, 16, key=jax.random.key(0))
        >>> found = saturation(lstm, jnp.ones((20, 8, 3)))
        >>> found[".forget gate"].always_high  # the share of units that never forget
        0.0
    """
    steps, batch = sizes(cell, xs)
    xs, borders = _checked(cell, xs, state, lengths, resets)
    count = steps * math.prod(batch) if borders.valid is None else int(jnp.sum(borders.valid))
    if count == 0:
        raise BadInput(f"saturation needs a step and a sequence, got T = {steps}, batch {batch}")
    summaries = {}
    for squashed, tally in _measure(cell, xs, state, borders):
        for name, kind, start, stop in squashed:
            total, high, low = (np.asarray(x)[start:stop] for x in tally)
            summaries[name] = _summary(kind, total, high, low, count)
    return summaries


def dead_units(
    cell: Layer, xs: Any, state: Any = None, *, lengths: Any = None, resets: Any = None
) -> dict[str, np.ndarray]:
    """The ReLUs that are zero at all times in all sequences: no error ever reaches their weights.

    Args: those of `saturation`.

    Returns:
        For every ReLU of the step, by its name in `saturation`, the numbers of its dead units.

    Example:
        >>> cell = ostinato.cells.Simple(3, 4, key=jax.random.key(0), f="relu")
        >>> cell = eqx.tree_at(lambda c: c.b, cell, jnp.array([0.0, -99.0, 0.0, 99.0]))
        >>> 1 in dead_units(cell, jnp.ones((20, 8, 3)))["relu 0"]
        True
    """
    summaries = saturation(cell, xs, state, lengths=lengths, resets=resets)
    return {n: np.flatnonzero(s.unit_low == 1) for n, s in summaries.items() if s.kind == "relu"}


def _summary(
    kind: str, total: np.ndarray, high: np.ndarray, low: np.ndarray, count: int
) -> Squashing:
    """From each unit's sum of activations, and how often of `count` times it is high and low."""
    return Squashing(
        kind=kind,
        mean=float(np.mean(total / count)),
        high=float(np.mean(high / count)),
        low=float(np.mean(low / count)),
        always_high=float(np.mean(high == count)),
        always_low=float(np.mean(low == count)),
        always=float(np.mean(high + low == count)),
        unit_mean=total / count,
        unit_high=high / count,
        unit_low=low / count,
    )


@eqx.filter_jit
def _measure(cell: Layer, xs: Any, state: Any, borders: Borders) -> list[tuple[list, tuple]]:
    """Of a cell, or of each of the cells of a layer: what is squashed, a list of name, kind, and
    where its units are; and for the units of all that the sum of activations, and how often each
    is high and low.
    """
    measured: list[tuple[list, tuple]] = []

    def count(opened: Instrumented) -> tuple[Any, Any]:
        ys, state, tally = _tallied(opened)
        ends = [*accumulate(opened.units, initial=0)]
        measured.append(([*zip(opened.names, opened.kinds, ends, ends[1:], strict=False)], tally))
        return ys, state

    open_cells(cell, xs, state, borders, count)
    return measured


def _tallied(opened: Instrumented) -> tuple[Any, Any, tuple]:
    limits = np.array([LIMITS[kind] for kind in opened.kinds]).reshape(-1, 2)
    low, high = np.repeat(limits, opened.units, 0).T

    def body(carry: Any, x: Any) -> tuple[Any, Any]:
        state, tally = carry
        new, y, a = opened.step(state, x)
        more = (a, a > high.astype(a.dtype), a <= low.astype(a.dtype))
        if x[1] is not None:
            more = without_padding(more, x[1].reshape(-1))
        tally = tuple(total + each.sum(0) for total, each in zip(tally, more, strict=True))
        return (new, tally), y

    units = sum(opened.units)
    start = tuple(jnp.zeros(units, dtype) for dtype in (jnp.result_type(float), int, int))
    (state, tally), ys = jax.lax.scan(
        body, (opened.state, start), opened.received, reverse=opened.reverse
    )
    return ys, state, tally


def gates_over_time(
    cell: Layer, xs: Any, state: Any = None, *, lengths: Any = None, resets: Any = None
) -> tuple[dict[str, jax.Array], Any]:
    """The values of every tanh, σ and ReLU within a step, at each step; see `saturation`.

    Args:
        cell: a cell, a network, or a layer for `unroll`.
        xs: the inputs, time first.
        state: the state before the first step.
        lengths, resets: as for `unroll`.

    Returns:
        Arrays `(T, *batch, units)` by the names that `ostinato lens` shows, and the final state.

    Example:
        >>> found, _ = gates_over_time(ostinato.cells.LSTM(3, 16, key=key), jnp.ones((20, 8, 3)))
        >>> sorted(found)
        ['block input', 'forget gate', 'input gate', 'memory', 'output gate']
        >>> found["forget gate"].shape
        (20, 8, 16)
    """
    steps, batch = sizes(cell, xs)
    xs, borders = _checked(cell, xs, state, lengths, resets)
    gates, final = _recorded(cell, xs, state, borders)
    return {plain_name(path): x.reshape(steps, *batch, -1) for path, x in gates.items()}, final


def _checked(cell: Layer, xs: Any, state: Any, lengths: Any, resets: Any) -> tuple[Any, Borders]:
    """The inputs, and where their sequences begin and end; refuses what does not fit the cell."""
    steps, batch = sizes(cell, xs)
    xs, borders = find_borders(jax.tree.map(jnp.asarray, xs), lengths, resets, steps, batch)
    cell.check_inputs(xs)
    if state is not None and not cell.can_step:
        check_structure(cell, state, batch)
    return xs, borders


@eqx.filter_jit
def _recorded(cell: Layer, xs: Any, state: Any, borders: Borders) -> tuple[dict[str, Any], Any]:
    """What is squashed, `(T, sequences, units)` by path, and the final state."""
    recorded: dict[str, Any] = {}

    def record(opened: Instrumented) -> tuple[Any, Any]:
        def body(state: Any, x: Any) -> tuple[Any, Any]:
            new, y, squashed = opened.step(state, x)
            return new, (y, squashed)

        state, (ys, squashed) = jax.lax.scan(
            body, opened.state, opened.received, reverse=opened.reverse
        )
        cuts = [*accumulate(opened.units)][:-1]
        recorded.update(zip(opened.names, jnp.split(squashed, cuts, axis=-1), strict=False))
        return ys, state

    _, final = open_cells(cell, xs, state, borders, record)
    return recorded, final
