"""A thread of its own that works on what waits in a queue, until it is told to end."""

import threading
from collections import deque
from typing import Any


class Full(Exception):
    """No more requests are taken on now."""

    def __init__(self) -> None:
        super().__init__("the server is busy, or ends; come back later")


class Worker:
    """
    Args:
        name: of the thread.
        waiting: how many requests may wait.

    Attributes:
        queue: the requests that wait.
        closing: when all of them must have been answered, by `time.monotonic`; no request is taken
            on once this is set.
    """

    def __init__(self, name: str, waiting: int) -> None:
        self.max_waiting, self.closing = waiting, float("inf")
        self.queue: deque[Any] = deque()
        self._changed, self._ending = threading.Condition(), False
        self._thread = threading.Thread(target=self._run, daemon=True, name=name)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Take on nothing more, and wait until the thread has ended."""
        with self._changed:
            self._ending = True
            self._changed.notify()
        self._thread.join()

    def add(self, request: Any) -> None:
        """Put a request into the queue; raises `Full` if too many wait, or the server ends."""
        with self._changed:
            if len(self.queue) >= self.max_waiting or self._ending or self.closing < float("inf"):
                raise Full
            self.queue.append(request)
            self._changed.notify()

    def _run(self) -> None:
        """What the thread does until `_ending`."""
        raise NotImplementedError
