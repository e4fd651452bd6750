"""Graves, Wayne and Danihelka (2014): the five tasks of the neural Turing machine."""

from typing import Any

from ..runs.analysis.evaluation import measured
from .page import learning_curves
from .recipe import Measurements, TableRow
from .trained import Trained, Trial

MACHINE: dict[str, Any] = {"cell": "lstm", "units": 100, "input": "glorot"}
MACHINE |= {"turing": "128x20"}
LEARNER: dict[str, Any] = {"learner": "adam", "rate": 2e-3, "clip": "1", "batch": 32}
STEPS = {
    "ntm-copy": 15_000,
    "ntm-repeat-copy": 10_000,
    "ntm-recall": 20_000,
    "ntm-ngrams": 6_000,
    "ntm-sort": 20_000,
}
SMALL: dict[str, dict[str, Any]] = {
    "ntm-copy": {"bits": 4, "max_items": 5},
    "ntm-repeat-copy": {"bits": 3, "max_items": 3, "repeats": 3},
    "ntm-recall": {"bits": 4, "max_items": 4, "vectors": 1},
    "ntm-ngrams": {"length": 30, "order": 3},
    "ntm-sort": {"bits": 4, "max_items": 5, "kept": 4},
}
PUBLISHED = {
    "ntm-copy": "near 0",
    "ntm-repeat-copy": "near 0",
    "ntm-recall": "near 0",
    "ntm-ngrams": "near the optimum",
    "ntm-sort": "above 0",
}


def score(trial: Trial) -> Measurements:
    """Bits per sequence and wrong bits on test sequences, and on longer ones."""
    task, network = trial.task, trial.network
    bits, wrong = measured(network, task.evaluated("test"), task.metrics[:2])
    longer = [
        f"{name} {value:.4g}"
        for name, value in task.scores(network, "test").items()
        if value is not None
    ]
    said = f"longer sequences: {', '.join(longer)}" if longer else "no longer sequences"
    best = task.yardsticks("test").get("Bayes-optimal")
    optimum = "" if best is None else f"; the Bayes-optimal predictor needs {best:.4g} bits"
    return Measurements(
        {"bits per sequence": bits, "wrong bits, %": None if wrong is None else 100 * wrong},
        words=f"{said}{optimum}.",
    )


RECIPE = Trained(
    name="ntm",
    title="The five tasks of the neural Turing machine",
    source="Graves, Wayne and Danihelka (2014), section 4; Lipton et al. (2015), section 4.3",
    shows="A network with an external memory learns simple algorithms, and goes on to sequences "
    "longer than any in training.",
    differs=(
        "The source has curves and no table; the words beside the numbers describe its figures.",
        "LSTM controller of 100 units, memory of 128 x 20 and one head of each kind for all tasks; "
        "the source has its own sizes per task, and RMSProp.",
    ),
    columns=("bits per sequence", "wrong bits, %"),
    common={**MACHINE, **LEARNER, "validate_every": 500},
    quick={"units": 24, "turing": "16x8", "steps": 150, "validate_every": 50},
    rows=tuple(
        TableRow(
            task.removeprefix("ntm-"),
            task.removeprefix("ntm-").replace("-", " "),
            {"task": task, "steps": steps},
            {"bits per sequence": PUBLISHED[task]},
            quick=SMALL[task],
        )
        for task, steps in STEPS.items()
    ),
    measure=score,
    charts=learning_curves("bits per sequence", log_y=True),
)
