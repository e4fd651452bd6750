"""Graves, Wayne and Danihelka (2014): the five tasks of the neural Turing machine."""

from typing import Any

from ..runs.analysis.evaluation import measured
from ..tasks.turing.ngrams import NTMNgrams
from ..tasks.turing.vector_tasks import NTMCopy, NTMRecall, NTMRepeatCopy, NTMSort
from .page import learning_curves
from .recipes import Measurements, TableRow
from .trained import Trained, Trial, scaled

TASKS = {task.name: task.recipe for task in (NTMCopy, NTMRepeatCopy, NTMRecall, NTMNgrams, NTMSort)}
SMALL: dict[str, dict[str, Any]] = {
    "ntm-copy": {"bits": 4, "max_items": 5},
    "ntm-repeat-copy": {"bits": 3, "max_items": 3, "repeats": 3},
    "ntm-recall": {"bits": 4, "max_items": 4, "vectors": 1},
    "ntm-ngrams": {"length": 30, "order": 3},
    "ntm-sort": {"bits": 4, "max_items": 5, "kept": 4},
}
PUBLISHED = {  # of both machines, and of the LSTM alone
    "ntm-copy": ("near 0", "above 0"),
    "ntm-repeat-copy": ("near 0", "near 0, later"),
    "ntm-recall": ("near 0", "above 0"),
    "ntm-ngrams": ("near the optimum", "above the machines"),
    "ntm-sort": ("above 0", "above the machines"),
}
ALONE: dict[str, Any] = {"cell": "lstm", "budget": 62_000}  # as many parameters as a machine
QUICK: dict[str, Any] = {"units": 24, "turing": "16x8", "curriculum": None}


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
        {"bits per sequence": bits, "wrong bits, %": scaled(wrong)},
        words=f"{said}{optimum}.",
    )


def rows_of(task: str) -> list[TableRow]:
    """A task with an LSTM as controller, with a feedforward one, and an LSTM alone."""
    short = task.removeprefix("ntm-")
    machine, alone = PUBLISHED[task]
    recipe = TASKS[task]
    other = {name: recipe[name] for name in ("rate", "batch", "steps")}
    kinds = (
        ("", "", recipe, machine, QUICK),
        ("-feedforward", ", feedforward", {**recipe, "cell": "feedforward"}, machine, QUICK),
        ("-lstm", ", LSTM alone", {**other, **ALONE}, alone, {"budget": 3_000}),
    )
    return [
        TableRow(
            short + name,
            short.replace("-", " ") + words,
            {"task": task, **settings},
            {"bits per sequence": published},
            quick={**quick, **SMALL[task]},
        )
        for name, words, settings, published, quick in kinds
    ]


RECIPE = Trained(
    name="ntm",
    title="The five tasks of the neural Turing machine",
    source="Graves, Wayne and Danihelka (2014), section 4; Lipton et al. (2015), section 4.3",
    shows="A network with an external memory learns simple algorithms, and goes on to sequences "
    "longer than any in training.",
    differs=(
        "The source has curves and no table; the words beside the numbers describe its figures.",
        "Both controllers have 100 units and one head of each kind; the source has its own sizes "
        "per task, and RMSProp. The LSTM alone has as many parameters as a machine; in the source "
        "it has three layers of 256 units or more.",
        "The machine of the n-grams has a readout with a hidden layer.",
        "The feedforward controllers take the settings that were chosen for the LSTM. Of three "
        "seeds each, two end below 0.01 bits in copy and recall and two below 0.03 in repeat "
        "copy, one has less than 1 % of wrong bits in sort, and the n-grams stay at 165 bits and "
        "more. The LSTM alone, one seed each, is behind the machine with an LSTM in all tasks, as "
        "published, but for repeat copy, where the source has it near 0, later.",
    ),
    columns=("bits per sequence", "wrong bits, %"),
    common={"validate_every": 500},
    quick={"steps": 150, "validate_every": 50},
    rows=tuple(row for task in TASKS for row in rows_of(task)),
    measure=score,
    charts=learning_curves("bits per sequence", log_y=True),
)
