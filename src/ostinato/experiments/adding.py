"""The adding problem of Hochreiter and Schmidhuber (1997): a sum over hundreds of steps."""

from typing import Any

import numpy as np

from ..wiring import outputs_of
from ._recipe import Found, Row
from ._trained import Trained, Trial
from .page import learning_curves

CLOSE = 0.04  # Hochreiter and Schmidhuber (1997): an answer counts as right if it is this close


def errors(trial: Trial) -> Found:
    """Mean squared error, and the share of test sequences whose answer is off by 0.04 or more."""
    batch = next(trial.task.held_out("test", 1000))
    outputs, _ = outputs_of(trial.network, batch.arrays.on_device())
    off = np.abs(np.asarray(outputs)[-1, :, 0] - np.asarray(batch.targets)[-1, :, 0])
    return Found(
        {
            "mean squared error": float(np.mean(off**2)),
            "wrong, %": 100 * float(np.mean(off >= CLOSE)),
        }
    )


def row(cell: str, length: int, published: str, **settings: Any) -> Row:
    quick = {"length": 20, "steps": 300, "units": 32}
    name = {"simple": "RNN", "lstm": "LSTM"}[cell]
    return Row(
        f"{cell}-{length}",
        f"{name}, {length} steps",
        {"cell": cell, "length": length, **settings},
        {"wrong, %": published},
        quick=quick,
    )


RECIPE = Trained(
    name="adding",
    title="The adding problem",
    source="Hochreiter and Schmidhuber (1997), section 5.4; Krause (2015), section 2.2; the "
    "variant of Le et al. (2015)",
    shows="An LSTM learns to add two marked numbers that lie hundreds of steps apart, where a "
    "simple network trained by gradients answers with the mean.",
    differs=(
        "Values are from [0, 1] and the length is fixed, as in most papers since 2015; Hochreiter "
        "and Schmidhuber take values from [-1, 1] and varying lengths.",
        "LSTM with forget gates and 128 units, by Adam and the exact gradient, instead of the "
        "cells of 1997 with 8 blocks and their truncated gradient.",
        "The error of the constant answer is 1/6.",
    ),
    columns=("mean squared error", "wrong, %"),
    digits=4,
    common={
        "task": "adding",
        "units": 128,
        "input": "glorot",
        "learner": "adam",
        "rate": 0.002,
        "batch": 64,
        "steps": 15_000,
        "validate_every": 250,
        "patience": 40,
    },
    quick={},
    rows=(
        row("lstm", 100, "0.04 (1 of 2,560)"),
        row("lstm", 500, "0 (0 of 2,560)", rate=0.001),
        row("simple", 100, "not solved"),
    ),
    measure=errors,
    charts=learning_curves("mean squared error", log_y=True),
)
