"""Graceful shutdown: a run saves before SIGINT, SIGTERM or SIGHUP ends it."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interrupted(Exception):
    """A signal asked to stop; what was trained so far is saved. `number` is that of the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.number = number


class Stop:
    """The `number` of the signal that asked to stop, or `None`."""

    number: int | None = None


@contextmanager
def stop_signals() -> Iterator[Stop]:
    """A `Stop` that SIGINT, SIGTERM and SIGHUP set instead of ending the process.

    A second signal of the same kind has its usual effect. A signal that the process was started to
    ignore stays ignored: SIGHUP under `nohup`, and SIGINT in a job that a script starts with `&`,
    so that Ctrl-C for the script does not stop it. SIGTERM stops both. Outside the main thread,
    signals cannot be caught.

    Example:
        >>> with stop_signals() as stop:
        ...     signal.raise_signal(signal.SIGTERM)  # comes during a training step
        >>> stop.number == signal.SIGTERM
        True
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before: dict[int, Any] = {}

    def hear(number: int, frame: Any) -> None:
        stop.number = number
        signal.signal(number, before[number])

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, hear)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
