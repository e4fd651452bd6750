"""Graves et al. (2009): handwriting by words, a bidirectional LSTM beside hidden Markov models."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..runs.analysis.evaluation import measured
from ..runs.build import build_task
from ..tasks.handwriting.hidden_markov import fit_characters, most_probable_words
from .page import learning_curves
from .recipes import Job, Measurements, Result, TableRow
from .trained import Trained, Trial, scaled

LISTED, FREE = "word accuracy, %", "without the list, %"
MARKOV = "hmm"
WRITTEN, FEW = 1_000, 20  # words that the hidden Markov models learn from


class BesideMarkov(Trained):
    """A recipe with one row that is no network: hidden Markov models of the same words."""

    def obtain(self, row: TableRow, seeds: Sequence[int], job: Job) -> Iterable[Result]:
        if row.name != MARKOV:
            return super().obtain(row, seeds, job)
        return [self._markov(row, seed, job) for seed in seeds]

    def _markov(self, row: TableRow, seed: int, job: Job) -> Result:
        started, count = time.monotonic(), FEW if job.quick else WRITTEN
        task: Any = build_task(self.config(row, job, seed))
        lexicon = [[task.labels.index(x) for x in word] for word in task.words]
        train, test = task.batch(0, count), next(task.held_out("test", count))
        models, _ = fit_characters(
            [_characters(x) for x in train.targets.T],
            _drawings(train),
            len(task.labels),
            report=job.report,
        )
        read = most_probable_words(models, lexicon, _drawings(test), job.report)
        right = [task.words[n] == text for n, text in zip(read, task.texts(test), strict=True)]
        return Result(
            row=row.name,
            seed=seed,
            quick=job.quick,
            changes=dict(job.changes),
            parameters=models.means.size + models.variances.size + models.stay.size,
            seconds=round(time.monotonic() - started, 1),
            numbers={LISTED: 100 * float(np.mean(right)), FREE: None},
            words=f"{count:,} words to learn from, {len(right):,} to recognise.",
        )


def _characters(targets: np.ndarray) -> np.ndarray:
    return targets[targets > 0] - 1


def _drawings(batch: Any) -> list[np.ndarray]:
    return [batch.inputs[:length, n] for n, length in enumerate(batch.lengths)]


def measure(trial: Trial) -> Measurements:
    """The share of test words that are right, with the list and without it."""
    batches = trial.task.held_out("test", 100)
    (free,) = measured(trial.network, batches, trial.task.metrics[1:])
    (listed,) = trial.task.scores(trial.network, "test").values()
    return Measurements({LISTED: 100 * listed, FREE: scaled(free)})


RECIPE = BesideMarkov(
    name="handwriting-words",
    title="Handwriting by words",
    source="Graves et al. (2009), by way of Lipton et al. (2015), section 5.5",
    shows="A bidirectional LSTM with CTC recognises more words of pen strokes than hidden Markov "
    "models do.",
    differs=(
        "Single words of a list of 107, drawn here by 200 writers, those of the test by 50 others; "
        "the source reads lines of a whiteboard (IAM-OnDB) with a dictionary of 20,000 words and a "
        "bigram model.",
        "Three numbers per step of the pen, where the source has 25 features.",
        "The hidden Markov models have eight states per character, each with one Gaussian, and "
        "learn from 1,000 words; those of the source have mixtures of Gaussians.",
        "With the list, the most probable word of it is taken, by the sum over all paths; without, "
        "the most probable path.",
        "64 units in each direction in place of 100, and Adam in place of gradient descent.",
        "Never run in full: after 281 of 2,000 steps the LSTM had 99.8 % of 500 test words right "
        "(one seed, 91.2 % without the list), the hidden Markov models 98.4 %. That is the "
        "published order, on an easier task: seven words make the difference.",
    ),
    columns=(LISTED, FREE),
    order=LISTED,
    higher_is_better=True,
    digits=1,
    common={
        "task": "handwriting",
        "words": "common",
        "cell": "lstm",
        "bidirectional": True,
        "units": 64,
        "batch": 32,
        "learner": "adam",
        "rate": 0.004,
        "schedule": "cosine",
        "steps": 2_000,
        "validate_every": 250,
    },
    quick={"units": 4, "batch": 4, "steps": 4, "validate_every": 4, "writers": 5},
    rows=(
        TableRow("blstm", "bidirectional LSTM, CTC", {}, {LISTED: 81.5}),
        TableRow(MARKOV, "hidden Markov models", {}, {LISTED: 70.1}),
    ),
    measure=measure,
    charts=learning_curves("label error rate"),
)
