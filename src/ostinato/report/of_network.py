"""Charts of what a network is now: what it remembers, its gates, its matrices, its units."""

import re
from collections.abc import Iterable

import jax
import numpy as np

from ..cells import Simple
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
from ..lens.names import plain_name, weight_name
from ..runs.looking import Lens
from .activity import UNITS, activity
from .charts import Bars, Chart, Heat, Lines, Plane, Series, numbers
from .of_log import LAG, words_for
from .subject import Subject

FADED = 0.01
HIGHEST = 10.0  # up to which a bound is drawn, for the sake of the axis


def gradient_now(subject: Subject) -> dict[str, np.ndarray]:
    """The gradient of the last network by lag, for each recurrent weight."""
    batch, at = subject.batch, subject.at
    errors = Lens(subject.task.loss).errors
    found = errors(subject.network, batch, None, at)
    return {name: np.asarray(profile, float) for name, profile in found.items()}


def gradient_profiles(subject: Subject, gradient: dict[str, np.ndarray]) -> Chart:
    """The gradient by lag as lines, for a run that did not look while it learned."""
    return Lines(
        name="gradient",
        title="Gradient by lag",
        caption=(
            "The error that the loss of one step sends back to the pre-activations of each "
            f"recurrent weight, by how many steps it has come, measured now on {_on(subject)}. "
            "A run with --lens N shows here how it changed while the network learned."
        ),
        series=[
            Series(words_for(subject, name), list(range(len(profile))), numbers(profile))
            for name, profile in gradient.items()
        ],
        x_title=LAG,
        y_title=f"gradient{subject.in_nats}",
        log_y=True,
    )


def three_ways(subject: Subject, gradient: dict[str, np.ndarray]) -> Chart:
    """How far the last network looks back, by its gradient, its Jacobian and by trying."""
    network, xs, at = subject.network, subject.batch.inputs, subject.at
    whole = np.sqrt(sum((profile**2 for profile in gradient.values()), np.zeros(at + 1)))
    probed = jacobian_by_lag(network, xs, at=at, probes=1, key=jax.random.key(0))
    curves = {
        "gradient": (np.arange(at + 1), whole),
        "Jacobian": (np.arange(at + 2), np.asarray(probed, float)),
    }
    if subject.batch.sequences > 1:
        lags, moved = influence_by_lag(network, xs, at=at)
        curves["perturbation"] = (lags, np.asarray(moved, float))
    series = [Series(name, lags.tolist(), _of_peak(y)) for name, (lags, y) in curves.items()]
    reaches = "; ".join(f"{name} {_reach(lags, y)}" for name, (lags, y) in curves.items())
    bounds, words = _bounds(subject)
    return Lines(
        name="three-ways",
        title="How far back the network looks, three ways",
        caption=(
            f"Shares of each curve's peak, on {_on(subject)}: the error that comes back (gradient),"
            " how a state depends on an earlier one (Jacobian, by random probes), and how far the "
            "output really moves when one earlier input is another (perturbation). "
            f"Faded to a hundredth at lag: {reaches}.{words}"
        ),
        series=series + bounds,
        x_title=LAG,
        y_title="share of the peak",
        log_y=True,
        levels={"faded": FADED},
    )


def gates(subject: Subject) -> list[Chart]:
    """How often gates and units are at an end of their range."""
    found = saturation(subject.network, subject.batch.inputs)
    if not found:
        return []
    return [
        Bars(
            name="gates",
            title="Gates and units at the ends of their range",
            caption=(
                f"Shares of all units and steps, on {_on(subject)}. Low is below 0.05 for a gate, "
                "which is shut, below -0.95 for tanh, and zero for a ReLU; high is above 0.95. "
                "What is low or high passes on little error."
            ),
            bars=_labels(found),
            parts={
                "low (shut)": [one.low for one in found.values()],
                "between": [max(0.0, 1 - one.low - one.high) for one in found.values()],
                "high (open)": [one.high for one in found.values()],
            },
        )
    ]


def spectrum(subject: Subject) -> list[Chart]:
    """The eigenvalues of the recurrent matrices."""
    points = {}
    for name, matrix in recurrent_matrices(subject.network).items():
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
                "What lies outside the unit circle grows from step to step by the matrix alone, "
                "what lies within it fades; squashing functions and gates come on top. The radius "
                "is that of the eigenvalue farthest out, σ the largest singular value, by which a "
                "vector is stretched at most."
            ),
            points=points,
        )
    ]


def units_over_time(subject: Subject) -> Chart:
    """The activity of all units in one sequence, for tasks that are no text."""
    values = activity(subject.network, subject.batch.inputs[:, :1])[:, 0, :UNITS]
    return Heat(
        name="units",
        title="The units in one sequence",
        caption=(
            f"h of each unit, which the readout reads, at every step of one sequence of "
            f"{subject.where}. A row that keeps its colour is a unit that holds what it has seen; "
            "a column that stands out is an input to which all units react."
        ),
        x=list(range(len(values))),
        y=list(range(values.shape[1])),
        values=[numbers(row) for row in values.T],
        x_title="step of the sequence",
        y_title="unit",
        z_title="activity h",
    )


def _bounds(subject: Subject) -> tuple[list[Series], str]:
    """The published bounds on the Jacobian, as far as they say anything, and words about them."""
    cell = subject.network.cell
    if not isinstance(cell, Simple):
        return [], ""
    lags = np.arange(subject.at + 1)
    both = {"Hochreiter's bound": hochreiter_bound, "singular value bound": singular_value_bound}
    found, words = [], []
    for name, bound in both.items():
        values = np.asarray(bound(cell, lags), float)
        words.append(f"{name} changes by a factor of {float(bound(cell, 1)):.3g} a step")
        shown = lags[values <= HIGHEST]
        if len(shown) > 1:
            found.append(Series(name, shown.tolist(), numbers(values[shown]), dashed=True))
    return found, (
        f" Gradient and Jacobian stay below both bounds, whatever the input is: {', '.join(words)}."
        " A factor above 1 promises nothing."
    )


def _labels(names: Iterable[str]) -> list[str]:
    """Plain names, and "tanh 1" without its number where there is no second."""
    found = [plain_name(name) for name in names]
    return [
        name.removesuffix(" 1")
        if re.search(r"(tanh|sigmoid|relu) 1$", name) and f"{name[:-1]}2" not in found
        else name
        for name in found
    ]


def _on(subject: Subject) -> str:
    count = subject.batch.weights.shape[1]
    return f"{count} sequence{'s' if count > 1 else ''} of {subject.where}"


def _of_peak(values: np.ndarray) -> list[float | None]:
    peak = np.max(values[np.isfinite(values)], initial=0.0)
    return numbers(values / (peak or 1.0))


def _reach(lags: np.ndarray, values: np.ndarray) -> str:
    """The memory length in words: past the last lag nothing is known."""
    length = memory_length(values, lags, FADED)
    return f"{length} or more" if length == lags[-1] else str(length)
