"""Requests that are answered as a whole, such as a translation, gathered into one batch.

While a batch is computed the next requests wait; then all of them that ask for the same are
answered together. The number of inputs is rounded up, so that few sizes are compiled.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from ..errors import BadInput
from .worker import Worker

SIZES = (1, 4, 16, 64)  # inputs that are answered together
ALONE = (1,)  # of what is answered one by one


class _Asked(NamedTuple):
    inputs: list[Any]
    options: tuple[tuple[str, Any], ...]
    future: Future


class Gatherer(Worker):
    """A thread that answers what waits, as much of it at once as there is.

    Args:
        answer: the answers to a list of inputs, one each, by options.
        waiting: how many requests may wait.
        sizes: how many inputs may be answered together, in rising order.
    """

    def __init__(
        self, answer: Callable[..., list[Any]], waiting: int, sizes: Sequence[int] = SIZES
    ) -> None:
        super().__init__("gatherer", waiting)
        self._answer, self._sizes = answer, sizes

    def end(self) -> None:
        """Answer nothing more than what is being answered."""
        super().end()
        for asked in self.queue:
            asked.future.cancel()

    def ask(self, inputs: list[Any], **options: Any) -> Future:
        """The answers to some inputs, when they are there."""
        asked = _Asked(inputs, tuple(sorted(options.items())), Future())
        self.add(asked)
        return asked.future

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self.queue or self._ending):
                    self._changed.wait()
                if self._ending:
                    return
                together = [self.queue.popleft()]
                count = len(together[0].inputs)
                while self.queue and self.queue[0].options == together[0].options:
                    count += len(self.queue[0].inputs)
                    if count > self._sizes[-1]:
                        break
                    together.append(self.queue.popleft())
            self._together([one for one in together if one.future.set_running_or_notify_cancel()])

    def _together(self, asked: list[_Asked]) -> None:
        if not asked:
            return
        inputs = [x for one in asked for x in one.inputs]
        size = next((size for size in self._sizes if size >= len(inputs)), len(inputs))
        padded = inputs + inputs[-1:] * (size - len(inputs))
        try:
            answers = iter(self._answer(padded, **dict(asked[0].options)))
        except BadInput as error:
            if len(asked) == 1:
                asked[0].future.set_exception(error)
            else:  # one of them is wrong, and the others need not know
                for one in asked:
                    self._together([one])
            return
        except Exception as error:
            for one in asked:
                one.future.set_exception(error)
            return
        for one in asked:
            one.future.set_result([next(answers) for _ in one.inputs])
