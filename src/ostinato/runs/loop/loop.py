"""The training loop of a run: steps, log, validation, checkpoints."""

import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from itertools import islice
from typing import Any, TypeVar, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from ...data import Batch
from ...learning import Learner
from ...learning.schedules import length_at
from ...tasks import Task
from ...weights import count_parameters, trained_names
from ...wiring import Network, outputs_of
from ..analysis.evaluation import measured
from ..build import build_learner, steps_of
from ..config import Config
from ..folder.checkpoints import Checkpoint, Progress
from ..folder.events import (
    DIVERGED,
    Divergence,
    End,
    Event,
    Look,
    Opening,
    Train,
    Valid,
    of_form,
    opens,
)
from ..folder.run import Run
from .checkpointing import Keeper
from .divergence import Diverged, check_losses
from .prefetch import Prefetch, in_background
from .probe import Lens
from .signals import Stop, stop_signals
from .step import Alone, RunGroup, Spread, Steps, compiled_step

Listener = Callable[[dict], None]
VALIDATION_STREAMS = 32
WORTHWHILE = 20  # steps to go before the first validation, if it is compiled ahead
Made = TypeVar("Made")


class _Unsound(Exception):
    """A loss or a gradient is not finite, perhaps because a persistent kernel failed."""


class Training:
    """One run, from its last checkpoint to its end.

    The loop runs ahead of the device: the reports of a step are fetched while the device computes
    the next one. `Keeper` takes checkpoints and has them written.

    A failed persistent kernel returns NaN instead of blocking, so no step has to wait for its
    kernels. If one may have failed, the run continues from the last checkpoint with the scan.

    Attributes:
        now: all arrays after the last step; no caller's frame may hold earlier ones.
        begun: the step of the checkpoint that this process continues from.
        pending: reports of the steps since the last log entry, possibly still on the device.
        sizes: how many symbols each of these steps read.
        logged_step: the step of the last log entry.
        checked: the last step whose loss is known to be good.
        keeper: takes the checkpoints.
        norms: gradient norms of the last logged steps.
        reference_loss: a loss to compare with, from the first step.
        trained: seconds of training up to the last log entry, in all processes; not of validation.
        silent: the loss of silence, from a thread.
        rehearsal: a validation in a thread, which compiles it; `None` where it is not worthwhile.
        untold: events that wait until the baselines, which the first event has, are known.
        compiled: when the first step of this process was done.
        spent: seconds by what they went to: start (until the first step, and waiting for the
            baselines), compile (with the first step), input (batches), step (handing over), wait
            (for the device), log, validation, checkpoint, other. They add up to all of them.
    """

    def __init__(
        self,
        run: Run,
        task: Task,
        network: Network,
        learner: Learner,
        listener: Listener | None,
        spread: Spread,
        given: optax.GradientTransformation | None = None,
        group: RunGroup | None = None,
    ):
        self.run, self.task, self.network, self.learner = run, task, network, learner
        self.spread, self.given, self.group = spread, given, group
        self.listener = listener or (lambda event: None)
        self.config = config = run.config
        self.steps = steps = steps_of(config, task)
        usual = 1 if learner.log_every_step else max(1, min(50, steps // 100))
        self.log_every = config.log_every or usual
        self.validate_every = config.validate_every or max(1, steps // 5)
        self.lens = Lens(task.loss)
        self.keeper = Keeper(self)
        self.started, self.logged, self.trained = time.perf_counter(), 0.0, 0.0
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.may_fail = _by_kernels(config, learner)
        if group is not None and group.mapped:
            self._without_kernels()

    def train(self) -> Run:
        try:
            return self._run_from_checkpoint()
        except _Unsound as unsound:
            warnings.warn(str(unsound), RuntimeWarning, stacklevel=3)
        self._without_kernels()
        return self._run_from_checkpoint()

    def _without_kernels(self) -> None:
        self.may_fail = False
        self.config = self.config.replace(backend="scan")
        self.learner = build_learner(self.config, self.task, self.given)

    def _steps(self) -> Steps:
        """How this run takes its steps: by itself, or with others."""
        if self.group is None:
            step = compiled_step(self.network, self.learner, self.config.seed)
            return Alone(step, self.spread)
        return self.group.steps(self.task, self.network, self.learner, self.config, self.spread)

    def _run_from_checkpoint(self) -> Run:
        self.norms: list[float] = []
        self.reference_loss: float | None = None
        self.pending: list[dict] = []
        self.sizes: list[int] = []
        self.stepper = self._steps()
        self.batches = Prefetch(self._batch)
        fresh_state = self.learner.start(self.network, self._batch(0).arrays)
        checkpoint, progress = self._restored(fresh_state)
        self.now = self.stepper.begin(checkpoint)
        del checkpoint
        self.begun = self.logged_step = self.checked = progress.step
        self.logged = self.seconds()
        self.keeper.begin()
        self.trained = self._trained_before(progress.step)
        self.baselines = self._beside("baselines", self.task.baselines)
        self.silent = self._beside("reference", self._silent)
        self.rehearsal: Future[None] | None = None
        self.untold: list[Event] = [self._start(progress)]
        try:
            with stop_signals() if self.group is None else nullcontext(self.group.stop) as stop:
                progress, reason = self._loop(progress, fresh_state, stop)
            self._save_last(progress, fresh_state)
        finally:
            self.batches.close()
            self.keeper.save_good()
            self.tell_all()
        seconds = self.seconds()
        self.spent["other"] = seconds - sum(self.spent.values())
        end: End = {
            "kind": "end",
            "step": progress.step,
            "reason": reason,
            "metric": self.task.metric.name,
            "best": progress.best,
            "best_step": progress.best_step,
            "seconds": seconds,
            "spent": {name: round(value, 3) for name, value in self.spent.items()},
        }
        if reason == "interrupted":
            end["signal"] = int(stop.number or 0)
        self._tell(end)
        return self.run

    def _first_step(self, progress: Progress, fresh_state: Any) -> Any:
        """The first step, which compiles it while the baselines are computed, if one is left."""
        first = None
        if progress.step < self.steps:
            first = self._advance(self.now, fresh_state, progress.step)
            jax.block_until_ready(first)
        self.compiled = self.seconds()
        self.spent.clear()
        self.spent["start"] = self.logged
        self.spent["compile"] = self.compiled - self.logged
        if self.group is None and min(self.validate_every, self.steps - progress.step) > WORTHWHILE:
            self.rehearsal = self._beside("validation", self._rehearse)
        return first

    def _beside(self, name: str, call: Callable[[], Made]) -> "Future[Made]":
        """What a function returns, from a thread of its own."""
        pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        future = in_background(pool, call)
        pool.shutdown(wait=False)
        return future

    def _rehearse(self) -> None:
        """Validate and show the first network, which compiles both while the run goes on."""
        batches = self.task.held_out("valid", VALIDATION_STREAMS)
        measured(self.network, islice(batches, 2), self.task.metrics)
        self.task.preview(self.network, jax.random.key(self.config.seed))

    def _loop(self, progress: Progress, fresh_state: Any, stop: Stop) -> tuple[Progress, str]:
        """All steps, and why they ended."""
        config, reason = self.config, "done"
        first = self._first_step(progress, fresh_state)
        while progress.step < self.steps and reason == "done":
            self.now, report = first or self._advance(self.now, fresh_state, progress.step)
            first = None
            self.pending.append(report)
            if progress.step % self.log_every == 0:
                self.log(progress.step)  # while the device computes this step
            self.keeper.write_taken(progress.step)
            step = progress.step + 1
            progress = progress._replace(step=step)
            if config.lens is not None and step % config.lens == 0:
                self._look_inside(self.now, fresh_state, step)
            if stop.number is not None and step < self.steps:
                reason = "interrupted"
            elif self._time_is_up() and step < self.steps:
                reason = "time"
            ends = step == self.steps or reason == "time"
            if step % self.validate_every == 0 or ends:
                self.log(step)  # first, so that validation does not count as training time
                with self.timed("validation"):
                    self.now, progress = self._validated(self.now, progress)
                waited = config.patience is not None and progress.waited >= config.patience
                reason = "no gain" if waited and reason == "done" else reason
            if reason == "done" and step < self.steps:
                self.keeper.take(progress)
        self.log(progress.step)
        return progress, reason

    def _save_last(self, progress: Progress, fresh_state: Any) -> None:
        """Write the last checkpoint, after one more step, which only checks the loss."""
        self.keeper.write_best(progress)
        if progress.step == self.begun:
            return  # nothing was left to do
        _, report = self._advance(self.now, fresh_state, progress.step)
        with self.timed("wait"):
            report = self.stepper.fetched([report])
        self._look(report, progress.step + 1)
        self.keeper.write_last(progress)

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Count the time of a block as spent on a part of the work."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.spent[part] += time.perf_counter() - started

    def _trained_before(self, step: int) -> float:
        """Seconds of training up to a step, from the log."""
        events = of_form(self.run.events(), Train)
        return sum(event.get("took", 0.0) for event in events if event["step"] <= step)

    def _time_is_up(self) -> bool:
        if self.config.minutes is None:
            return False
        return self.trained + self.seconds() - self.logged >= 60 * self.config.minutes

    def _restored(self, fresh_state: Any) -> tuple[Checkpoint, Progress]:
        """The newest checkpoint, or the beginning."""
        fresh = Checkpoint(self.network, self.learner.initial(self.network), fresh_state)
        now, progress = self.run.checkpoints.newest(fresh) or (fresh, Progress())
        self.run.check_log()
        if not progress.step and any(event["step"] for event in self.run.events()):
            warnings.warn(
                f"{self.run.path} has no checkpoint: it starts again at step 0",
                RuntimeWarning,
                stacklevel=5,
            )
        self.run.go_on()
        return now, progress

    def _advance(self, now: Any, fresh_state: Any, step: int) -> tuple[Any, Any]:
        """One step of the learner."""
        with self.timed("input"):
            batch = self.batches(step)
        self.sizes.append(batch.size)
        with self.timed("step"):
            return self.stepper.advance(now, fresh_state, batch, step)

    def _batch(self, step: int) -> Batch:
        batch = self.task.batch(step, self.config.batch_size, self._length(step))
        # Windows of another length lie elsewhere in the text, so the state cannot be carried.
        return batch._replace(first=batch.first or self._length(step) != self._length(step - 1))

    def _length(self, step: int) -> int | None:
        if self.config.curriculum is None:
            return None
        return length_at(max(step, 0), self.config.steps, self.config.curriculum, self.task.length)

    def _start(self, progress: Progress) -> Opening:
        """The first event, but for the baselines."""
        return {
            "kind": "resume" if progress.step else "start",
            "step": progress.step,
            "steps": self.steps,
            "task": self.task.name,
            "metric": self.task.metric.name,
            "higher_is_better": self.task.metric.higher_is_better,
            "loss_factor": self.task.metric.loss_factor,
            "solved": self.task.solved,
            "lag": self.task.lag,
            "in_nats": self.task.loss.in_nats,
            "epochs": self._epochs(),
            "vocabulary": None if (text := self.task.text()) is None else len(text.vocabulary),
            "parameters": count_parameters(self.network),
            "device": jax.devices()[0].device_kind,
            "log_every": self.log_every,
            "run": self.run.name,
        }

    def _epochs(self) -> float | None:
        """The number of epochs in all steps; `None` with unlimited data or a curriculum."""
        if self.config.curriculum is not None:
            return None
        return self.task.epochs(self.steps, self.config.batch_size, self.task.length)

    def _look_inside(self, now: Any, fresh_state: Any, step: int) -> None:
        """Lens measurements of the network on the next batch."""
        started = self.seconds()
        batch = self._batch(step)
        carried = self.learner.carries_state and not batch.first
        network, _, state = self.stepper.checkpoint(now)
        seen = self.lens.look(network, batch, state if carried else None)
        took = self.seconds() - started
        self._tell(cast(Look, {"kind": "lens", "step": step, "took": took, **seen}))
        self.logged += self.seconds() - started  # not training time

    def check(self, step: int) -> list[dict]:
        """Fetch and check the reports up to a step, since the last log entry."""
        count = step - self.logged_step
        with self.timed("wait"):  # for the device, as long as it has not computed the step
            reports = self.stepper.fetched(self.pending[:count])
        self.pending[:count] = reports
        known = max(self.checked - self.logged_step, 0)
        self._look(reports[known:], self.logged_step + known + 1)
        return reports

    def log(self, step: int) -> None:
        """Log the reports since the last log entry as one event."""
        if step <= self.logged_step:
            return
        reports = self.check(step)
        del self.pending[: len(reports)]
        self.norms = (self.norms + [float(r["norm"]) for r in reports])[-100:]
        now = self.seconds()
        event: dict[str, Any] = {"kind": "train", "step": step, "seconds": now}
        event["took"] = now - self.logged
        self.trained += event["took"]
        event |= self.learner.summary(reports)
        for name in ("norm", "moved"):
            event[f"largest_{name}"] = float(max(r[name] for r in reports))
        event["symbols"] = sum(self.sizes[: len(reports)])
        del self.sizes[: len(reports)]
        with self.timed("log"):
            self._tell(cast(Train, event))
        self.logged, self.logged_step = self.seconds(), step

    def _look(self, reports: list[dict], first: int) -> None:
        """Stop if a loss is not finite or has exploded, after saving what is known to be good."""
        finite = [bool(np.isfinite(r["loss"]) and np.isfinite(r["norm"])) for r in reports]
        if self.may_fail and not all(finite):
            self.checked = first + finite.index(False) - 1
            self.keeper.save_good()
            raise _Unsound(
                f"a loss or a gradient is not finite from step {self.checked + 1} on, perhaps "
                "because a persistent kernel timed out; the run continues with the scan from its "
                f"last good checkpoint: {self.keeper.kept()}"
            )
        if self.reference_loss is None and reports:
            # Nothing counts in a batch of washout: then a later one is compared with.
            self.reference_loss = max(float(reports[0]["loss"]), self.silent.result()) or None
        try:
            usual = np.inf if self.reference_loss is None else self.reference_loss
            names = trained_names(self.network)
            check_losses(first, reports, self.norms, names, usual, self.learner.advice)
        except Diverged as diverged:
            self.checked = diverged.step - 1
            self.keeper.save_good()
            words = f"{diverged} Last good checkpoint: {self.keeper.kept()}"
            numbers = {name: [_plain(report[name]) for report in reports] for name in DIVERGED}
            event = {"kind": "diverged", "step": first, "words": words, **numbers}
            self._tell(cast(Divergence, event))
            raise Diverged(words, diverged.step) from None
        self.checked = first + len(reports) - 1

    def _silent(self) -> float:
        """The loss of outputs that are all zero, as a reference."""
        batch = self._batch(0).arrays
        shape, _ = eqx.filter_eval_shape(outputs_of, self.network, batch)
        silence = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shape)
        return float(self.task.loss(silence, batch.on_device()))

    def _validated(self, now: Any, progress: Progress) -> tuple[Any, Progress]:
        if self.rehearsal is not None:
            self.rehearsal.result()
        batches = self.task.held_out("valid", VALIDATION_STREAMS)
        metrics = self.task.metrics
        value, *_ = values = self.stepper.measured(now, batches, metrics)
        if value is None:  # the validation part is empty
            return now, progress
        sign = -1 if self.task.metric.higher_is_better else 1
        if progress.best is None or sign * value < sign * progress.best:
            progress = progress._replace(best=value, best_step=progress.step, waited=0)
        else:
            progress = progress._replace(waited=progress.waited + 1)
        event: Valid = {"kind": "valid", "step": progress.step, "value": value}
        event["metrics"] = {
            metric.name: None if number is None else _plain(number)
            for metric, number in zip(metrics, values, strict=True)
        }
        key = jax.random.fold_in(jax.random.key(self.config.seed), progress.step)
        network, learner_state, _ = checkpoint = self.stepper.checkpoint(now)
        if (preview := self.task.preview(network, key)) is not None:
            event["preview"] = preview
        self._tell(event)
        self.logged = self.seconds()  # not training time
        heard = self.learner.after_validation(learner_state, sign * value)
        if heard is not learner_state:
            now = self.stepper.begin(checkpoint._replace(learner=heard))
        return now, progress

    def seconds(self) -> float:
        return round(time.perf_counter() - self.started, 3)

    def _tell(self, event: Event) -> None:
        """Log an event, as soon as the baselines of the first one are known."""
        self.untold.append(event)
        if self.baselines.done():
            self.tell_all()

    def tell_all(self) -> None:
        told, self.untold = self.untold, []
        for event in told:
            if opens(event):
                started = self.seconds()
                event["baselines"] = self.baselines.result()
                self.spent["start"] += self.seconds() - started
                self.logged += self.seconds() - started  # not training time
            self.run.note(event)
            self.listener(dict(event))


def _by_kernels(config: Config, learner: Learner) -> bool:
    """Whether gradients may be computed by persistent kernels."""
    on_gpu = jax.default_backend() == "gpu"
    return on_gpu and config.backend != "scan" and not learner.exact


def _plain(number: Any) -> float | None:
    """The number, or `None` for NaN and infinity, which JSON does not have."""
    return float(number) if np.isfinite(number) else None
