"""Elman (1990): temporal XOR, of which only every third bit can be predicted."""

import numpy as np

from ..report.charts import Chart
from ..wiring import outputs_of
from ._recipe import Found, Recipe, Result, Row
from ._trained import Trained, Trial
from .page import curves

POSITIONS = 12


def by_position(trial: Trial) -> Found:
    """Accuracy on all bits and on those that follow from the two before, and errors by position."""
    batch = next(trial.task.held_out("test", 1000))
    outputs, _ = outputs_of(trial.network, batch.arrays.on_device())
    right = np.asarray(outputs).argmax(-1) == np.asarray(batch.targets)
    wrong = 100 * (1 - right.mean(axis=1))
    return Found(
        {
            "all bits, %": 100 * float(right.mean()),
            "third bits, %": 100 * float(right[1::3].mean()),
        },
        {"position": {"x": [*range(2, POSITIONS + 2)], "y": wrong[:POSITIONS].tolist()}},
    )


def charts(recipe: Recipe, results: list[Result]) -> list[Chart]:
    words = {
        "title": "Wrong predictions by position",
        "caption": "Elman's figure: the error falls at every third bit, the XOR of the two before.",
        "x_title": "position of the predicted bit",
        "y_title": "wrong, %",
    }
    return curves(recipe, results, "position", words, from_zero=True)


RECIPE = Trained(
    name="temporal-xor",
    title="Temporal XOR",
    source="Elman (1990), as reviewed by Lipton et al. (2015), section 3.1",
    shows="A simple recurrent network learns when a stream of bits can be predicted: every third "
    "bit is the XOR of the two before it, and the others are random.",
    differs=(
        "Adam on batches of new sequences instead of gradient descent, one bit at a time, on one "
        "stream of 3,000 bits.",
        "The source shows errors by position in a figure; the numbers beside are those of a "
        "perfect system: 66.7 % of all bits, 100 % of the third ones.",
    ),
    columns=("all bits, %", "third bits, %"),
    digits=1,
    common={"task": "xor", "input": "glorot", "learner": "adam", "rate": 0.01, "batch": 32}
    | {"steps": 3000},
    quick={"steps": 400, "length": 30},
    rows=(
        Row("simple-2", "Elman's size, 2 units", {"cell": "simple", "units": 2},
            {"all bits, %": "66.7 at most", "third bits, %": "improves"}),
        Row("simple-8", "8 units", {"cell": "simple", "units": 8},
            {"all bits, %": 66.7, "third bits, %": 100.0}),
    ),
    measure=by_position,
    charts=charts,
)  # fmt: skip
