"""Measures of a network that are made when they are asked for: `ostinato lens RUN --measure NAME`.

A measure is a function of a `Subject`. It gives plain numbers, and the same as tables and charts
for the terminal and the page. The equations are in `ostinato.lens`.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from ..cells import Layer
from ..errors import BadInput
from ..lens import (
    echo_state,
    fixed_points,
    lyapunov_exponent,
    memory_conditions,
    path_sum,
)
from ..lens.cells_in_turn import cells_in_turn
from ..lens.lstm_split import has_split
from ..lens.paths import strongest_entry
from ..names import plain_name
from ..progress import Report, each, silent
from ..runs.loop.divergence import finite_or_none
from ..tasks import TextTask
from ..through_time import unroll
from .charts import Lines, Plane, Series, numbers
from .page import Section, Table
from .subject import Subject

MAX_STATE = 1000  # numbers of a state up to which matrices of that size are computed
STARTS = 32  # of the search for fixed points
SHOWN = 5  # fixed points whose eigenvalues are drawn
MAX_PATHS, MAX_LAG, TOP = 100_000, 8, 10


class Measured(NamedTuple):
    """What was measured: numbers for JSON, and tables and charts for a person."""

    numbers: dict[str, Any]
    tables: list[Table]
    charts: tuple[Section, ...] = ()


def measure(subject: Subject, names: Sequence[str], report: Report = silent) -> dict[str, Measured]:
    """The named measures of a network; `report` hears which one is being made.

    Example:
        >>> from ostinato.report.subject import subject
        >>> about = subject(open_run("runs/text-mlstm-1"))
        >>> sorted(measure(about, ["lyapunov"])["lyapunov"].numbers)
        ['highest', 'lowest', 'mean', 'sequences', 'steps']
    """
    check_measures(names)
    with subject.run.precision():
        made = each([*dict.fromkeys(names)], report, "measuring", len(names))
        return {name: MEASURES[name](subject) for name in made}


def check_measures(names: Sequence[str]) -> None:
    """Refuse the name of a measure that there is not."""
    for name in names:
        if name not in MEASURES:
            raise BadInput(f"there is no measure {name!r:.40}; there are {', '.join(MEASURES)}")


def fixed(subject: Subject) -> Measured:
    """Fixed points for a constant input: zeros, or the most frequent symbol."""
    _check_state(subject, "fixed-points")
    inputs, x, words = subject.batch.inputs, None, "zeros"
    if subject.network.input_axes == 0:
        symbols, counts = np.unique(np.asarray(inputs), return_counts=True)
        x = symbols[np.argmax(counts)]
        text = subject.task.ability(TextTask)
        known = "" if text is None else f", {text.vocabulary.decode(np.array([x]))!r}"
        words = f"symbol {int(x)}{known}, the most frequent one"
    points = fixed_points(subject.network, x, starts=STARTS, key=jax.random.key(0))
    described = [
        {
            "norm": _norm(point.state),
            "residual": point.residual,
            "largest_eigenvalue": float(np.abs(point.eigenvalues[0])),
            "unstable_directions": int(np.sum(np.abs(point.eigenvalues) >= 1)),
            "stable": point.stable,
        }
        for point in points
    ]
    rows = [
        [
            str(number),
            "yes" if one["stable"] else "no",
            f"{one['largest_eigenvalue']:.4g}",
            str(one["unstable_directions"]),
            f"{one['norm']:.4g}",
            f"{one['residual']:.1e}",
        ]
        for number, one in enumerate(described, 1)
    ]
    columns = ["point", "stable", "largest |λ|", "directions with |λ| ≥ 1", "‖s‖", "residual"]
    caption = (
        f"States that a step with the input {words} does not change, from {STARTS} random starts. "
        "λ are the eigenvalues of the step's Jacobian there; a point is stable if all of them lie "
        "inside the unit circle (Delgado del Cerro, 2021, section 2.4)."
    )
    if not described:
        caption = f"No state that a step with the input {words} does not change was found, from "
        caption += f"{STARTS} random starts."
    table = Table("Fixed points", columns if rows else [], rows, caption)
    told = {"input": words, "starts": STARTS, "points": described}
    if not points:
        return Measured(told, [table])
    chart = Plane(
        name="fixed-points",
        title="Eigenvalues at the fixed points",
        caption="Those of the step's Jacobian. Directions inside the unit circle shrink, "
        f"those outside it grow. At most {SHOWN} points are drawn, the most stable first.",
        points={
            f"point {number}": [complex(z) for z in point.eigenvalues]
            for number, point in enumerate(points[:SHOWN], 1)
        },
    )
    return Measured(told, [table], (Section("Around the fixed points", [chart]),))


def lyapunov(subject: Subject) -> Measured:
    """The largest Lyapunov exponent along the inputs of each sequence."""
    xs, state = _whole(subject)
    key = jax.random.key(0)
    exponents = np.asarray(lyapunov_exponent(subject.network, xs, state, key=key), float).ravel()
    steps = len(jax.tree.leaves(xs)[0])
    values = {"mean": exponents.mean(), "lowest": exponents.min(), "highest": exponents.max()}
    row = [f"{value:.4g}" for value in values.values()] + [str(len(exponents)), str(steps)]
    caption = (
        f"The mean growth of a small change of the state per step, as a logarithm, on "
        f"{subject.measured}. Below zero nearby states converge, and the past is forgotten; above "
        "zero they diverge, which is chaos."
    )
    table = Table("Largest Lyapunov exponent", [*values, "sequences", "steps"], [row], caption)
    told = {name: finite_or_none(value) for name, value in values.items()}
    return Measured(told | {"sequences": len(exponents), "steps": steps}, [table])


def echo(subject: Subject) -> Measured:
    """Whether the state forgets its beginning."""
    _check_state(subject, "echo-state")
    xs, _ = _whole(subject)
    seen = echo_state(subject.network, xs, key=jax.random.key(0))
    distance = numbers(seen.distance)
    verdict = "yes" if seen.forgets else "no"
    last = float(seen.distance[-1])
    table = Table(
        "Echo state property",
        ["forgets its start", "distance at the end", "Lyapunov exponent", "mean spectral radius"],
        [[verdict, f"{last:.3g}", f"{seen.exponent:.4g}", f"{seen.radius:.4g}"]],
        "Whether runs from other initial states come to the run from the usual one, on "
        f"{subject.measured}. The distance is relative to that at the start; the radius is that of "
        "the step's Jacobian along the way.",
    )
    chart = Lines(
        name="echo-state",
        title="Runs from other initial states",
        caption="The largest distance of a run that started elsewhere, relative to its distance at "
        "the start. A network with the echo state property forgets where it started.",
        series=[Series("distance", list(range(1, len(distance) + 1)), distance)],
        x_title="step",
        y_title="distance",
        log_y=True,
    )
    results = {
        "forgets": seen.forgets,
        "exponent": finite_or_none(seen.exponent),
        "radius": finite_or_none(seen.radius),
        "distance": distance,
    }
    return Measured(results, [table], (Section("Echo state", [chart]),))


def paths(subject: Subject) -> Measured:
    """The paths of the strongest entry of `∂a_t/∂a_k`, for every simple cell."""
    results: dict[str, Any] = {}
    tables: list[Table] = []
    for name, cell, xs, state in _cells(subject):
        if not cell.is_simple:
            continue
        units, steps = len(cell.R), len(xs)  # type: ignore[attr-defined]
        lags = range(min(MAX_LAG, steps - 1), 0, -1)
        lag = next((lag for lag in lags if units ** (lag - 1) <= MAX_PATHS), 1)
        if steps < 2:
            raise BadInput(f"paths need two steps; the sequences have {steps}")
        to = steps - 1
        xs, state = xs[:, 0], None if state is None else state[0]
        i, j = strongest_entry(cell, xs, to - lag, to, state)  # type: ignore[arg-type]
        every = path_sum(cell, xs, i, j, to - lag, to, state, top=TOP)  # type: ignore[arg-type]
        results[name] = {
            "from_unit": j,
            "to_unit": i,
            "from_step": to - lag,
            "to_step": to,
            "derivative": every.total,
            "paths": every.number,
            "enabled": every.enabled_number,
            "strongest": [
                {"units": units.tolist(), "product": float(cost)}
                for units, cost in zip(every.units, every.costs, strict=True)
            ],
        }
        rows = [
            [" → ".join(map(str, units)), f"{cost:.4g}", f"{weight:.4g}"]
            for units, cost, weight in zip(every.units, every.costs, every.weights, strict=True)
        ]
        tables.append(
            Table(
                f"Paths through {name}",
                ["units", "product", "of the weights alone"],
                rows,
                f"∂a_t/∂a_k of unit {i} at step {to} by unit {j}, {lag} steps earlier, is "
                f"{every.total:.4g}, the largest entry of that Jacobian on the first sequence of "
                f"{subject.measured}. It is the sum over {every.number:,} paths, of which "
                f"{every.enabled_number:,} are enabled; the strongest are shown (Galvan, 2015, "
                "figures 1.11 and 1.12).",
            )
        )
    if not results:
        raise BadInput(f"paths are those of simple cells; this network has {_kinds(subject)}")
    return Measured(results, tables)


def conditions(subject: Subject) -> Measured:
    """The conditions of Delgado del Cerro (2021), section 4.4, for every LSTM."""
    results: dict[str, Any] = {}
    tables: list[Table] = []
    for name, cell, xs, state in _cells(subject):
        if not has_split(cell):
            continue
        held = memory_conditions(cell, xs, state)  # type: ignore[arg-type]
        results[name] = {key: {"holds": one.holds, **one.numbers} for key, one in held.items()}
        rows = [
            [
                key,
                "holds" if one.holds else "no",
                ", ".join(f"{what} {value:.3g}" for what, value in one.numbers.items()),
            ]
            for key, one in held.items()
        ]
        tables.append(
            Table(
                f"Conditions on the memory of {name}",
                ["condition", "", "measured"],
                rows,
                "Delgado del Cerro (2021), section 4.4: when ∂δc(t-1)/∂δc(t) = Q + diag(f) "
                "vanishes, when Q is small, and what is said to make it so; on "
                f"{subject.measured}.",
            )
        )
    if not results:
        raise BadInput(
            f"the conditions are those of the LSTM with or without peepholes; this network has "
            f"{_kinds(subject)}"
        )
    return Measured(results, tables)


MEASURES: dict[str, Callable[[Subject], Measured]] = {
    "fixed-points": fixed,
    "lyapunov": lyapunov,
    "echo-state": echo,
    "paths": paths,
    "conditions": conditions,
}


def _check_state(subject: Subject, name: str) -> None:
    """Refuse a network without a state, or with one for which Jacobians are too large."""
    network = subject.network
    if not network.can_step:
        raise BadInput(f"{name} needs a network with a step; this one reads whole sequences")
    size = sum(
        math.prod(x.shape) for x in jax.tree.leaves(eqx.filter_eval_shape(network.initial, ()))
    )
    if not 0 < size <= MAX_STATE:
        raise BadInput(f"{name} needs a state of 1 to {MAX_STATE} numbers; this one has {size}")


def _whole(subject: Subject) -> tuple[Any, Any]:
    """Inputs and state of the sequences without padding, up to where a packed one begins."""
    batch, state = subject.batch, subject.state
    if batch.lengths is not None:
        lengths = np.asarray(batch.lengths)
        longest = np.flatnonzero(lengths == lengths.max())
        batch = batch.take(longest)
        state = jax.tree.map(lambda x: x[longest], state)
    xs = batch.inputs
    if batch.resets is not None:
        begins = np.flatnonzero(np.asarray(batch.resets)[1:].any(axis=1))
        if len(begins):
            xs = jax.tree.map(lambda x: x[: begins[0] + 1], xs)
    return xs, state


def _cells(subject: Subject) -> Iterator[tuple[str, Layer, Any, Any]]:
    """Every cell of the network in words, with its inputs, as vectors, and its initial state."""
    xs, state = _whole(subject)
    xs, layer = subject.network.on_vectors(xs)
    seen: list[tuple[str, Layer, Any, Any]] = []

    def run(path: str, cell: Layer, xs: Any, state: Any, reverse: bool) -> tuple[Any, Any]:
        flipped = jax.tree.map(lambda x: x[::-1], xs) if reverse else xs
        seen.append((plain_name(path) or "the cell", cell, flipped, state))
        return unroll(cell, xs, state, reverse=reverse)

    cells_in_turn(layer, xs, state, run)
    return iter(seen)


def _kinds(subject: Subject) -> str:
    return ", ".join(dict.fromkeys(type(cell).__name__ for _, cell, _, _ in _cells(subject)))


def _norm(state: Any) -> float:
    return math.sqrt(sum(float(np.sum(np.abs(np.asarray(x)) ** 2)) for x in jax.tree.leaves(state)))
