"""The course of a run as it is told: reports of steps become log entries, and events their log.

The loop runs ahead of the device, so the report of a step stays there until a log entry or a
checkpoint needs it. A report is checked (`divergence.Watch`) before anything is made of it.
"""

import errno
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, cast

from ...errors import BadInput
from ...learning import Learner
from ..folder.events import Event, Opening, Train, of_form, opens
from ..folder.log import NAME as LOG
from ..folder.run import RunFolder
from .divergence import Diverged, Unsound, Watch
from .step import Steps

Listener = Callable[[dict], None]


class Recorder:
    """Checks and logs the reports of steps, tells events, and counts where the time goes.

    Attributes:
        begun: the step of the checkpoint that this process continues from.
        steps, log_every: of the whole run, and between two log entries.
        pending: reports of the steps since the last log entry, possibly still on the device.
        sizes: how many symbols each of these steps read.
        logged, logged_step: when the last log entry was written, and its step.
        checked: the last step whose loss is known to be good.
        trained: seconds of training up to the last log entry, in all processes; not of validation.
        compiled: when the first step of this process was done.
        untold: events that wait until the baselines, which the first event has, are known.
        spent: seconds by what they went to: start (until the first step, and waiting for the
            baselines), compile (with the first step), input (batches), step (handing over), wait
            (for the device), log, validation, checkpoint, other. They add up to all of them.
    """

    def __init__(
        self,
        run: RunFolder,
        learner: Learner,
        stepper: Steps,
        watch: Watch,
        opening: Opening,
        baselines: "Future[dict[str, float]]",
        listener: Listener,
        started: float,
    ):
        """
        Args:
            run, learner, stepper, watch: of the training.
            opening: the first event, but for the baselines.
            baselines: of the task, from a thread.
            listener: hears every event.
            started: when the clock was at zero.
        """
        self.run, self.learner, self.stepper, self.watch = run, learner, stepper, watch
        self.baselines, self.listener, self.started = baselines, listener, started
        self.steps, self.log_every = opening["steps"], opening["log_every"]
        self.begun = self.logged_step = self.checked = step = opening["step"]
        self.untold: list[Event] = [opening]
        self.pending: list[dict] = []
        self.sizes: list[int] = []
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.logged, self.compiled = self.seconds(), 0.0
        before = (event for event in of_form(run.events(), Train) if event["step"] <= step)
        self.trained = sum(event.get("took", 0.0) for event in before)

    def seconds(self) -> float:
        return round(time.perf_counter() - self.started, 3)

    def training_seconds(self) -> float:
        """Seconds of training until now, in all processes."""
        return self.trained + self.seconds() - self.logged

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Count the time of a block as spent on a part of the work."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.spent[part] += time.perf_counter() - started

    @contextmanager
    def paused(self) -> Iterator[None]:
        """A context whose time is not training time."""
        started = self.seconds()
        yield
        self.logged += self.seconds() - started

    def first_step_done(self) -> None:
        """Count all time until now as that of the start and of compiling."""
        self.compiled = self.seconds()
        self.spent.clear()
        self.spent |= {"start": self.logged, "compile": self.compiled - self.logged}

    def check(self, step: int) -> list[dict]:
        """Fetch and check the reports up to a step, since the last log entry."""
        count = step - self.logged_step
        with self.timed("wait"):  # for the device, as long as it has not computed the step
            reports = self.stepper.fetched(self.pending[:count])
        self.pending[:count] = reports
        known = max(self.checked - self.logged_step, 0)
        self.judge(reports[known:], self.logged_step + known + 1)
        return reports

    def judge(self, reports: list[dict], first: int) -> None:
        """Raise if a loss is not finite or has exploded; the first report is that of step `first`.

        What was good before it is still to be saved.
        """
        try:
            self.watch.check(reports, first)
        except (Diverged, Unsound) as error:
            self.checked = error.step - 1
            raise
        self.checked = first + len(reports) - 1

    def log(self, step: int) -> None:
        """Log the reports since the last log entry as one event."""
        if step <= self.logged_step:
            return
        reports = self.check(step)
        del self.pending[: len(reports)]
        self.watch.remember(reports)
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
            self.tell(cast(Train, event))
        self.logged, self.logged_step = self.seconds(), step

    def tell(self, event: Event) -> None:
        """Log an event, as soon as the baselines of the first one are known."""
        self.untold.append(event)
        if self.baselines.done():
            self.tell_all()

    def tell_all(self) -> None:
        """Log the waiting events in order; one that cannot be logged still waits."""
        while self.untold:
            event = self.untold[0]
            if opens(event):
                started = self.seconds()
                with self.paused():
                    event["baselines"] = self.baselines.result()
                self.spent["start"] += self.seconds() - started
            try:
                self.run.note(event)
            except OSError as error:
                where = f"{self.run.path / LOG} cannot grow at step {event['step']}"
                raise BadInput(f"{where}: {how_to_continue(self.run, error)}") from None
            del self.untold[0]
            self.listener(dict(event))


def how_to_continue(run: RunFolder, error: Exception) -> str:
    """Why a file of a run could not be written, which checkpoint is left, and what to do."""
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
    reason = getattr(error, "strerror", None) or " ".join(str(error).split())
    return (
        f"{reason or type(error).__name__}; last good checkpoint: {last_checkpoint(run)}. "
        f"{'Free some space' if full else 'Mend that'}, then --resume"
    )


def last_checkpoint(run: RunFolder) -> str:
    """The step and the place of the last checkpoint, in words."""
    steps = run.steps()
    return f"step {steps[-1]}, in {run.path}" if steps else "none yet"
