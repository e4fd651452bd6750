"""Bach chorales as piano rolls: the table of Bai et al. (2018)."""

from typing import Any

from ..runs.analysis.evaluation import measured
from ._recipe import Found, Row
from ._trained import Trained, Trial
from .page import learning_curves

COMMON: dict[str, Any] = {
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
COLUMN = "test, nats per step"


def nats(trial: Trial) -> Found:
    (value,) = measured(trial.network, trial.task.held_out("test", 500), (trial.task.metric,))
    return Found({COLUMN: value})


def row(cell: str, title: str, published: float) -> Row:
    return Row(cell, title, {"cell": cell, "budget": 300_000}, {COLUMN: published})


RECIPE = Trained(
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
    columns=(COLUMN,),
    order=COLUMN,
    common=COMMON,
    quick={"budget": None, "units": 32, "steps": 100, "dropout": 0.0, "recurrent_dropout": 0.0},
    rows=(
        row("simple", "RNN", 8.91),
        row("lstm", "LSTM", 8.45),
        row("gru", "GRU", 8.43),
        Row("tcn", "TCN", published={COLUMN: 8.10}, reference=True),
        Row("dropped", "LSTM with dropout", {**DROPPED, "patience": None}),
    ),
    measure=nats,
    charts=learning_curves("nats per step"),
)
