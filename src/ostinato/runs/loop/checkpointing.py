"""Checkpoints are taken by the training loop and written by a thread while it goes on.

The loop hands over a checkpoint and takes its next step (`Keeper`). The thread waits for the copies
from the device, computes the checksum and writes the file; never more than one is on its way.

How often: writing takes processor time, of which training may lose 2 %, and a killed run loses what
it has done since its last checkpoint, which should be no more than a minute, or 1 % of the run if
that is longer, and the two steps after which a checkpoint is known to be good. See `interval`.
"""

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from ...errors import BadInput
from ..folder.checkpoints import Checkpoint, Progress
from .recorder import Recorder, how_to_continue, last_checkpoint

SHARE = 0.02  # of the time, for writing
SHORTEST, LONGEST = 5.0, 60.0  # seconds between two checkpoints
PART = 0.01  # of the run that a kill may lose


def interval(cost: float, run: float, delay: float = 0.0) -> float:
    """Seconds from one checkpoint to the next.

    Args:
        cost: processor seconds of writing one.
        run: seconds of the whole run, as far as they are known.
        delay: seconds that may pass until one that is due is on the disk.

    Example:
        >>> interval(0.01, 80.0), interval(0.3, 80.0), interval(9.0, 80.0), interval(9.0, 9000.0)
        (5.0, 15.0, 60.0, 90.0)
        >>> interval(9.0, 80.0, delay=8.0)
        52.0
    """
    return min(max(cost / SHARE, SHORTEST), max(LONGEST, PART * run) - delay)


class CheckpointWriter:
    """Writes checkpoints, one at a time, in a thread.

    Attributes:
        cost: processor seconds that the last one took.
        seconds: how long it took.
        step: that of the last one.

    Example:
        >>> written = []
        >>> writer = CheckpointWriter(lambda checkpoint, progress: written.append(progress.step))
        >>> writer.write(Checkpoint(cell, None, None), Progress(step=3))
        >>> writer.finish()
        >>> written
        [3]
    """

    def __init__(self, save: Callable[[Checkpoint, Progress], None]):
        self.save, self.cost, self.seconds, self.step = save, 0.0, 0.0, 0
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    @property
    def busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def write(self, checkpoint: Checkpoint, progress: Progress) -> None:
        """Begin to write a checkpoint, after the one before has been written."""
        self.finish()
        for x in jax.tree.leaves(checkpoint):
            if isinstance(x, jax.Array):
                x.copy_to_host_async()
        self.step = progress.step
        self._error = RuntimeError("the thread that writes it did not start or ended early")
        # No daemon: if the interpreter ends, it waits for the file.
        thread = threading.Thread(target=self._write, args=(checkpoint, progress))
        thread.start()
        self._thread = thread

    def check(self) -> None:
        """Raise what went wrong in the thread, if anything did."""
        if not self.busy:
            self.finish()

    def finish(self) -> None:
        """Wait until the checkpoint is written; raise what went wrong."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if (error := self._error) is not None:
            self._error = None
            raise error

    def _write(self, checkpoint: Any, progress: Progress) -> None:
        started, used = time.perf_counter(), time.thread_time()
        try:
            self.save(checkpoint, progress)
            self._error = None
        except Exception as error:
            self._error = error
        self.cost, self.seconds = time.thread_time() - used, time.perf_counter() - started


class _Taken(NamedTuple):
    """A checkpoint that is not written yet, and when it was taken."""

    checkpoint: Checkpoint
    progress: Progress
    seconds: float


class Keeper:
    """Takes the checkpoints of a training loop, and has them written.

    A checkpoint is written after the next step has shown that its weights give a finite loss that
    has not exploded; so the last checkpoint is always good:

        step                  1     2     3     4     5
        checkpoint                  taken
        loss of its weights               3
        fetched, then written                   2

    The best network is taken at its validation and waits for its turn.

    Attributes:
        recorder: of the run whose checkpoints they are.
        every: the steps between two of them; `None` if that follows from what they cost.
        taken: a checkpoint that waits to be written.
        saved: when the last written checkpoint was taken.
        is_time: says whether one may be taken or written now, if `every` is `None`; by default
            `is_free`. Several processes agree on it.
    """

    def __init__(self, recorder: Recorder, every: int | None):
        self.recorder, self.every = recorder, every
        self.is_time: Callable[[], bool] = self.is_free
        self.writer = CheckpointWriter(recorder.run.save)
        self.taken: _Taken | None = None
        self.saved = recorder.seconds()

    def take(self, now: Any, progress: Progress) -> None:
        """Keep the arrays as a checkpoint to be written, if it is time for one or they are best."""
        step = progress.step
        best = progress.best_step == step
        if self.every is None:
            # At a log entry only, so that a run that is resumed from here logs the same.
            logged = self.taken is None and step % self.recorder.log_every == 0
            if not best and not (logged and self.is_time()):
                return
        elif best or step % self.every == 0:
            self.recorder.log(step)
            self.write_taken(step, wait=True)
            with self.recorder.timed("checkpoint"):  # so that there is never a second one in memory
                self._heard_from_writer(self.writer.finish)
        else:
            return
        self.taken = self._taken(now, progress)

    def _taken(self, now: Any, progress: Progress) -> _Taken:
        return _Taken(self.recorder.stepper.checkpoint(now), progress, self.recorder.seconds())

    def is_free(self) -> bool:
        """Whether the last checkpoint is written, and enough time has passed since then.

        The next chance comes with the next log entry, and then it has to be written. If the best
        one is waiting, it goes first and both have to be written.
        """
        if self.writer.busy:
            return False
        record, passed = self.recorder, self.recorder.seconds()
        step = (passed - record.compiled) / max(record.logged_step - record.begun, 1)
        delay = record.log_every * step + self.writer.seconds
        if self.taken is not None:
            delay += self.writer.seconds
        return passed - self.saved >= interval(self.writer.cost, step * record.steps, delay)

    def write_taken(self, computed: int, wait: bool = False) -> None:
        """Begin to write the checkpoint that was taken, if it is time and it is known to be good.

        Args:
            computed: the last step whose report may be fetched.
            wait: whether to write it now, even if the one before is not written yet.
        """
        self._heard_from_writer(self.writer.check)
        if self.taken is None or computed <= self.taken.progress.step:
            return
        if not wait and self.every is None and not self.is_time():
            return
        self.recorder.check(computed)
        self._begin(self.taken)

    def _begin(self, taken: _Taken) -> None:
        self.recorder.tell_all()  # a checkpoint without a log would be lost
        with self.recorder.timed("checkpoint"):
            self._heard_from_writer(lambda: self.writer.write(taken.checkpoint, taken.progress))
        self.taken, self.saved = None, taken.seconds

    def save_good(self) -> None:
        """Write what was taken and is known to be good; after an error too."""
        if self.taken is not None and self.recorder.checked > self.taken.progress.step:
            self._begin(self.taken)
        self._heard_from_writer(self.writer.finish)

    def _heard_from_writer(self, call: Callable[[], None]) -> None:
        try:
            call()
        except BadInput:
            self.taken = None
            raise
        except Exception as error:
            self.taken = None
            run = self.recorder.run
            raise BadInput(
                f"could not write the checkpoint of step {self.writer.step} in {run.path}: "
                f"{how_to_continue(run, error)}"
            ) from None

    def kept(self) -> str:
        """Which checkpoint is the last one, in words."""
        return last_checkpoint(self.recorder.run)

    def write_best(self, progress: Progress) -> None:
        """At the end: write what was taken if it was asked for or is the best; forget the rest."""
        asked = self.every is not None
        if self.taken is not None and (asked or self.taken.progress.step == progress.best_step):
            self.write_taken(progress.step, wait=True)
        self.taken = None

    def write_last(self, now: Any, progress: Progress) -> None:
        """Write the arrays of the last step, and wait for it."""
        self._begin(self._taken(now, progress))
        with self.recorder.timed("checkpoint"):
            self._heard_from_writer(self.writer.finish)
