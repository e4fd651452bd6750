"""A barrier at which threads hand in calls, so that one of them answers all at once."""

import threading
from collections.abc import Callable
from typing import Any


class Barrier:
    """A barrier of threads: when each has handed in a call, one of them answers all.

    Attributes:
        present: how many threads take part.
        answer: from the list of calls to the list of answers.

    Example:
        >>> barrier, answers = Barrier(2, lambda calls: [sum(calls) for _ in calls]), []
        >>> ask = lambda n: answers.append(barrier.meet(n))
        >>> threads = [threading.Thread(target=ask, args=(n,)) for n in (1, 2)]
        >>> for thread in threads: thread.start()
        >>> for thread in threads: thread.join()
        >>> answers
        [3, 3]
    """

    def __init__(self, present: int, answer: Callable[[list[Any]], list[Any]]):
        self.present, self.answer = present, answer
        self.waiting: list[_Call] = []
        self.changed = threading.Condition()

    def meet(self, asked: Any) -> Any:
        """Hand in a call, and wait for its answer."""
        mine = _Call(asked)
        with self.changed:
            self.waiting.append(mine)
            while not mine.done:
                if len(self.waiting) == self.present:
                    self._answer()
                else:
                    self.changed.wait()
        if mine.error is not None:
            raise mine.error
        return mine.answer

    def leave(self) -> None:
        """No longer wait for one of the threads."""
        with self.changed:
            self.present -= 1
            self.changed.notify_all()

    def _answer(self) -> None:
        calls, self.waiting = self.waiting, []
        try:
            answers = self.answer([call.asked for call in calls])
            for call, answer in zip(calls, answers, strict=True):
                call.answer = answer
        except BaseException as error:
            for call in calls:
                call.error = error
        for call in calls:
            call.done = True
        self.changed.notify_all()


class _Call:
    def __init__(self, asked: Any):
        self.asked = asked
        self.answer: Any = None
        self.error: BaseException | None = None
        self.done = False
