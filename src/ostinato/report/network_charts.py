"""Charts of the trained network: its memory, gates, recurrent matrices and units."""

import re
import textwrap
from collections.abc import Iterable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Layer, Model
from ..data import Batch
from ..decoding.text import as_text
from ..lens import (
    hochreiter_bound,
    influence_by_lag,
    jacobian_by_lag,
    largest_singular_value,
    memory_length,
    recurrent_matrices,
    saturation,
    singular_value_bound,
    spectral_radius,
)
from ..lens.gradient_by_lag import joint_gradient
from ..lens.part_names import weight_name
from ..names import plain_name, state_name
from ..reservoir.sparse import BlockSparse
from ..runs.loop.probe import Lens
from ..tasks import PicturedTask
from ..tasks.confusion import confusion
from ..tasks.pictures import Picture, Plot
from ..through_time import unroll
from .charts import Bars, Chart, Heat, Lines, Plane, Series, Weights, numbers
from .page import Reading
from .subject import Subject
from .training_charts import LAG, weights_of

CHARACTERS = 1500  # of a text whose activations are shown
UNITS = 256  # that are shown
WAYS = {  # to see how far back a network looks
    "gradient": "the gradient of the loss by an earlier state",
    "Jacobian": "the Jacobian of a state by an earlier state, estimated with random probes",
    "perturbation": "how far the output moves when one earlier input is replaced",
}
CLASSES = 40  # that are shown of many
FADED = 0.01
TITLE = 80  # characters of an answer above its picture
HIGHEST = 10.0  # bounds above this are not drawn; they would stretch the axis


def gradient_now(subject: Subject) -> dict[str, np.ndarray]:
    """The gradient of the trained network by lag, at the state of each cell."""
    batch, at = subject.batch, subject.at
    errors = Lens(subject.task.loss).errors
    profiles = errors(subject.network, batch, subject.state, at)
    return {name: np.asarray(profile, float) for name, profile in profiles.items()}


def gradient_profiles(subject: Subject, gradient: dict[str, np.ndarray]) -> list[Chart]:
    """The gradient by lag as lines, for a run without `--lens`; no chart if there is none."""
    profiles = {name: numbers(profile) for name, profile in gradient.items()}
    series = [
        Series(state_name(name), list(range(len(profile))), profile)
        for name, profile in profiles.items()
        if any(value is not None for value in profile)
    ]
    if not series:
        return []
    chart = Lines(
        name="gradient",
        title="Gradient by lag",
        caption=(
            "The gradient of one step's loss with respect to the earlier states of each cell, by "
            f"lag, measured after training on {_on(subject)}. Train with --lens N to see how it "
            "changes during training."
        ),
        series=series,
        x_title=LAG,
        y_title=f"gradient{subject.in_nats}",
        log_y=True,
    )
    return [chart]


def three_ways(subject: Subject, gradient: dict[str, np.ndarray]) -> list[Chart]:
    """How far back the network looks, by gradient, by Jacobian and by perturbation.

    What cannot be measured is left out: a network without a state has neither of the first two, a
    single sequence nothing to replace its inputs by.
    """
    network, xs, at = subject.network, subject.batch.inputs, subject.at
    curves = {}
    if gradient:
        curves["gradient"] = (np.arange(at + 1), joint_gradient(gradient))
    if _has_state(network):
        probed = jacobian_by_lag(network, xs, subject.state, at=at, probes=1, key=jax.random.key(0))
        curves["Jacobian"] = (np.arange(at + 2), np.asarray(probed, float))
    if subject.batch.sequences > 1:
        lags, moved = influence_by_lag(network, xs, subject.state, at=at)
        curves["perturbation"] = (lags, np.asarray(moved, float))
    curves = {name: (lags, y) for name, (lags, y) in curves.items() if np.any(np.isfinite(y))}
    if not curves:
        return []
    series = [Series(name, lags.tolist(), _of_peak(y)) for name, (lags, y) in curves.items()]
    reaches = "; ".join(f"{name} {_reach(lags, y)}" for name, (lags, y) in curves.items())
    bounds, words = _bounds(subject)
    drawn = "; ".join(f"{name}, {WAYS[name]}" for name in curves)
    chart = Lines(
        name="three-ways",
        title="How far back the network looks",
        caption=(
            f"Relative to the peak, on {_on(subject)}: {drawn}. Fallen to 1% at lag: "
            f"{reaches}.{words}"
        ),
        series=series + bounds,
        x_title=LAG,
        y_title="relative to the peak",
        log_y=True,
        levels={"1% of the peak": FADED},
    )
    return [chart]


def _has_state(network: Model) -> bool:
    """Whether there is a single state to differentiate, with numbers in it."""
    return network.can_step and bool(
        jax.tree.leaves(eqx.filter_eval_shape(lambda cell: cell.initial(()), network))
    )


def gates(subject: Subject) -> list[Chart]:
    """How often gates and units saturate."""
    units = saturation(subject.network, subject.batch.inputs, subject.state)
    if not units:
        return []
    return [
        Bars(
            name="gates",
            title="Saturation of gates and units",
            caption=(
                f"Shares of all units and steps, on {_on(subject)}. Low is below 0.05 for a gate "
                "(closed), below -0.95 for tanh, and zero for a ReLU; high is above 0.95. "
                "Saturated units pass on little gradient."
            ),
            bars=_labels(units),
            parts={
                "low (closed)": [one.low for one in units.values()],
                "between": [max(0.0, 1 - one.low - one.high) for one in units.values()],
                "high (open)": [one.high for one in units.values()],
            },
        )
    ]


def spectrum(subject: Subject) -> list[Chart]:
    """The eigenvalues of the recurrent matrices, except those of reservoirs."""
    points, elsewhere = {}, tuple(reservoir_matrices(subject.network))
    for name, matrix in recurrent_matrices(subject.network).items():
        if name.startswith(elsewhere):
            continue
        radius, stretch = float(spectral_radius(matrix)), float(largest_singular_value(matrix))
        words = weight_name(name, subject.network)
        label = f"{words}: radius {radius:.3g}, σ {stretch:.3g}"
        points[label] = [complex(z) for z in np.linalg.eigvals(np.asarray(matrix, float))]
    if not points:
        return []
    return [
        Plane(
            name="spectrum",
            title="Eigenvalues of the recurrent matrices",
            caption=(
                f"Drawn {weights_of(subject.step)}. Directions with eigenvalues outside the unit "
                "circle grow from step to step by the "
                "matrix alone, those inside it shrink; activation functions and gates are not "
                "included. The radius is the largest absolute eigenvalue, σ the largest singular "
                "value."
            ),
            points=points,
        )
    ]


def reading(subject: Subject) -> Reading | None:
    """The beginning of the subject's text with its activations; `None` if the task is not text."""
    vocabulary = subject.run.vocabulary
    if subject.symbols is None or vocabulary is None:
        return None
    symbols = np.asarray(subject.symbols[:CHARACTERS], np.int32)
    every = activity(subject.network, symbols)
    values = every[:, :UNITS]
    pieces = list(as_text(symbols[:, None], vocabulary))[: len(symbols)]
    shown = "" if every.shape[1] == values.shape[1] else f", the first {UNITS} of {every.shape[1]}"
    caption = (
        f"The first {len(symbols):,} symbols of {subject.measured}. The colour is the activation h "
        f"of one unit after it has read the symbol{shown}: red is positive, blue is negative, "
        "scaled to this unit's largest value. The first unit shown is the slowest of the more "
        "variable half."
    )
    return Reading(pieces, values, slowest(values), caption)


def activity(network: Layer, xs: Any, state: Any = None) -> np.ndarray:
    """The activation h of every unit that the readout reads: `(T, *batch, units)`.

    Example:
        >>> activity(network, xs).shape
        (10, 4, 8)
    """
    return np.asarray(unroll(network.parts().cell, *inputs_of_cell(network, xs, state))[0], float)


def inputs_of_cell(network: Layer, xs: Any, state: Any = None) -> tuple[jax.Array, Any]:
    """What the cell of a network reads, `(T, *batch, inputs)`, and its initial state."""
    inputs = jnp.asarray(xs)
    batch, state = network.to_cell(Batch(inputs, None, jnp.ones(inputs.shape[:2])), state)
    return batch.inputs, state


def slowest(values: np.ndarray) -> int:
    """The unit that changes most slowly for its variance, among the more variable half.

    Args:
        values: `(T, units)`.
    """
    deviation = values.std(axis=0)
    steps = np.sqrt(np.mean(np.diff(values, axis=0) ** 2, axis=0))
    slow = np.where(steps > 0, deviation / np.where(steps > 0, steps, 1), 0)
    return int(np.argmax(np.where(deviation >= np.median(deviation), slow, -1)))


def units_over_time(subject: Subject) -> Chart:
    """The activation of all units over one sequence, for tasks other than text."""
    values = activity(subject.network, subject.batch.inputs, subject.state)[:, 0, :UNITS]
    return Heat.of(
        values.T,
        name="units",
        title="Activations over one sequence",
        caption=(
            f"The activation h of each unit at every step of one sequence of {subject.measured}. A "
            "row of constant colour is a unit that holds its value; a column that stands out is an "
            "input to which all units respond."
        ),
        x_title="step of the sequence",
        y_title="unit",
        z_title="activation h",
    )


def looks(subject: Subject) -> list[Chart]:
    """Where the network looks in some examples, or what it draws, if it can say so."""
    task = subject.task.ability(PicturedTask)
    if task is None:
        return []
    measured = f" Drawn {weights_of(subject.step)}."
    plots = [_plotted(plot, measured) for plot in task.plots(subject.whole)]
    pictures = enumerate(task.pictures(subject.whole), 1)
    return plots + [weights(picture, f"looks-{n}", measured) for n, picture in pictures]


def _plotted(plot: Plot, measured: str) -> Chart:
    """Lines of a task as a chart."""
    series = [Series(name, plot.x, numbers(values)) for name, values in plot.lines.items()]
    return Lines(
        name=plot.name,
        title=plot.title,
        caption=f"{plot.title}.{measured}",
        series=series,
        x_title=plot.x_title,
        y_title=plot.y_title,
    )


def confusions(subject: Subject) -> list[Chart]:
    """Which class is taken for which in the validation part, if the task has classes."""
    counted = confusion(subject.whole, subject.task, "valid")
    if counted is None or not counted.counts.any():
        return []
    # Of many classes, those with the most errors.
    errors = counted.counts.sum(1) + counted.counts.sum(0) - 2 * np.diag(counted.counts)
    some = np.sort(np.argsort(-errors, kind="stable")[:CLASSES])
    shares = counted.counts / np.maximum(counted.counts.sum(1, keepdims=True), 1)
    names = [counted.classes[n] for n in some]
    worst = ", ".join(f"{a} for {b} ({n:,})" for b, a, n in counted.largest(3))
    few = f"The {CLASSES} of {len(counted.classes)} classes with the most errors. "
    return [
        Weights(
            name="confusion",
            title="Confusion matrix",
            caption=(
                f"{few if len(counted.classes) > CLASSES else ''}Each row is a class that is right "
                "in the validation part, each column what the network says; a row adds up to 1, "
                "and what is right lies on the diagonal. "
                + f"Of {counted.counts.sum():,} answers {errors.sum() // 2:,} are wrong"
                + (f"; most often it says {worst}." if worst else ".")
            ),
            columns=names,
            rows=names,
            values=shares[np.ix_(some, some)].tolist(),
            x_title="said",
            y_title="right",
        )
    ]


def weights(picture: Picture, name: str, measured: str = "") -> Chart:
    """A picture of a task as a chart; `measured` ends its caption."""
    drawn = "The frames that the network reads, those that are right, and those that it draws."
    looked = (
        "Each row is a symbol that the network wrote, from top to bottom; the darker a column, "
        "the more it looked at that symbol of the source. A row adds up to 1."
    )
    title = textwrap.shorten(picture.title, TITLE, placeholder=" …")
    return Weights(
        name=name,
        title=title if picture.pixels else f"Attention: {title}",
        caption=(drawn if picture.pixels else looked) + measured,
        columns=picture.columns,
        rows=picture.rows,
        values=picture.values,
        pixels=picture.pixels,
    )


def _bounds(subject: Subject) -> tuple[list[Series], str]:
    """Published bounds on the Jacobian, up to `HIGHEST`, and a sentence about them."""
    cell = subject.network.parts().cell
    if not cell.is_simple:
        return [], ""
    lags = np.arange(subject.at + 1)
    both = {"Hochreiter's bound": hochreiter_bound, "singular value bound": singular_value_bound}
    drawn, words = [], []
    for name, bound in both.items():
        values, factor = np.asarray(bound(cell, lags), float), float(bound(cell, 1))
        shown = lags[values <= HIGHEST]
        if len(shown) > 1:
            drawn.append(Series(name, shown.tolist(), numbers(values[shown]), dashed=True))
        left_out = "" if len(shown) > 1 else " and is too high to be drawn"
        words.append(f"{name} changes by a factor of {factor:.3g} per step{left_out}")
    return drawn, (
        f" Bounds on gradient and Jacobian, for any input: {'; '.join(words)}. A factor above 1 "
        "guarantees nothing."
    )


def _labels(names: Iterable[str]) -> list[str]:
    """Readable names; "tanh 1" loses its number if there is no "tanh 2"."""
    labels = [plain_name(name) for name in names]
    return [
        name.removesuffix(" 1")
        if re.search(r"(tanh|sigmoid|relu) 1$", name) and f"{name[:-1]}2" not in labels
        else name
        for name in labels
    ]


def _on(subject: Subject) -> str:
    count = subject.batch.weights.shape[1]
    return f"{count} sequence{'s' if count > 1 else ''} of {subject.measured}"


def _of_peak(values: np.ndarray) -> list[float | None]:
    peak = np.max(values[np.isfinite(values)], initial=0.0)
    return numbers(values / (peak or 1.0))


def _reach(lags: np.ndarray, values: np.ndarray) -> str:
    """The memory length in words; at the last lag it is a lower bound."""
    length = memory_length(values, lags, FADED)
    if length is None:
        return "not measured (it is not finite)"
    return f"{length} or more" if length == lags[-1] else str(length)


def reservoir_matrices(network: Model) -> dict[str, BlockSparse]:
    """The sparse recurrent matrices of a network by their paths, lowest layer first.

    Example:
        >>> deep = Stack.of(Reservoir, 3, [50, 50], key=key)
        >>> list(reservoir_matrices(deep))
        ['.layers[0].R', '.layers[1].R']
    """
    leaves = jax.tree_util.tree_leaves_with_path(
        network, is_leaf=lambda part: isinstance(part, BlockSparse)
    )
    return {
        jax.tree_util.keystr(path): leaf for path, leaf in leaves if isinstance(leaf, BlockSparse)
    }
