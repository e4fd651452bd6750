"""The training loop of a run: steps, log, validation, checkpoints."""

import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from ..data import Batch
from ..errors import BadInput
from ..learning import Learner, length_at
from ..tasks import Task
from ..weights import count_parameters, trained_names
from ..wiring import Network, outputs_of
from .build import batch_size, build_learner, steps_of
from .checkpoints import Checkpoint, Progress
from .company import Company
from .config import Config
from .devices import Spread
from .events import readable
from .folder import Run
from .looking import Lens
from .signals import stop_signals
from .step import Alone, Steps, compiled_step
from .trouble import Diverged, check_losses

Listener = Callable[[dict], None]
VALIDATION_STREAMS = 32


class _Unsound(Exception):
    """A loss or a gradient is not finite, perhaps because a persistent kernel failed."""


class Training:
    """One run, from its last checkpoint to its end.

    A checkpoint is written one step late, after the next step has shown that its weights give a
    finite loss that has not exploded; so the last checkpoint is always good:

        step        1     2     3     4     5
        checkpoint        taken       taken
        written                 2           4

    A failed persistent kernel returns NaN instead of blocking, so no step has to wait for its
    kernels. If one may have failed, the run continues from the last checkpoint with the scan.

    Attributes:
        pending: reports of the steps since the last log entry, possibly still on the device.
        norms: gradient norms of the last logged steps.
        usual: a loss to compare with, from the first step.
        trained: seconds of training up to the last log entry, in all processes; not of validation.
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
        company: Company | None = None,
    ):
        self.run, self.task, self.network, self.learner = run, task, network, learner
        self.spread, self.given, self.company = spread, given, company
        self.listener = listener or (lambda event: None)
        self.config = config = run.config
        self.steps = steps = steps_of(config, task)
        self.log_every = 1 if learner.log_every_step else max(1, min(50, steps // 100))
        self.validate_every = config.validate_every or max(1, steps // 5)
        self.checkpoint_every = config.checkpoint_every or max(1, steps // 20)
        self.lens = Lens(task.loss)
        self.started, self.logged, self.trained = time.perf_counter(), 0.0, 0.0
        self.may_fail = _by_kernels(config, learner)
        if company is not None and company.mapped:
            self._without_kernels()

    def go(self) -> Run:
        try:
            return self._go()
        except _Unsound as found:
            warnings.warn(str(found), RuntimeWarning, stacklevel=3)
        self._without_kernels()
        return self._go()

    def _without_kernels(self) -> None:
        self.may_fail = False
        self.learner = build_learner(self.config.replace(backend="scan"), self.task, self.given)

    def _steps(self) -> Steps:
        """How this run takes its steps: by itself, or with others."""
        if self.company is None:
            step = compiled_step(self.network, self.learner, self.config.seed)
            return Alone(step, self.spread)
        return self.company.steps(self.task, self.network, self.learner, self.config, self.spread)

    def _go(self) -> Run:
        config = self.config
        self.norms: list[float] = []
        self.usual: float | None = None
        self.pending: list[dict] = []
        self.by = self._steps()
        fresh_state = self.learner.start(self.network, self._batch(0).arrays)
        now, progress = self._restored(fresh_state)
        self.trained = self._trained_before(progress.step)
        self._start(progress)
        reason = "done"
        unwritten: tuple[Any, Progress] | None = None
        with stop_signals() if self.company is None else nullcontext(self.company.stop) as stop:
            while progress.step < self.steps and reason == "done":
                now, report = self._advance(now, fresh_state, progress.step)
                self.pending.append(report)
                step = progress.step + 1
                if unwritten:
                    self._check(step)
                    self._save(*unwritten)
                    unwritten = None
                if step % self.log_every == 0:
                    self._log(step)
                progress = progress._replace(step=step)
                if config.lens is not None and step % config.lens == 0:
                    self._look_inside(now, fresh_state, step)
                if stop.number is not None and step < self.steps:
                    reason = "interrupted"
                elif self._time_is_up() and step < self.steps:
                    reason = "time"
                ends = step == self.steps or reason == "time"
                validate = step % self.validate_every == 0 or ends
                if validate:
                    self._log(step)  # first, so that validation does not count as training time
                    now, progress = self._validate(now, progress)
                    waited = config.patience is not None and progress.waited >= config.patience
                    reason = "no gain" if waited and reason == "done" else reason
                if validate or reason != "done" or step % self.checkpoint_every == 0:
                    self._log(step)  # so that a run resumed from here logs the same
                    unwritten = now, progress
        if unwritten:  # one more step, only to check the loss
            _, report = self._advance(now, fresh_state, progress.step)
            self._look(self.by.fetched([report]), progress.step + 1)
            self._save(*unwritten)
        self._tell(
            {
                "kind": "end",
                "step": progress.step,
                "reason": reason,
                "metric": self.task.metric.name,
                "best": progress.best,
                "best_step": progress.best_step,
                "seconds": self._seconds(),
                **({"signal": int(stop.number or 0)} if reason == "interrupted" else {}),
            }
        )
        return self.run

    def _trained_before(self, step: int) -> float:
        """Seconds of training up to a step, from the log."""
        events = [e for e in readable(self.run.events()) if e["kind"] == "train"]
        return sum(event.get("took", 0.0) for event in events if event["step"] <= step)

    def _time_is_up(self) -> bool:
        if self.config.minutes is None:
            return False
        return self.trained + self._seconds() - self.logged >= 60 * self.config.minutes

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
        batch = self._batch(step)
        self.symbols = batch.size
        return self.by.advance(now, fresh_state, batch, step)

    def _batch(self, step: int) -> Batch:
        batch = self.task.batch(step, batch_size(self.config), self._length(step))
        # Windows of another length lie elsewhere in the text, so the state cannot be carried.
        return batch._replace(first=batch.first or self._length(step) != self._length(step - 1))

    def _length(self, step: int) -> int | None:
        if self.config.curriculum is None:
            return None
        return length_at(max(step, 0), self.config.steps, self.config.curriculum, self.task.length)

    def _start(self, progress: Progress) -> None:
        event: dict[str, Any] = {
            "kind": "resume" if progress.step else "start",
            "step": progress.step,
            "steps": self.steps,
            "task": self.task.name,
            "metric": self.task.metric.name,
            "higher_is_better": self.task.metric.higher_is_better,
            "loss_factor": self.task.metric.loss_factor,
            "baselines": self.task.baselines(),
            "solved": self.task.solved,
            "lag": self.task.lag,
            "in_nats": self.task.loss.in_nats,
            "epochs": self._epochs(),
            "vocabulary": None if self.task.vocabulary is None else len(self.task.vocabulary),
            "parameters": count_parameters(self.network),
            "device": jax.devices()[0].device_kind,
            "log_every": self.log_every,
            "run": self.run.name,
        }
        self._tell(event)

    def _epochs(self) -> float | None:
        """The number of epochs in all steps; `None` with unlimited data or a curriculum."""
        if self.config.curriculum is not None:
            return None
        return self.task.epochs(self.steps, batch_size(self.config), self.task.length)

    def _look_inside(self, now: Any, fresh_state: Any, step: int) -> None:
        """Lens measurements of the network on the next batch."""
        started = self._seconds()
        batch = self._batch(step)
        carried = self.learner.carries_state and not batch.first
        network, _, state = self.by.checkpoint(now)
        seen = self.lens.look(network, batch, state if carried else None)
        self._tell({"kind": "lens", "step": step, "took": self._seconds() - started, **seen})
        self.logged += self._seconds() - started  # not training time

    def _check(self, step: int) -> list[dict]:
        """Fetch the reports since the last log entry and check them."""
        self.pending = self.by.fetched(self.pending)
        self._look(self.pending, step - len(self.pending) + 1)
        return self.pending

    def _log(self, step: int) -> None:
        """Log the reports since the last log entry as one event."""
        if not self.pending:
            return
        reports, self.pending = self._check(step), []
        self.norms = (self.norms + [float(r["norm"]) for r in reports])[-100:]
        now = self._seconds()
        event: dict[str, Any] = {"kind": "train", "step": step, "seconds": now}
        event["took"] = now - self.logged
        self.trained += event["took"]
        event |= self.learner.summary(reports)
        for name in ("norm", "moved"):
            event[f"largest_{name}"] = float(max(r[name] for r in reports))
        event["symbols"] = self.symbols * len(reports)
        self._tell(event)
        self.logged = self._seconds()

    def _look(self, reports: list[dict], first: int) -> None:
        """Stop if a loss is not finite or has exploded."""
        if self.may_fail and not all(
            np.isfinite(report[name]) for report in reports for name in ("loss", "norm")
        ):
            raise _Unsound(
                f"a loss or a gradient is not finite from step {first} on, perhaps because a "
                "persistent kernel timed out; the run continues with the scan from its last good "
                f"checkpoint: {self._kept()}"
            )
        if self.usual is None:
            # Nothing counts in a batch of washout: then a later one is compared with.
            self.usual = max(float(reports[0]["loss"]), self._silent()) or None
        try:
            usual = np.inf if self.usual is None else self.usual
            check_losses(first, reports, self.norms, self._names(), usual, self.learner.advice)
        except Diverged as trouble:
            words = f"{trouble} Last good checkpoint: {self._kept()}"
            numbers = {
                name: [_plain(report[name]) for report in reports]
                for name in ("loss", "norm", "rate", "clipped", "moved")
            }
            self._tell({"kind": "trouble", "step": first, "words": words, **numbers})
            raise Diverged(words) from None

    def _silent(self) -> float:
        """The loss of outputs that are all zero, as a reference."""
        batch = self._batch(0).arrays
        shape, _ = eqx.filter_eval_shape(outputs_of, self.network, batch)
        silence = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shape)
        return float(self.task.loss(silence, batch.on_device()))

    def _kept(self) -> str:
        steps = self.run.steps()
        return f"step {steps[-1]}, in {self.run.path}" if steps else "none yet"

    def _validate(self, now: Any, progress: Progress) -> tuple[Any, Progress]:
        batches = self.task.held_out("valid", VALIDATION_STREAMS)
        (value,) = self.by.measured(now, batches, (self.task.metric,))
        if value is None:  # the validation part is empty
            return now, progress
        sign = -1 if self.task.metric.higher_is_better else 1
        if progress.best is None or sign * value < sign * progress.best:
            progress = progress._replace(best=value, best_step=progress.step, waited=0)
        else:
            progress = progress._replace(waited=progress.waited + 1)
        event: dict[str, Any] = {"kind": "valid", "step": progress.step, "value": value}
        key = jax.random.fold_in(jax.random.key(self.config.seed), progress.step)
        network, memory, _ = checkpoint = self.by.checkpoint(now)
        if (preview := self.task.preview(network, key)) is not None:
            event["preview"] = preview
        self._tell(event)
        self.logged = self._seconds()  # not training time
        heard = self.learner.heard(memory, sign * value)
        return now if heard is memory else checkpoint._replace(learner=heard), progress

    def _save(self, now: Any, progress: Progress) -> None:
        try:
            self.run.save(self.by.checkpoint(now), progress)
        except OSError as error:
            raise BadInput(
                f"could not write the checkpoint of step {progress.step} in {self.run.path}: "
                f"{error.strerror}; last good checkpoint: {self._kept()}. Free some space, then "
                "--resume"
            ) from None

    def _names(self) -> list[str]:
        return trained_names(self.network)

    def _seconds(self) -> float:
        return round(time.perf_counter() - self.started, 3)

    def _tell(self, event: dict) -> None:
        self.run.note(event)
        self.listener(event)


def _by_kernels(config: Config, learner: Learner) -> bool:
    """Whether gradients may be computed by persistent kernels."""
    on_gpu = jax.default_backend() == "gpu"
    return on_gpu and config.backend != "scan" and not learner.exact


def _plain(number: Any) -> float | None:
    """The number, or `None` for NaN and infinity, which JSON does not have."""
    return float(number) if np.isfinite(number) else None
