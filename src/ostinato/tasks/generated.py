"""Tasks that generate any number of random sequences."""

import abc
import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..data import Batch
from ..settings import checked_int, setting
from .batches import random
from .checks import checked_length, checked_part
from .finite import in_pieces
from .task import Task

TRAIN = 0
PLACES = {"valid": 1, "test": 2}


@dataclasses.dataclass(frozen=True)
class Length:
    """The setting that most tasks share."""

    length: int | None = setting(None, "steps per sequence or window", min=1)


class Generated(Task):
    """A task that generates every batch anew; subclasses implement `made`.

    Every batch has its own random generator, derived from the seed and its number, and so have the
    validation set and the test set, of `held_out_together` sequences each.

    Attributes:
        min_length: the smallest number of steps that the task allows.
    """

    min_length: int = 1

    @abc.abstractmethod
    def made(self, rng: np.random.Generator, part: str, size: int, length: int) -> Batch:
        """Generate `size` sequences of a part, of up to `length` steps."""

    def checked(self, length: int | None) -> int:
        """A number of steps that the task allows, by default the usual one."""
        return checked_length(self, length, self.min_length)

    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        size, length = checked_int(f"{self.unit} of a batch", size), self.checked(length)
        return self.made(random(self.seed, TRAIN, index), "train", size, length)

    def whole(self, part: str) -> Batch:
        """All sequences of a held-out part."""
        rng = random(self.seed, PLACES[checked_part(part)], 0)
        return self.made(rng, part, self.held_out_together, self.length)

    def held_out(self, part: str, size: int) -> Iterator[Batch]:
        return in_pieces(self.whole(part), size)


class Synthetic(Generated):
    """A task that generates random sequences; subclasses implement `draw`.

    Attributes:
        length: on the class, the default number of steps.
    """

    Settings = Length

    held_out_together = 1000

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.length = self.checked(self.settings.length)

    @abc.abstractmethod
    def draw(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        """Generate `size` sequences of `length` steps."""

    def made(self, rng: np.random.Generator, part: str, size: int, length: int) -> Batch:
        return self.draw(rng, size, length)
