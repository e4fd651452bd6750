"""Tasks that generate any number of random sequences."""

import abc
import dataclasses
from collections.abc import Iterator

import numpy as np

from ..data import Batch
from ..errors import BadInput
from ..settings import setting
from .epochs import in_order
from .task import Task, checked_part, checked_seed, random

HELD_OUT = 1000
TRAIN = 0
PLACES = {"valid": 1, "test": 2}


@dataclasses.dataclass(frozen=True)
class Length:
    """The setting that most tasks share."""

    length: int | None = setting(None, "steps per sequence or window", least=1)


class Synthetic(Task):
    """A task that generates random sequences; subclasses implement `draw`.

    Every batch has its own random generator, derived from the seed and its number, and so have the
    validation set and the test set, of 1,000 sequences each.

    Attributes:
        length: on the class, the default number of steps.
        least: the smallest number of steps that the task allows.
    """

    Settings = Length

    least: int
    held_out_together = HELD_OUT

    def __init__(self, length: int | None = None, seed: int = 0) -> None:
        """
        Args:
            length: steps per sequence; `None` for the task's default.
            seed: random seed of all sequences.
        """
        self.length, self.seed = self._checked(length), checked_seed(seed)

    @abc.abstractmethod
    def draw(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        """Generate `size` sequences of `length` steps."""

    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        return self.draw(random(self.seed, TRAIN, index), size, self._checked(length))

    def held_out(self, part: str, size: int) -> Iterator[Batch]:
        every = self.draw(random(self.seed, PLACES[checked_part(part)], 0), HELD_OUT, self.length)
        for some in in_order(HELD_OUT, size):
            yield every.take(some)

    def _checked(self, length: int | None) -> int:
        length = self.length if length is None else length
        if length < self.least:
            raise BadInput(
                f"the task {self.name} takes a length of at least {self.least} steps, got {length}"
            )
        return length


def at_last(length: int, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Targets and weights of a task in which only the last step counts.

    Args:
        length: T, the number of steps.
        targets: the targets of the last step, `(B,)` symbols or `(B, outputs)`.

    Returns:
        targets `(T, B, ...)` and weights `(T, B)`, both zero before the last step.
    """
    everywhere = np.zeros((length, *targets.shape), targets.dtype)
    everywhere[-1] = targets
    weights = np.zeros((length, len(targets)), np.float32)
    weights[-1] = 1
    return everywhere, weights
