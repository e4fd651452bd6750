"""Batches that are prepared while the step before them is computed."""

import contextvars
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Generic, TypeVar

import jax

Made = TypeVar("Made")
SHARE = 0.1  # of the time of a step, from which a thread is worth it
TRIAL = 8  # calls that are measured


def for_thread(call: Callable[[], Made]) -> Callable[[], Made]:
    """The function for another thread: with the precision of this one, which none inherits."""
    wide = jax.config.read("jax_enable_x64")
    products = jax.default_matmul_precision.value
    variables = contextvars.copy_context()

    def work() -> Made:
        with jax.enable_x64(wide), jax.default_matmul_precision(products):
            return variables.run(call)

    return work


def beside(name: str, call: Callable[[], Made]) -> "Future[Made]":
    """What a function returns, from a thread of its own, which has a name."""
    pool = ThreadPoolExecutor(1, thread_name_prefix=name)
    future = pool.submit(for_thread(call))
    pool.shutdown(wait=False)
    return future


class Prefetch(Generic[Made]):
    """`make(step)`, for consecutive steps; the next one is made ahead where that takes long.

    The first calls are made in turn and measured. If they took more than a tenth of the time, a
    thread makes the next one while the caller works.

    Example:
        >>> batches = Prefetch(lambda step: 10 * step)
        >>> [batches(step) for step in range(3)]
        [0, 10, 20]
        >>> batches.close()
    """

    def __init__(self, make: Callable[[int], Made]):
        self.make = make
        self.calls, self.spent, self.started = 0, 0.0, 0.0
        self.pool: ThreadPoolExecutor | None = None
        self.ahead: tuple[int, Future[Made]] | None = None

    def __call__(self, step: int) -> Made:
        if self.ahead is not None and self.ahead[0] == step:
            made = self.ahead[1].result()
        else:
            made = self._measured(step)
        if self.pool is not None:
            self.ahead = step + 1, self.pool.submit(for_thread(partial(self.make, step + 1)))
        return made

    def _measured(self, step: int) -> Made:
        """Make one in turn, and decide after some whether to go on so."""
        now = time.perf_counter()
        if self.calls == 1:  # the first step compiles: measure from the second one on
            self.started, self.spent = now, 0.0
        made = self.make(step)
        self.spent += time.perf_counter() - now
        self.calls += 1
        if self.calls == TRIAL and self.spent > SHARE * (time.perf_counter() - self.started):
            self.pool = ThreadPoolExecutor(1, thread_name_prefix="batches")
        return made

    def close(self) -> None:
        """End the thread; what it has made ahead is dropped."""
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)
