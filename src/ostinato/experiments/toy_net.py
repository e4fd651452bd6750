"""Lipton et al. (2015), figures 7 and 8: the contribution of one input to a single unit."""

from ..claims import CLAIMS
from ..lens import toy_contribution
from ..report.charts import Chart
from ._recipe import Computed, Found, Recipe, Result, Row
from .page import curves

WEIGHTS = {"below": 0.9, "one": 1.0, "above": 1.1}
STEPS = 100


def compute(row: Row) -> Found:
    """What is left of an input after 100 steps, from the claim `toy-net`, and its course."""
    w, finding = WEIGHTS[row.name], CLAIMS["toy-net"].verify().finding
    steps = range(STEPS + 1)
    found = {kind: toy_contribution(w, steps, f=kind).tolist() for kind in ("identity", "tanh")}
    return Found(
        {"linear unit": finding.numbers[f"linear, w = {w:g}"],
         "tanh unit": finding.numbers[f"tanh, w = {w:g}"]},
        {kind: {"x": [*steps], "y": [abs(y) for y in ys]} for kind, ys in found.items()},
        f"the verdict on the statement as a whole is “{finding.verdict}”." if w == 1 else "",
    )  # fmt: skip


def charts(recipe: Recipe, results: list[Result]) -> list[Chart]:
    axes = {"x_title": "steps since the input", "y_title": "|∂h_t / ∂x_0|"}
    said = {"identity": "A linear unit", "tanh": "A tanh unit"}
    return [
        chart
        for kind, title in said.items()
        for chart in curves(
            recipe,
            results,
            kind,
            {"title": title, "caption": "How the first input contributes, by weight.", **axes},
            log_y=True,
        )
    ]


RECIPE = Computed(
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
        Row("below", "w = 0.9", published={"linear unit": "vanishes"}),
        Row("one", "w = 1", published={"linear unit": "stays"}),
        Row("above", "w = 1.1", published={"linear unit": "explodes"}),
    ),
    compute=compute,
    charts=charts,
)
