"""Checkpoints are written by a thread while the training goes on.

The loop hands over a checkpoint and takes its next step. The thread waits for the copies from the
device, computes the checksum and writes the file; never more than one is on its way.

How often: writing takes processor time, of which training may lose 2 %, and a killed run loses what
it has done since its last checkpoint, which should be no more than a minute, or 1 % of the run if
that is longer, and the two steps after which a checkpoint is known to be good. See `interval`.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

import jax

from ..folder.checkpoints import Checkpoint, Progress

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
