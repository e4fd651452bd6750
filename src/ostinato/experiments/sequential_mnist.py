"""Digits read pixel by pixel: the table of Bai et al. (2018)."""

from typing import Any

from ..runs.analysis.evaluation import measured
from ._recipe import Found, Row
from ._trained import Trained, Trial
from .page import learning_curves

COMMON: dict[str, Any] = {
    "input": "glorot",
    "learner": "adam",
    "schedule": "cosine",
    "batch": 256,
    "rate": 0.001,
    "warmup": 200,
    "steps": 12_500,
}
POOLED = {"cell": "gru", "reset": "after", "units": 256, "pool": "mean"}
COLUMN = "test accuracy, %"


def accuracy(trial: Trial) -> Found:
    (value,) = measured(trial.network, trial.task.held_out("test", 500), (trial.task.metric,))
    return Found({COLUMN: None if value is None else 100 * value})


def rows() -> list[Row]:
    published = {
        "mnist": {"simple": 21.5, "lstm": 87.2, "gru": 96.2, "TCN": 99.0},
        "permuted-mnist": {"simple": 25.3, "lstm": 85.7, "gru": 87.3, "TCN": 97.2},
    }
    found = []
    for task, numbers in published.items():
        order = "permuted pixels" if task.startswith("permuted") else "pixels in order"
        short = task.removesuffix("-mnist")
        for cell, value in numbers.items():
            title = f"{cell.upper() if cell != 'simple' else 'RNN'}, {order}"
            settings = {"task": task, "cell": cell, "budget": 70_000}
            found.append(
                Row(
                    f"{short}-{cell.lower()}",
                    title,
                    {} if cell == "TCN" else settings,
                    {COLUMN: value},
                    reference=cell == "TCN",
                )
            )
        found.append(
            Row(f"{short}-pooled", f"GRU, mean of all states, {order}", {"task": task, **POOLED})
        )
    return found


RECIPE = Trained(
    name="sequential-mnist",
    title="Sequential and permuted MNIST",
    source="Bai et al. (2018), table 1; the task of Le et al. (2015)",
    shows="Gated networks classify a digit after 784 single pixels, where a simple network fails; "
    "permuted pixels are harder.",
    differs=(
        "About 70,000 parameters, as in the source; its settings for each network are not "
        "published, so all have the same here: Adam, rate 0.001, batches of 256.",
        "The rows “mean of all states” are a better setting, with 256 units.",
        "The checkpoint is chosen on 5,000 digits of the training set.",
    ),
    data="MNIST (`ostinato data get mnist`)",
    columns=(COLUMN,),
    order=COLUMN,
    higher_is_better=True,
    common=COMMON,
    quick={"budget": None, "units": 8, "batch": 32, "steps": 6, "warmup": 0, "validate_every": 6},
    rows=tuple(rows()),
    measure=accuracy,
    charts=learning_curves("accuracy"),
)
