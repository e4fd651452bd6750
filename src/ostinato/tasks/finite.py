"""Batches from a finite set of examples: in another order every epoch, and held out in order."""

import abc
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from ..data import Batch
from .batches import random
from .checks import checked_count, checked_part
from .task import Task

ORDER = 0  # place in the random numbers of the seed
NOBODY = -1  # the number of an example that fills up a batch


def in_order(count: int, size: int) -> Iterator[slice]:
    """Consecutive slices of up to `size` that cover `count`."""
    for begin in range(0, count, size):
        yield slice(begin, min(begin + size, count))


def in_pieces(batch: Batch, size: int) -> Iterator[Batch]:
    """The sequences of a batch in batches of up to `size`."""
    for some in in_order(batch.sequences, checked_count(size, "sequences of a batch")):
        yield batch.take(some)


class Finite(Task):
    """A task on a finite set of examples; subclasses implement `batch` and `together`.

    An epoch takes every training example at most once, in its own order, and leaves out those that
    do not fill a batch. A batch is never larger than the training part. Where examples have sizes
    (`sizes`), those of a batch are of similar size.

    Attributes:
        parts: the examples of `"train"`, `"valid"` and `"test"`.
        unit: what an example is, in words.
        filled: whether the last held-out batch is filled up to the size of the others, with
            examples that count nothing.
        spare_anywhere: whether the examples that an epoch leaves out are of any size, but similar
            to each other.
    """

    parts: Any
    seed: int
    filled: ClassVar[bool] = False
    spare_anywhere: ClassVar[bool] = False

    @abc.abstractmethod
    def together(self, part: str, which: np.ndarray) -> Batch:
        """Some examples of a part as a held-out batch, by their numbers; see `filled`."""

    def count(self, part: str) -> int:
        """The number of examples of a part."""
        return len(self.parts[part])

    def sizes(self, part: str) -> np.ndarray | None:
        """How large each example of a part is; `None` if that does not matter."""
        return None

    def fitting(self, length: int | None) -> np.ndarray:
        """The training examples that may be used if the length is limited."""
        return np.arange(self.count("train"))

    def chosen(self, index: int, size: int, length: int | None = None) -> np.ndarray:
        """The examples of training batch number `index`, by their numbers."""
        count = len(self._fitting(length))
        size = min(size, count)
        epoch, place = divmod(index, count // size)
        return self._epoch(epoch, size, length)[place]

    @cached_property
    def _fitting(self) -> Any:
        return lru_cache(4)(self.fitting)

    @cached_property
    def _epoch(self) -> Any:
        return lru_cache(2)(self._batches)

    def _batches(self, epoch: int, size: int, length: int | None) -> np.ndarray:
        """The examples of all batches of an epoch, `(batches, size)`."""
        rng, sizes = random(self.seed, ORDER, epoch), self.sizes("train")
        mixed = rng.permutation(self._fitting(length))
        spare = len(mixed) % size
        if sizes is None:
            return mixed[: len(mixed) - spare].reshape(-1, size)
        if not self.spare_anywhere:
            mixed, spare = mixed[: len(mixed) - spare], 0
        mixed = mixed[np.argsort(sizes[mixed], kind="stable")]
        begin = int(rng.integers(0, spare + 1))
        return rng.permutation(mixed[begin : begin + len(mixed) - spare].reshape(-1, size))

    def held_out(self, part: str, size: int) -> Iterator[Batch]:
        sizes = self.sizes(checked_part(part))
        count, size = self.count(part), checked_count(size, f"{self.unit} of a batch")
        order = np.arange(count) if sizes is None else np.argsort(sizes, kind="stable")
        size = max(1, min(size, count)) if self.filled else size
        for some in in_order(count, size):
            spare = size - (some.stop - some.start) if self.filled else 0
            yield self.together(part, np.pad(order[some], (0, spare), constant_values=NOBODY))

    def batch_shape(self, size: int) -> tuple[int, int]:
        return self.length, min(size, self.count("train"))

    def epochs(self, batches: int, size: int, length: int | None = None) -> float | None:
        count = self.count("train")
        return batches / (count // min(size, count))
