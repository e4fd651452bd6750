"""What gives batches: training batches by their number, and parts that are held out."""

import abc
import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import jax
import numpy as np

from ..data import Batch
from ..errors import BadInput, first_line
from ..settings import checked_kind, shown
from .batch_checks import checked_batch
from .checks import checked_count, is_whole

Own = Callable[[int], slice]  # from the number of sequences of a batch to those that are wanted

EVALUATED_TOGETHER = 64


class Batches(abc.ABC):
    """The data of a task.

    A batch is a function of the seed and the batch's number alone, so a resumed run sees the same
    batches without keeping a position in the data. `batch` and `held_out` check their arguments,
    also those of a subclass.

    Attributes:
        name: the task's name on the command line.
        seed: random seed of all batches.
        length: the number of steps per sequence.
        unit: what a batch has many of, for messages.
        held_out_together: how many generated held-out sequences are in memory at once.
        notes: what was done to the data, a sentence each: rows sorted, gaps masked. A run says them
            at its start and keeps them in its log.
    """

    name: str
    seed: int
    length: int
    unit: ClassVar[str] = "sequences"
    held_out_together: int = 0
    notes: tuple[str, ...] = ()

    def __init_subclass__(cls, **more: Any) -> None:
        """Check the arguments of `batch` and `held_out`."""
        super().__init_subclass__(**more)
        if "batch" in vars(cls) and "batch_of" not in vars(cls):  # whose batches are others
            cls.batch_of = Batches.batch_of  # type: ignore[method-assign]
        for name, check in (("batch", _checked_batch), ("held_out", _checked_held_out)):
            if name in vars(cls):
                setattr(cls, name, check(vars(cls)[name]))

    @property
    def source(self) -> str:
        """The data in words, with a verb, for messages: `fox.txt is`."""
        return f"the data of {self.name} are"

    @abc.abstractmethod
    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        """Training batch number `index`, of `size` sequences; `length` overrides the task's."""

    def batch_of(
        self, own: Own, index: int, size: int, length: int | None = None
    ) -> tuple[Batch, int]:
        """The same sequences as in `batch`, but only some, and the size of the whole batch.

        A process that shares batches with others asks for those of its devices. By default the
        batch is made and the others are dropped; a task that can make some alone does so.

        Args:
            own: from the number of sequences of the batch to those that are asked for.
            index, size, length: see `batch`.
        """
        batch = self.batch(index, size, length)
        every = range(batch.sequences)
        some = own(len(every))
        return batch if every[some] == every else batch.take(some), batch.size

    @abc.abstractmethod
    def held_out(self, part: str, size: int) -> Iterator[Batch]:
        """The batches of `"valid"` or `"test"`, always the same, of up to `size` sequences each."""

    def evaluated(self, part: str) -> Iterator[Batch]:
        """The batches on which a trained network is evaluated."""
        return self.held_out(part, EVALUATED_TOGETHER)

    def batch_shape(self, size: int) -> tuple[int, int]:
        """Steps and sequences of the largest batch."""
        return self.length, size

    def epochs(self, batches: int, size: int, length: int | None = None) -> float | None:
        """The number of epochs in so many batches; `None` if the training data are unlimited."""
        return None

    def training_steps(self) -> int | None:
        """How many steps of a text or series there are to learn; `None` for other tasks."""
        return None

    def fingerprint(self) -> str:
        """A hash of the data; by default of inputs, targets and weights of two training batches."""
        batches = (self.batch(index, 2)[:3] for index in range(2))
        return hashed([x for batch in batches for x in jax.tree.leaves(batch)])


def _checked_batch(batch: Callable[..., Batch]) -> Callable[..., Batch]:
    """The method `batch`, which refuses wrong arguments, and answers that are no batch."""

    @functools.wraps(batch)
    def checked(self: Batches, index: int, size: int, *more: Any, **named: Any) -> Batch:
        if not is_whole(index) or index < 0:
            raise BadInput(f"batches are numbered from 0, got {shown(index)}")
        checked_count(size, f"{self.unit} of a batch")
        try:
            made = batch(self, index, size, *more, **named)
        except MemoryError as error:
            words = f"a batch of {size} {self.unit} is too large: {first_line(error)}"
            raise BadInput(words) from None
        return checked_batch(f"batch {index} of the task {self.name}", made)

    return checked


def _checked_held_out(held_out: Callable[..., Any]) -> Callable[..., Iterator[Batch]]:
    """The method `held_out`, which must give batches."""

    @functools.wraps(held_out)
    def checked(self: Batches, part: str, size: int) -> Iterator[Batch]:
        batches = held_out(self, part, size)
        what, name = "an iterator over batches", f"held_out of the task {self.name}"
        batches = checked_kind(name, batches, Iterable, what)
        return (checked_batch(f"a batch of {name}", one) for one in batches)

    return checked


def hashed(arrays: list[Any]) -> str:
    """The SHA-256 of some arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def random(seed: int, *place: int) -> np.random.Generator:
    """A random generator from a seed and a position, for example `random(seed, TRAIN, index)`."""
    return np.random.default_rng([seed, *place])
