"""Srivastava, Mansimov and Salakhutdinov (2015): what follows in a film of moving digits."""

from typing import Any

from ..runs.analysis.evaluation import measured
from .page import learning_curves
from .recipe import Measurements, TableRow
from .trained import Trained, Trial

PREDICTED, AGAIN = "nats per predicted frame", "nats per reconstructed frame"


def errors(trial: Trial) -> Measurements:
    """The cross-entropy per frame on test clips, and squared errors by how far ahead a frame is."""
    task = trial.task
    values = measured(trial.network, task.evaluated("test"), task.metrics)
    found = dict(zip([metric.name for metric in task.metrics], values, strict=True))
    ahead = [f"{name} {value:.4g}" for name, value in task.scores(trial.network, "test").items()]
    words = f"{', '.join(ahead)}." if ahead else ""
    return Measurements({name: found.get(name) for name in (PREDICTED, AGAIN)}, words=words)


def row(name: str, title: str, published: float | None, **settings: Any) -> TableRow:
    return TableRow(name, title, settings, {} if published is None else {PREDICTED: published})


RECIPE = Trained(
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
        row("predictor", "future predictor", 350.2, learn="predict"),
        row("composite", "composite", 344.9, learn="both"),
        row("conditional-predictor", "conditional predictor", 343.5, learn="predict",
            conditional=True),
        row("conditional-composite", "conditional composite", 341.2, learn="both",
            conditional=True),
        row("autoencoder", "autoencoder", None, learn="reconstruct"),
    ),
    measure=errors,
    charts=learning_curves("squared error per frame", log_y=True),
)  # fmt: skip
