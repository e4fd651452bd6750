"""Delgado del Cerro (2021), section 5.2: predictive text by RNN and LSTM."""

from statistics import median
from typing import Any

from ..report.charts import Chart
from ..runs.analysis.evaluation import measured
from ..runs.analysis.spelling import spelling, training_words
from ..tasks import TextTask
from .page import curve_charts, learning_curves
from .recipes import Corpus, Measurements, Recipe, Result, TableRow
from .trained import Trained, Trial, scaled

GENERATED, FEW = 100_000, 2_000
SHORT, TEXTS = 1_000, 10  # characters of a short text, and how many are written
CHARACTERS, LENGTH, BATCH = 2_703_202, 100, 128  # m, n and T of the source
BATCHES_PER_EPOCH = (CHARACTERS - LENGTH) // BATCH  # a window begins at every character
FAIL = "word fail rate, %"
FAIL_SHORT = "of 1,000 characters, %"


def spelled(trial: Trial) -> Measurements:
    """Bits on the validation part, and the word fail rates of a long and of short texts."""
    task, seed, text = trial.task, trial.run.config.seed, trial.task.ability(TextTask)
    assert text is not None
    (bits,) = measured(trial.network, task.evaluated("valid"), (task.metric,))
    count = FEW if trial.job.quick else GENERATED
    known = training_words(task)
    words = spelling(trial.network, text.vocabulary, known, count, seed)
    several = 2 if trial.job.quick else TEXTS
    short = spelling(trial.network, text.vocabulary, known, SHORT, seed, texts=several)
    rates = [100 * rate for rate in short["text_fail_rates"] if rate is not None]
    by_text = f"from {min(rates):.1f} to {max(rates):.1f} %" if rates else "none"
    return Measurements(
        {
            "bits per character": bits,
            FAIL: scaled(words["word_fail_rate"]),
            FAIL_SHORT: median(rates) if rates else None,
        },
        words=f"{count:,} generated characters have {words['generated_words']:,} words. Word fail "
        f"rates of {several} texts of {SHORT:,} characters: {by_text}.",
    )


LOSS = {
    "title": "Training loss",
    "caption": "As in the source's figure 5.4, by step instead of epoch.",
    "x_title": "step",
    "y_title": "bits per character",
}


def charts(recipe: Recipe, results: list[Result]) -> list[Chart]:
    loss, validations = curve_charts({"training": LOSS}), learning_curves("bits per character")
    return [*loss(recipe, results), *validations(recipe, results)]


def row(
    name: str,
    title: str,
    cell: str,
    units: int,
    epochs: int,
    size: int,
    fail: float,
    short: float | None = None,
) -> TableRow:
    steps = epochs * BATCHES_PER_EPOCH
    settings: dict[str, Any] = {"cell": cell, "units": units, "steps": steps}
    published = {FAIL: fail} | ({} if short is None else {FAIL_SHORT: short})
    return TableRow(name, title, settings, published, size, {"units": 24, "steps": 60})


RECIPE = Trained(
    name="predictive-text",
    title="Predictive text by RNN and LSTM",
    source="Delgado del Cerro (2021), section 5.2, tables 5.1 and 5.2, figure 5.4",
    shows="An LSTM learns a text better than a simple network of as many units, and misspells "
    "fewer words when it writes.",
    differs=(
        f"An epoch has the source's {BATCHES_PER_EPOCH:,} batches, but every window begins at a "
        "random position, so that it can come twice or not at all; the source shuffles all windows "
        "and takes each once.",
        "Misspelled is a word that the training text does not have; the source used the spelling "
        "checker of a word processor.",
        f"Short texts: the median of {TEXTS}. The source counts the errors of one text each: 6 "
        "in 163 words (LSTM 1) and 32 in 168 (RNN 1).",
        "4 % of the text are held out, half of them to choose the checkpoint; the source trains on "
        "all of it.",
        "The source gives neither a learning rate nor initial weights.",
        "Never run in full: the networks of 2048 units not at all, those of 1024 units for 6,270 "
        f"of {30 * BATCHES_PER_EPOCH:,} steps.",
    ),
    columns=("bits per character", FAIL, FAIL_SHORT),
    order=FAIL,
    corpus=Corpus(
        "essays by Paul Graham", "enwiki", (2_595_074, 54_064, 54_064), symbols=98, quick=100_000
    ),
    common={
        "task": "text",
        "embedding": 256,
        "readout": "bias",
        "length": LENGTH,
        "carry": False,
        "batch": BATCH,
        "learner": "adam",
        "rate": 0.001,
        "schedule": "constant",
        "clip": "off",
        "validate_every": BATCHES_PER_EPOCH,
        "checkpoint_every": 1_000,
    },
    quick={"embedding": 16, "batch": 16, "rate": 0.01, "validate_every": 30},
    rows=(
        row("rnn-1", "RNN 1, 2048 units", "simple", 2048, 50, 4_946_530, 14.81, 19.04),
        row("lstm-1", "LSTM 1, 2048 units", "lstm", 2048, 50, 19_108_450, 4.41, 3.68),
        row("rnn-2", "RNN 2, 1024 units", "simple", 1024, 30, 1_437_282, 6.87),
        row("lstm-2", "LSTM 2, 1024 units", "lstm", 1024, 30, 5_372_514, 5.94),
    ),
    measure=spelled,
    charts=charts,
)
