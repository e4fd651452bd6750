"""Bai et al. (2018), table 1: digits read pixel by pixel, and Bach chorales as piano rolls."""

from typing import Any

from .page import learning_curves
from .recipes import TableRow
from .trained import Trained, on_test

DIGITS: dict[str, Any] = {
    "input": "glorot",
    "learner": "adam",
    "schedule": "cosine",
    "batch": 256,
    "rate": 0.001,
    "warmup": 200,
    "steps": 12_500,
}
POOLED = {"cell": "gru", "reset": "after", "units": 256, "pool": "mean"}
ACCURACY = "test accuracy, %"


def digit_rows(task: str, order: str, simple: float, lstm: float, gru: float, tcn: float) -> tuple:
    """The rows of a task, with the published accuracies of its networks."""
    short = task.removesuffix("-mnist")

    def row(cell: str, title: str, published: float) -> TableRow:
        settings = {"task": task, "cell": cell, "budget": 70_000}
        return TableRow(f"{short}-{cell}", f"{title}, {order}", settings, {ACCURACY: published})

    pooled, settings = f"GRU, mean of all states, {order}", {"task": task, **POOLED}
    return (
        row("simple", "RNN", simple),
        row("lstm", "LSTM", lstm),
        row("gru", "GRU", gru),
        TableRow(f"{short}-tcn", f"TCN, {order}", published={ACCURACY: tcn}, reference=True),
        TableRow(f"{short}-pooled", pooled, settings),
    )


SEQUENTIAL_MNIST = Trained(
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
    columns=(ACCURACY,),
    order=ACCURACY,
    higher_is_better=True,
    common=DIGITS,
    quick={"budget": None, "units": 8, "batch": 32, "steps": 6, "warmup": 0, "validate_every": 6},
    rows=(  # published: simple, LSTM, GRU, TCN
        *digit_rows("mnist", "pixels in order", 21.5, 87.2, 96.2, 99.0),
        *digit_rows("permuted-mnist", "permuted pixels", 25.3, 85.7, 87.3, 97.2),
    ),
    measure=on_test(ACCURACY, 500, factor=100),
    charts=learning_curves("accuracy"),
)


CHORALES: dict[str, Any] = {
    "task": "jsb",
    "input": "glorot",
    "learner": "adam",
    "schedule": "cosine",
    "batch": 16,
    "rate": 0.003,
    "steps": 3000,
    "validate_every": 50,
    "patience": 20,
}
DROPPED = {"cell": "lstm", "units": 200, "dropout": 0.5, "recurrent_dropout": 0.3}
NATS = "test, nats per step"


def chorale_row(cell: str, title: str, published: float) -> TableRow:
    return TableRow(cell, title, {"cell": cell, "budget": 300_000}, {NATS: published})


JSB_CHORALES = Trained(
    name="jsb-chorales",
    title="Polyphonic music: JSB chorales",
    source="Bai et al. (2018), table 1; data of Boulanger-Lewandowski et al. (2012)",
    shows="Gated networks predict the next chord of a chorale better than a simple network; with "
    "229 chorales, regularisation matters more than the cell.",
    differs=(
        "300,000 parameters, as in the source; all networks have the same rate and no dropout, "
        "with early stopping on the validation part.",
        "The last row has dropout of outputs and states, and no published counterpart.",
    ),
    data="JSB chorales (`ostinato data get jsb`)",
    columns=(NATS,),
    order=NATS,
    common=CHORALES,
    quick={"budget": None, "units": 32, "steps": 100, "dropout": 0.0, "recurrent_dropout": 0.0},
    rows=(
        chorale_row("simple", "RNN", 8.91),
        chorale_row("lstm", "LSTM", 8.45),
        chorale_row("gru", "GRU", 8.43),
        TableRow("tcn", "TCN", published={NATS: 8.10}, reference=True),
        TableRow("dropped", "LSTM with dropout", {**DROPPED, "patience": None}),
    ),
    measure=on_test(NATS, 500),
    charts=learning_curves("nats per step"),
)
