"""Generated data: temporal XOR (Elman, 1990), adding (Hochreiter and Schmidhuber, 1997), balls.

Of temporal XOR only every third bit can be predicted; the adding problem is a sum over hundreds of
steps; of bouncing balls the next frame is to be predicted (Sutskever, Hinton and Taylor, 2008),
and what follows in a film of moving digits (Srivastava, Mansimov and Salakhutdinov, 2015); and two
numbers of nine digits are added character by character (Zaremba and Sutskever, 2014).
"""

from typing import Any

import numpy as np

from ..runs.analysis.evaluation import measured
from .page import curve_charts, learning_curves
from .recipes import Measurements, TableRow
from .trained import CLOSE, Trained, Trial, on_test

POSITIONS = 12


def by_position(trial: Trial) -> Measurements:
    """Accuracy on all bits and on those that follow from the two before, and errors by position."""
    batch, outputs = trial.tested()
    right = outputs.argmax(-1) == np.asarray(batch.targets)
    wrong = 100 * (1 - right.mean(axis=1))
    return Measurements(
        {
            "all bits, %": 100 * float(right.mean()),
            "third bits, %": 100 * float(right[1::3].mean()),
        },
        {"position": {"x": [*range(2, POSITIONS + 2)], "y": wrong[:POSITIONS].tolist()}},
    )


ELMANS_FIGURE = {
    "title": "Wrong predictions by position",
    "caption": "Elman's figure: the error falls at every third bit, the XOR of the two before.",
    "x_title": "position of the predicted bit",
    "y_title": "wrong, %",
    "from_zero": True,
}

TEMPORAL_XOR = Trained(
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
        TableRow("simple-2", "Elman's size, 2 units", {"cell": "simple", "units": 2},
            {"all bits, %": "66.7 at most", "third bits, %": "improves"}),
        TableRow("simple-8", "8 units", {"cell": "simple", "units": 8},
            {"all bits, %": 66.7, "third bits, %": 100.0}),
    ),
    measure=by_position,
    charts=curve_charts({"position": ELMANS_FIGURE}),
)  # fmt: skip


def errors(trial: Trial) -> Measurements:
    """Mean squared error, and the share of test sequences whose answer is off by 0.04 or more."""
    batch, outputs = trial.tested()
    off = np.abs(outputs[-1, :, 0] - np.asarray(batch.targets)[-1, :, 0])
    return Measurements(
        {
            "mean squared error": float(np.mean(off**2)),
            "wrong, %": 100 * float(np.mean(off >= CLOSE)),
        }
    )


def adding_row(cell: str, length: int, published: str, **settings: Any) -> TableRow:
    quick = {"length": 20, "steps": 300, "units": 32}
    name = {"simple": "RNN", "lstm": "LSTM"}[cell]
    return TableRow(
        f"{cell}-{length}",
        f"{name}, {length} steps",
        {"cell": cell, "length": length, **settings},
        {"wrong, %": published},
        quick=quick,
    )


ADDING = Trained(
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
        adding_row("lstm", 100, "0.04 (1 of 2,560)"),
        adding_row("lstm", 500, "0 (0 of 2,560)", rate=0.001),
        adding_row("simple", 100, "not solved"),
    ),
    measure=errors,
    charts=learning_curves("mean squared error", log_y=True),
)


FRAME_ERROR = "squared error per frame"
ADAM = {"learner": "adam", "rate": 0.002, "batch": 32, "steps": 20_000, "warmup": 100}
ADAM |= {"input": "glorot"}
FREE = {
    "learner": "hf",
    "batch": 400,
    "curvature_batch": 100,
    "steps": 150,
    "structural": 0.03,
    "incoming": 15,
    "spectral_radius": 1.1,
    "input_scale": 0.1,
}
FEW = {"batch": 16, "steps": 60}


def frames(trial: Trial) -> Measurements:
    """The error per frame on the test films, beside that of the frame before."""
    numbers = on_test(FRAME_ERROR, 50)(trial).numbers
    again = trial.task.yardsticks("test")["the frame before"]
    return Measurements(numbers, words=f"showing the frame before again has {again:.2f}.")


def reference(name: str, title: str, published: float) -> TableRow:
    return TableRow(name, title, published={FRAME_ERROR: published}, reference=True)


BOUNCING_BALLS = Trained(
    name="bouncing-balls",
    title="Bouncing balls",
    source="Sutskever, Hinton and Taylor (2008); numbers of Gan et al. (2015), table 1; networks "
    "of Martens and Sutskever (2011), which Krause (2015), section 4.3, discusses",
    shows="A recurrent network learns the motion of three balls from pixels: to predict a frame it "
    "has to remember the one before.",
    differs=(
        "The published models are temporal Boltzmann machines and belief networks, trained on "
        "4,000 films; the networks here see new films in every batch, and are trained by the "
        "cross-entropy of pixels.",
        "Martens and Sutskever (2011) publish another measure, so their networks have no number.",
    ),
    columns=(FRAME_ERROR,),
    common={"task": "bouncing-balls", "pixels": 30, "length": 99, "validate_every": 100},
    quick={"pixels": 10, "length": 30, "units": 48, "validate_every": 20},
    rows=(
        reference("rtrbm", "RTRBM", 3.88),
        reference("srtrbm", "structured RTRBM", 3.31),
        reference("dtsbn", "deep temporal sigmoid belief network", 2.79),
        TableRow("rnn-hf", "RNN, Hessian-free", {"cell": "simple", "units": 300, **FREE,
            "validate_every": 5}, quick={"batch": 40, "curvature_batch": 10, "steps": 6,
                                         "iterations": 20}),
        TableRow("rnn", "RNN, Adam", {"cell": "simple", "units": 300, **ADAM}, quick=FEW),
        TableRow("lstm", "LSTM, Adam", {"cell": "lstm", "units": 300, **ADAM}, quick=FEW),
    ),
    measure=frames,
    charts=learning_curves("squared error per frame", log_y=True),
)  # fmt: skip


EXACT = "sums right, %"
# As in the source: two layers of 400 LSTM cells, weights uniform in ±0.08, plain gradient steps.
ZAREMBA = {"cell": "lstm", "units": (400, 400), "attention": "none", "uniform": 0.08}
# A rate of 0.5 and a norm of 5 for a sum over the ten digits of an answer, so for their mean:
ZAREMBA |= {"learner": "sgd", "rate": 5.0, "schedule": "plateau", "clip": "0.5", "batch": 100}
ZAREMBA |= {"steps": 100_000, "growth": 50_000, "validate_every": 1_000}
GRU = {"cell": "gru", "units": 256, "bidirectional": True, "learner": "adam", "rate": 2e-3}
GRU |= {"batch": 256, "steps": 5_000, "growth": 2_500, "validate_every": 250}

NINE_DIGITS = Trained(
    name="nine-digit-addition",
    title="Adding two numbers of nine digits",
    source="Zaremba and Sutskever (2014), cited by Lipton et al. (2015), section 5.5",
    shows="A network of LSTM cells that reads print(123456789+987654321) character by character "
    "writes the sum, and nearly all sums are right as a whole.",
    differs=(
        "The source has one network that reads the program and goes on to write the answer; here "
        "an encoder hands its final state to a decoder with weights of its own.",
        "Batches of 100, a rate of 0.5 and weights uniform in ±0.08 are the source's; the rate is "
        "halved when validation stops to improve, and gradients are clipped at 5. That is for a "
        "sum over the digits of an answer; for the mean over digits here it is 5 and 0.5.",
        "An answer counts only if all of its digits are right.",
        "The other row is a better setting: a bidirectional GRU with attention that writes the "
        "last digit first. benchmarks/RESULTS.md has 100 % of 1,000 test sums after 5,000 "
        "batches of 256, 79 seconds on an H200.",
        "The network of the source was run for 67,574 of 100,000 steps, with a rate of 0.5 for the "
        "mean and so with steps that are too short: no sum was right, and 21 % of the digits. "
        "Whether the published number holds is open.",
    ),
    columns=(EXACT,),
    order=EXACT,
    higher_is_better=True,
    digits=1,
    common={"task": "addition", "digits": 9, "strategy": "combined"},
    quick={"digits": 2, "units": 24, "steps": 40, "growth": 20, "batch": 32, "validate_every": 20},
    rows=(
        TableRow("lstm", "LSTM, two layers of 400", ZAREMBA, {EXACT: 99.0}),
        TableRow("gru", "GRU with attention, last digit first", {**GRU, "backwards": True}),
    ),
    measure=on_test(EXACT, 500, factor=100),
    charts=learning_curves("exact match"),
)


PREDICTED, AGAIN = "nats per predicted frame", "nats per reconstructed frame"


def film_errors(trial: Trial) -> Measurements:
    """The cross-entropy per frame on test clips, and squared errors by how far ahead a frame is."""
    task = trial.task
    values = measured(trial.network, task.evaluated("test"), task.metrics)
    by_metric = dict(zip([metric.name for metric in task.metrics], values, strict=True))
    ahead = [f"{name} {value:.4g}" for name, value in task.scores(trial.network, "test").items()]
    words = f"{', '.join(ahead)}." if ahead else ""
    return Measurements({name: by_metric.get(name) for name in (PREDICTED, AGAIN)}, words=words)


def film_row(name: str, title: str, published: float | None, **settings: Any) -> TableRow:
    return TableRow(name, title, settings, {} if published is None else {PREDICTED: published})


MOVING_DIGITS = Trained(
    name="moving-digits",
    title="Moving digits",
    source="Srivastava, Mansimov and Salakhutdinov (2015), table 4; Lipton et al. (2015), "
    "section 5.5",
    shows="An encoder that must draw a film again and also predict how it goes on predicts better "
    "than one that must only predict, and so does a decoder that reads what it drew last.",
    differs=(
        "10,000 clips, drawn once, where the source draws new ones without end; digits turn back "
        "at an edge by reflection.",
        "Adam, and far fewer steps than the source.",
        "A conditional decoder reads the frame that it drew itself, in training too.",
        "The autoencoder has no published number.",
    ),
    columns=(PREDICTED, AGAIN),
    order=PREDICTED,
    digits=1,
    data="handwritten digits (`ostinato data get mnist`), which move",
    common={
        "task": "video",
        "shows": "digits",
        "pixels": 64,
        "cell": "lstm",
        "units": 2048,
        "layers": 2,
        "learner": "adam",
        "rate": 0.001,
        "batch": 64,
        "steps": 20_000,
        "warmup": 100,
        "validate_every": 500,
    },
    quick={"shows": "shapes", "things": 1, "pixels": 8, "frames": 3, "ahead": 3, "clips": 200}
    | {"units": 16, "layers": 1, "batch": 16, "steps": 40, "validate_every": 20},
    rows=(
        film_row("predictor", "future predictor", 350.2, learn="predict"),
        film_row("composite", "composite", 344.9, learn="both"),
        film_row("conditional-predictor", "conditional predictor", 343.5, learn="predict",
            conditional=True),
        film_row("conditional-composite", "conditional composite", 341.2, learn="both",
            conditional=True),
        film_row("autoencoder", "autoencoder", None, learn="reconstruct"),
    ),
    measure=film_errors,
    charts=learning_curves("squared error per frame", log_y=True),
)  # fmt: skip
