"""The training loop of a run: steps, log, validation, checkpoints."""

import time
import warnings
from contextlib import nullcontext
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from ...data import Batch
from ...errors import BadInput
from ...learning import Learner
from ...learning.schedules import epochs, length_at
from ...lens.doctor.rules_for_data import too_little
from ...tasks import Task, TextTask
from ...tasks.batches import Own
from ...weights import count_parameters, trained_names
from ...wiring import Network, outputs_of
from ..analysis.answers import Run
from ..build import build_learner, steps_of
from ..config import Config
from ..folder.checkpoints import Checkpoint, Progress
from ..folder.events import End, Goal, Look, Opening
from . import processes
from .checkpointing import Keeper
from .devices import Devices
from .divergence import Diverged, Unsound, Watch
from .own_errors import without_numbers
from .prefetch import Prefetch, beside
from .probe import Lens
from .processes import Agreement, Wish
from .recorder import Listener, Recorder
from .signals import Stop, stop_signals
from .step import RunGroup
from .validation import Validation


class Training:
    """One run, from its last checkpoint to its end.

    The loop runs ahead of the device: the reports of a step are fetched while the device computes
    the next one (`Recorder`). `Keeper` takes checkpoints and has them written.

    A failed persistent kernel returns NaN instead of blocking, so no step has to wait for its
    kernels. If one may have failed, the run continues from the last checkpoint with the scan.

    Attributes:
        now: all arrays after the last step; no caller's frame may hold earlier ones.
        may_fail: whether a kernel may have failed where a loss is not finite.
    """

    def __init__(
        self,
        run: Run,
        task: Task,
        network: Network,
        learner: Learner,
        listener: Listener | None,
        devices: Devices,
        given: optax.GradientTransformation | None = None,
        group: RunGroup | None = None,
    ):
        self.run, self.task, self.network, self.learner = run, task, network, learner
        self.devices, self.given, self.group = devices, given, group
        self.listener = listener or (lambda event: None)
        self.config = config = run.config
        self.steps = steps = steps_of(config, task)
        usual = 1 if learner.log_every_step else max(1, min(50, steps // 100))
        self.log_every = config.log_every or usual
        self.validate_every = config.validate_every or max(1, steps // 5)
        self.lens = Lens(task.loss)
        self.started = time.perf_counter()
        self.may_fail = _by_kernels(config, learner)
        if group is not None and group.mapped:
            self._without_kernels()

    def train(self) -> Run:
        with processes.lost_processes():
            try:
                return self._run_from_checkpoint()
            except Unsound as unsound:
                words = f"{unsound}: {self.keeper.kept()}"
                warnings.warn(words, RuntimeWarning, stacklevel=3)
            self._without_kernels()
            return self._run_from_checkpoint()

    def _without_kernels(self) -> None:
        self.may_fail = False
        self.config = self.config.replace(backend="scan")
        self.learner = build_learner(self.config, self.task, self.given)

    def _run_from_checkpoint(self) -> Run:
        task, learner = self.task, self.learner
        group = self.group or RunGroup(Stop(), None)
        self.stepper = group.steps(task, self.network, learner, self.config, self.devices)
        self.batches = Prefetch(self._placed)
        fresh_state = learner.start(self.network, self._batch(0).arrays)
        with self.devices.aside():
            checkpoint, progress = self._restored(fresh_state)
        self.now = self.stepper.begin(checkpoint)
        del checkpoint
        baselines = beside("baselines", task.baselines)
        watch = Watch(trained_names(self.network), learner.advice, self._silent, self.may_fail)
        opening, listener = self._opening(progress.step), self.listener
        self.recorder = recorder = Recorder(
            self.run, learner, self.stepper, watch, opening, baselines, listener, self.started
        )
        self.keeper = Keeper(recorder, self.config.checkpoint_every)
        self.agreement = Agreement(self.log_every)
        self.validation = Validation(task, learner, recorder, self.config.seed)
        try:
            with stop_signals() if self.group is None else nullcontext(self.group.stop) as stop:
                progress, reason = self._loop(progress, fresh_state, stop)
            self._save_last(progress, fresh_state)
            if reason != "interrupted":
                self.validation.check(progress)
        except Diverged as diverged:
            self.keeper.save_good()
            said = self._wrong_batch(diverged.step) or str(diverged)
            words = f"{said} Last good checkpoint: {self.keeper.kept()}"
            recorder.tell({**diverged.event, "words": words})
            raise Diverged(words, diverged.step) from None
        finally:
            self.batches.close()
            self.keeper.save_good()
            recorder.tell_all()
        if processes.index() == 0:
            if more := task.after_training(lambda: self.run.network("best", self.network)):
                self.run = self.run.with_artefacts(more)
        seconds = recorder.seconds()
        recorder.spent["other"] = seconds - sum(recorder.spent.values())
        end: End = {
            "kind": "end",
            "step": progress.step,
            "reason": reason,
            "metric": task.metric.name,
            "best": progress.best,
            "best_step": progress.best_step,
            "seconds": seconds,
            "spent": {name: round(value, 3) for name, value in recorder.spent.items()},
        }
        if reason == "interrupted":
            end["signal"] = int(stop.number or 0)
        recorder.tell(end)
        return self.run

    def _first_step(self, progress: Progress, fresh_state: Any) -> Any:
        """The first step, which compiles it while the baselines are computed, if one is left."""
        first = None
        if progress.step < self.steps:
            first = self._advance(self.now, fresh_state, progress.step)
            jax.block_until_ready(first)
        self.recorder.first_step_done()
        if self.group is None and self.devices.count == 1:
            to_go = min(self.validate_every, self.steps - progress.step)
            self.validation.rehearse(self.network, to_go)
        return first

    def _loop(self, progress: Progress, fresh_state: Any, stop: Stop) -> tuple[Progress, str]:
        """All steps, and why they ended."""
        config, recorder, reason = self.config, self.recorder, "done"
        first = self._first_step(progress, fresh_state)
        while progress.step < self.steps and reason == "done":
            self.now, report = first or self._advance_later(fresh_state, progress.step)
            first = None
            recorder.pending.append(report)
            if progress.step % self.log_every == 0:
                recorder.log(progress.step)  # while the device computes this step
            self.keeper.write_taken(progress.step)
            step = progress.step + 1
            progress = progress._replace(step=step)
            if config.lens is not None and step % config.lens == 0:
                self._look_inside(self.now, step)
            agreed = self._agreed(step, stop)
            if agreed.signal and step < self.steps:
                reason, stop.number = "interrupted", agreed.signal
            elif agreed.time_is_up and step < self.steps:
                reason = "time"
            ends = step == self.steps or reason == "time"
            if step % self.validate_every == 0 or ends:
                recorder.log(step)  # first, so that validation does not count as training time
                with recorder.timed("validation"), recorder.paused():
                    self.now, progress = self.validation(self.now, progress)
                if self._without_gain(progress) and reason == "done":
                    reason = "no gain"
            if reason == "done" and step < self.steps:
                self.keeper.take(self.now, progress)
        recorder.log(progress.step)
        return progress, reason

    def _save_last(self, progress: Progress, fresh_state: Any) -> None:
        """Write the last checkpoint, after one more step, which only checks the loss."""
        self.keeper.write_best(progress)
        if progress.step == self.recorder.begun:
            return  # nothing was left to do
        _, report = self._advance(self.now, fresh_state, progress.step)
        with self.recorder.timed("wait"):
            report = self.stepper.fetched([report])
        self.recorder.judge(report, progress.step + 1)
        self.keeper.write_last(self.now, progress)

    def _agreed(self, step: int, stop: Stop) -> Wish:
        """What all processes do after a step; a signal to one of them stops all."""

        def wish() -> Wish:
            return Wish(stop.number or 0, self._time_is_up(), self.keeper.is_free())

        if processes.count() == 1:
            return Wish(stop.number or 0, self._time_is_up())
        agreed = self.agreement(step, wish)
        self.keeper.is_time = lambda: agreed.checkpoint
        return agreed

    def _without_gain(self, progress: Progress) -> bool:
        patience = self.config.patience
        return patience is not None and progress.best is not None and progress.waited >= patience

    def _time_is_up(self) -> bool:
        minutes = self.config.minutes
        return minutes is not None and self.recorder.training_seconds() >= 60 * minutes

    def _restored(self, fresh_state: Any) -> tuple[Checkpoint, Progress]:
        """The newest checkpoint, or the beginning."""
        fresh = Checkpoint(self.network, self.learner.initial(self.network), fresh_state)
        begin = fresh, Progress()
        first = processes.index() == 0
        now, progress = (self.run.checkpoints.newest(fresh) if first else None) or begin
        now, progress = processes.from_first(now, progress)
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
        with self.recorder.timed("input"):
            size, batch, number = self.batches(step)
        self.recorder.sizes.append(size)
        with self.recorder.timed("step"):
            return self.stepper.advance(now, fresh_state, batch, number)

    def _advance_later(self, fresh_state: Any, step: int) -> tuple[Any, Any]:
        """A step after the first: if it is refused, its batch is unlike those before it."""
        try:
            return self._advance(self.now, fresh_state, step)
        except BadInput as error:
            name = f"batch {step} of the task {self.task.name}"
            if name in str(error):
                raise
            raise BadInput(f"{name} is unlike the first: {error}") from error

    def _placed(self, step: int) -> tuple[int, Batch, Any]:
        """The size of a batch, and what `Steps.advance` takes of it in this process."""
        batch, size = self._some(self.devices.own if processes.count() > 1 else slice, step)
        return size, *self.stepper.place(batch, step)

    def _batch(self, step: int) -> Batch:
        return self._some(slice, step)[0]

    def _some(self, own: Own, step: int) -> tuple[Batch, int]:
        """Some sequences of a batch, and the size of all of it; see `Batches.batch_of`."""
        length = self._length(step)
        batch, size = self.task.batch_of(own, step, self.config.batch_size, length)
        # Windows of another length lie elsewhere in the text, so the state cannot be carried.
        return batch._replace(first=batch.first or length != self._length(step - 1)), size

    def _wrong_batch(self, step: int) -> str | None:
        """What is wrong with the batch of a step whose loss is not finite, if anything is."""
        if wrong := without_numbers(self._batch(step - 1)):
            return f"batch {step - 1} of the task {self.task.name} holds {wrong}; mend the data."
        return None

    def _length(self, step: int) -> int | None:
        if self.config.curriculum is None:
            return None
        return length_at(max(step, 0), self.config.steps, self.config.curriculum, self.task.length)

    def _opening(self, step: int) -> Opening:
        """The first event, but for the baselines."""
        text = self.task.ability(TextTask)
        return {
            "kind": "resume" if step else "start",
            "step": step,
            "steps": self.steps,
            "task": self.task.name,
            **cast(Opening, Goal.of(self.task)._asdict()),
            "epochs": self._epochs(),
            "vocabulary": None if text is None else len(text.vocabulary),
            "parameters": count_parameters(self.network),
            "device": jax.devices()[0].device_kind,
            "log_every": self.log_every,
            "run": self.run.name,
            **cast(Opening, {"notes": notes} if (notes := self._notes(step)) else {}),
        }

    def _notes(self, step: int) -> list[str]:
        """What was done to the data, where the run keeps them, and whether they are too few."""
        task, parameters = self.task, count_parameters(self.network)
        few = too_little(task.training_steps(), task.length, parameters, self._epochs())
        kept = None if step else self.run.manifest.get("data")
        return [
            *task.notes,
            *([] if kept is None else [f"the run keeps them in {kept}"]),
            *([] if few is None else [f"{few}: too few to learn from"]),
        ]

    def _epochs(self) -> float | None:
        """The number of epochs in all steps; `None` with unlimited data."""
        size, first = self.config.batch_size, self.config.curriculum
        return epochs(self.task, size, self.steps, self.steps, first)

    def _look_inside(self, now: Any, step: int) -> None:
        """Lens measurements of the network on the next batch."""
        started = self.recorder.seconds()
        with self.recorder.paused():
            batch = self._batch(step)
            carried = self.learner.carries_state and not batch.first
            network, _, state = self.stepper.checkpoint(now)
            seen = self.lens.look(network, batch, state if carried else None)
            took = self.recorder.seconds() - started
            self.recorder.tell(cast(Look, {"kind": "lens", "step": step, "took": took, **seen}))

    def _silent(self) -> float:
        """The loss of outputs that are all zero, as a reference."""
        batch = self._batch(0).arrays
        shape, _ = eqx.filter_eval_shape(outputs_of, self.network, batch)
        silence = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shape)
        return float(self.task.loss(silence, batch.on_device()))


def _by_kernels(config: Config, learner: Learner) -> bool:
    """Whether gradients may be computed by persistent kernels."""
    on_gpu = jax.default_backend() == "gpu"
    return on_gpu and config.backend != "scan" and not learner.exact
