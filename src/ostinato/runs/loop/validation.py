"""Validation during training: the metrics on the validation part, and a preview."""

import math
from concurrent.futures import Future
from itertools import islice
from typing import Any

import jax

from ...cells import Model
from ...learning import Learner
from ...tasks import Task
from ..analysis.evaluation import measured
from ..folder.checkpoints import Progress
from ..folder.events import Valid
from .divergence import Diverged, finite_or_none
from .prefetch import beside
from .recorder import Recorder

STREAMS = 32
WORTHWHILE = 20  # steps to go before the first validation, if it is compiled ahead


class Validation:
    """Validates the network of a run.

    Attributes:
        rehearsal: a validation in a thread, which compiles it; `None` where it is not worthwhile.
    """

    def __init__(self, task: Task, learner: Learner, recorder: Recorder, seed: int):
        self.task, self.learner, self.recorder = task, learner, recorder
        self.key = jax.random.key(seed)
        self.rehearsal: Future[None] | None = None

    def rehearse(self, network: Model, steps: int) -> None:
        """Validate and show a network in a thread, which compiles both while the run goes on.

        `steps` is how many there are before the first validation.
        """

        def compile_both() -> None:
            batches = self.task.held_out("valid", STREAMS)
            measured(network, islice(batches, 2), self.task.metrics)
            self.task.preview(network, self.key)

        if steps > WORTHWHILE:
            self.rehearsal = beside("validation", compile_both)

    def __call__(self, now: Any, progress: Progress) -> tuple[Any, Progress]:
        """Validate the network after a step; the arrays and the progress after it."""
        if self.rehearsal is not None:
            self.rehearsal.result()
        task, stepper = self.task, self.recorder.stepper
        batches = task.held_out("valid", STREAMS)
        value, *_ = values = stepper.measured(now, batches, task.metrics)
        if value is None:  # the validation part is empty
            return now, progress
        sign = -1 if task.metric.higher_is_better else 1
        # NaN and infinity say nothing of a gain: they are never the best, and do not count as
        # waiting for a better one.
        finite = math.isfinite(value)
        if finite and (progress.best is None or sign * value < sign * progress.best):
            progress = progress._replace(best=value, best_step=progress.step, waited=0)
        elif finite or progress.best is None:
            progress = progress._replace(waited=progress.waited + 1)
        event: Valid = {"kind": "valid", "step": progress.step, "value": value}
        event["metrics"] = {
            metric.name: None if number is None else finite_or_none(number)
            for metric, number in zip(task.metrics, values, strict=True)
        }
        checkpoint = stepper.checkpoint(now)
        preview = task.preview(checkpoint.network, jax.random.fold_in(self.key, progress.step))
        if preview is not None:
            event["preview"] = preview
        self.recorder.tell(event)
        if not finite:
            return now, progress
        heard = self.learner.after_validation(checkpoint.learner, sign * value)
        if heard is not checkpoint.learner:
            now = stepper.begin(checkpoint._replace(learner=heard))
        return now, progress

    def check(self, progress: Progress) -> None:
        """Raise if there were validations, but none with a finite metric."""
        if progress.best is None and progress.waited:
            raise Diverged(
                f"none of the {progress.waited} validations gave a finite "
                f"{self.task.metric.name}, although the loss of training is finite. Look for NaN "
                "in the validation part, and for a division by zero in the metric.",
                progress.step,
            )
