"""Galvan (2015), sections 1.4 and 1.6: why the gradient vanishes or explodes, figure by figure."""

import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Simple
from ..cells.initialisers import normal
from ..claims import CLAIMS
from ..lens import hochreiter_bound, preactivation_jacobian_norms, singular_value_bound
from ..report.charts import Chart, Lines, Series
from ._recipe import Computed, Curve, Found, Recipe, Result, Row
from .page import curves

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


def compute(row: Row) -> Found:
    if row.name in SQUASHING:
        return slope(row.name)
    finding = CLAIMS[DECIDED[row.name]].verify().finding
    drawn = by_lag() if row.name == "singular" else {}
    return Found({}, drawn, f"{finding.verdict}: {finding.evidence}")


def slope(name: str) -> Found:
    """A squashing function and its derivative (figures 1.8 to 1.10)."""
    x = np.linspace(-6, 6, 121)
    f, derivative = SQUASHING[name], jax.vmap(jax.grad(SQUASHING[name]))
    values, slopes = np.asarray(f(x), float), np.asarray(derivative(x), float)
    xs = x.tolist()
    return Found(
        {"largest slope": float(slopes.max())},
        {"function": {"x": xs, "y": values.tolist()}, "slope": {"x": xs, "y": slopes.tolist()}},
    )


def by_lag() -> dict[str, Curve]:
    """The Jacobian of a random tanh network by lag, beside its two published bounds."""
    lags = np.arange(STEPS)
    with jax.enable_x64(True):
        one, two = jax.random.split(jax.random.key(0))
        cell = Simple(3, UNITS, key=one, recurrent=normal(0.15))
        found = preactivation_jacobian_norms(cell, jax.random.normal(two, (STEPS, 1, 3)))
        values = {
            "Jacobian": found.spectral[:, 0],
            "bound by singular values": singular_value_bound(cell, lags),
            "Hochreiter's bound": hochreiter_bound(cell, lags),
        }
        return {
            name: {"x": lags.tolist(), "y": np.asarray(y, float).tolist()}
            for name, y in values.items()
        }


def charts(recipe: Recipe, results: list[Result]) -> list[Chart]:
    said = {
        "function": ("Squashing functions", "Figures 1.8 to 1.10.", "a", "f(a)"),
        "slope": ("Their derivatives", "At most ¼, 1 and 1.", "a", "f'(a)"),
    }
    drawn: list[Chart] = []
    for name, (title, caption, x, y) in said.items():
        words = {"title": title, "caption": caption, "x_title": x, "y_title": y}
        drawn += curves(recipe, results, name, words)
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


RECIPE = Computed(
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
        Row("sigmoid", "sigmoid, figure 1.8", published={"largest slope": 0.25}),
        Row("tanh", "tanh, figure 1.9", published={"largest slope": 1.0}),
        Row("relu", "ReLU, figure 1.10", published={"largest slope": 1.0}),
        Row("hochreiter", "Hochreiter's bound, (1.63-1.67)"),
        Row("singular", "bound by singular values"),
        Row("paths", "paths in the unfolded graph, figure 1.11"),
        Row("enabled", "enabled paths of ReLU units, figure 1.12"),
        Row("poor", "poor solutions"),
    ),
    compute=compute,
    charts=charts,
)
