"""Why the gradient vanishes or explodes: Galvan (2015), sections 1.4 and 1.6, figure by figure.

Before that, the contribution of one input to a single unit: Lipton et al. (2015), figures 7 and 8.
"""

import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Simple
from ..cells.initialisers import normal
from ..claims import CLAIMS
from ..lens import (
    hochreiter_bound,
    preactivation_jacobian_norms,
    singular_value_bound,
    toy_contribution,
)
from ..report.charts import Chart, Lines, Series
from .page import curve_charts
from .recipes import Computed, Curve, Measurements, Recipe, Result, TableRow

TOY_WEIGHTS = {"below": 0.9, "one": 1.0, "above": 1.1}
TOY_STEPS = 100


def contributions(row: TableRow) -> Measurements:
    """What is left of an input after 100 steps, from the claim `toy-net`, and its course."""
    w, finding = TOY_WEIGHTS[row.name], CLAIMS["toy-net"].verify().finding
    steps = range(TOY_STEPS + 1)
    courses = {kind: toy_contribution(w, steps, f=kind).tolist() for kind in ("identity", "tanh")}
    return Measurements(
        {"linear unit": finding.numbers[f"linear, w = {w:g}"],
         "tanh unit": finding.numbers[f"tanh, w = {w:g}"]},
        {kind: {"x": [*steps], "y": [abs(y) for y in ys]} for kind, ys in courses.items()},
        f"the verdict on the statement as a whole is “{finding.verdict}”." if w == 1 else "",
    )  # fmt: skip


CONTRIBUTION = {
    "caption": "How the first input contributes, by weight.",
    "x_title": "steps since the input",
    "y_title": "|∂h_t / ∂x_0|",
    "log_y": True,
}

TOY_NET = Computed(
    name="toy-net",
    title="One recurrent unit: vanishing and exploding",
    source="Lipton et al. (2015), section 3.2, figures 7 and 8",
    shows="The contribution of an input vanishes where the recurrent weight is below one, and "
    "explodes where it is above.",
    differs=("The source draws a sketch; here the derivative is computed, for two kinds of unit.",),
    data="none",
    columns=("linear unit", "tanh unit"),
    digits=3,
    rows=(
        TableRow("below", "w = 0.9", published={"linear unit": "vanishes"}),
        TableRow("one", "w = 1", published={"linear unit": "stays"}),
        TableRow("above", "w = 1.1", published={"linear unit": "explodes"}),
    ),
    compute=contributions,
    charts=curve_charts(
        {
            "identity": {"title": "A linear unit", **CONTRIBUTION},
            "tanh": {"title": "A tanh unit", **CONTRIBUTION},
        }
    ),
)


SQUASHING = {"sigmoid": jax.nn.sigmoid, "tanh": jnp.tanh, "relu": jax.nn.relu}
UNITS, STEPS = 20, 40
# Rows that a claim decides, by the name of the row.
DECIDED = {
    "hochreiter": "hochreiter-bound",
    "singular": "singular-value-bound",
    "paths": "relu-paths",
    "enabled": "relu-paths-bound",
    "poor": "poor-solutions",
}


def compute(row: TableRow) -> Measurements:
    if row.name in SQUASHING:
        return slope(row.name)
    finding = CLAIMS[DECIDED[row.name]].verify().finding
    drawn = by_lag() if row.name == "singular" else {}
    return Measurements({}, drawn, f"{finding.verdict}: {finding.evidence}")


def slope(name: str) -> Measurements:
    """A squashing function and its derivative (figures 1.8 to 1.10)."""
    x = np.linspace(-6, 6, 121)
    f, derivative = SQUASHING[name], jax.vmap(jax.grad(SQUASHING[name]))
    values, slopes = np.asarray(f(x), float), np.asarray(derivative(x), float)
    xs = x.tolist()
    return Measurements(
        {"largest slope": float(slopes.max())},
        {"function": {"x": xs, "y": values.tolist()}, "slope": {"x": xs, "y": slopes.tolist()}},
    )


def by_lag() -> dict[str, Curve]:
    """The Jacobian of a random tanh network by lag, beside its two published bounds."""
    lags = np.arange(STEPS)
    with jax.enable_x64(True):
        one, two = jax.random.split(jax.random.key(0))
        cell = Simple(3, UNITS, key=one, recurrent=normal(0.15))
        norms = preactivation_jacobian_norms(cell, jax.random.normal(two, (STEPS, 1, 3)))
        values = {
            "Jacobian": norms.spectral[:, 0],
            "bound by singular values": singular_value_bound(cell, lags),
            "Hochreiter's bound": hochreiter_bound(cell, lags),
        }
        return {
            name: {"x": lags.tolist(), "y": np.asarray(y, float).tolist()}
            for name, y in values.items()
        }


FUNCTION = {
    "title": "Squashing functions",
    "caption": "Figures 1.8 to 1.10.",
    "x_title": "a",
    "y_title": "f(a)",
}
SLOPE = {
    "title": "Their derivatives",
    "caption": "At most ¼, 1 and 1.",
    "x_title": "a",
    "y_title": "f'(a)",
}


def charts(recipe: Recipe, results: list[Result]) -> list[Chart]:
    drawn = curve_charts({"function": FUNCTION, "slope": SLOPE})(recipe, results)
    for result in results:
        if result.row == "singular":
            drawn.append(
                Lines(
                    name="bounds",
                    title="The Jacobian and its bounds",
                    caption=f"‖∂a_t/∂a_k‖ of a random tanh network of {UNITS} units.",
                    x_title="lag t - k",
                    y_title="norm",
                    log_y=True,
                    series=[
                        Series(name, curve["x"], curve["y"], dashed="bound" in name)
                        for name, curve in result.curves.items()
                    ],
                )
            )
    return drawn


FIGURES = Computed(
    name="gradient-figures",
    title="Why the gradient vanishes or explodes",
    source="Galvan (2015), sections 1.4 and 1.6, figures 1.8 to 1.12",
    shows="Squashing functions have bounded slopes, so the Jacobian over t - k steps is bounded by "
    "a power; it is a sum over paths, of which a ReLU enables some.",
    differs=(
        "The source proves and sketches; here the statements are tested on random networks, as "
        "claims (`ostinato verify`).",
    ),
    data="none",
    columns=("largest slope",),
    rows=(
        TableRow("sigmoid", "sigmoid, figure 1.8", published={"largest slope": 0.25}),
        TableRow("tanh", "tanh, figure 1.9", published={"largest slope": 1.0}),
        TableRow("relu", "ReLU, figure 1.10", published={"largest slope": 1.0}),
        TableRow("hochreiter", "Hochreiter's bound, (1.63-1.67)"),
        TableRow("singular", "bound by singular values"),
        TableRow("paths", "paths in the unfolded graph, figure 1.11"),
        TableRow("enabled", "enabled paths of ReLU units, figure 1.12"),
        TableRow("poor", "poor solutions"),
    ),
    compute=compute,
    charts=charts,
)
