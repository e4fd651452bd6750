"""Windows of long streams: contiguous, so that the state can be carried, or at random positions."""

import abc
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..data import Batch
from .batches import Own, random
from .checks import checked_count, checked_length, checked_part
from .task import Task

WINDOW = 100  # steps of one compiled call in an evaluation; the state is carried


class Stream(NamedTuple):
    """One series or text, or several that are concatenated.

    Attributes:
        inputs: `(T,)` symbols or `(T, inputs)` numbers.
        targets: `(T,)` or `(T, outputs)`.
        there: `(T,)`, false where the target is missing.
        starts: `(T,)`, true where a series begins.
    """

    inputs: np.ndarray
    targets: np.ndarray
    there: np.ndarray
    starts: np.ndarray

    @property
    def steps(self) -> int:
        return len(self.there)

    @property
    def several(self) -> bool:
        return int(np.count_nonzero(self.starts)) > 1

    def at(self, places: np.ndarray, first: bool, several: bool) -> Batch:
        """The batch of the steps `places` `(T, B)`; steps beyond the end have weight zero."""
        inside = places < self.steps
        places = np.minimum(places, self.steps - 1)
        weights = (self.there[places] & inside).astype(np.float32)
        resets = self.starts[places] & inside if several else None
        inputs, targets = _wide(self.inputs[places]), _wide(self.targets[places])
        return Batch(inputs, targets, weights, resets=resets, first=first)


def next_symbols(symbols: np.ndarray) -> Stream:
    """The stream of a text `(T,)`: after each symbol but the last, the next is the target.

    Example:
        >>> next_symbols(np.array([3, 1, 2])).targets.tolist()
        [1, 2]
    """
    steps = max(len(symbols) - 1, 0)
    there, starts = np.ones(steps, bool), np.zeros(steps, bool)
    starts[:1] = True
    return Stream(symbols[:-1], symbols[1:], there, starts)


class Streamed(Task):
    """A task that reads long streams in windows; subclasses implement `stream_of`.

    With `carry` a training batch is a window of contiguous streams, and the next batch continues
    where it ended, so that the state can be carried; every epoch starts at another offset. Without
    it, every sequence of a batch begins at a random position.

    Attributes:
        carry: contiguous streams instead of independent sequences.
        washout: how many steps do not count where a state starts anew.
    """

    seed: int
    carry: bool
    washout: int = 0

    @abc.abstractmethod
    def stream_of(self, part: str) -> Stream:
        """The stream of `"train"`, `"valid"` or `"test"`."""

    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        return self.batch_of(slice, index, size, length)[0]

    def batch_of(
        self, own: Own, index: int, size: int, length: int | None = None
    ) -> tuple[Batch, int]:
        stream = self.stream_of("train")
        length, size = self._shape(stream, size, checked_length(self, length))
        if not self.carry:
            places = random(self.seed, 0, index).integers(0, stream.steps - length + 1, size)
            age = 0
        else:
            windows = windows_of(stream.steps, size, length)
            epoch, window = divmod(index, windows)
            spare = stream.steps - size * windows * length
            offset = int(random(self.seed, 1, epoch).integers(0, spare + 1))
            age = window * length
            places = offset + np.arange(size) * windows * length + age
        places = places[own(size)] + np.arange(length)[:, None]
        batch = stream.at(places, age == 0, stream.several)
        if age < self.washout:
            late = (age + np.arange(length) >= self.washout)[:, None]
            batch = batch._replace(weights=batch.weights * late.astype(batch.weights.dtype))
        return batch, length * size

    def _shape(self, stream: Stream, size: int, length: int) -> tuple[int, int]:
        """Steps and sequences of a training batch, at most as many as the stream has room for."""
        length = min(length, stream.steps)
        return length, min(size, stream.steps // length) if self.carry else size

    def batch_shape(self, size: int) -> tuple[int, int]:
        return self._shape(self.stream_of("train"), size, self.length)

    def epochs(self, batches: int, size: int, length: int | None = None) -> float:
        stream = self.stream_of("train")
        length, size = self._shape(stream, size, checked_length(self, length))
        if self.carry:
            return batches / windows_of(stream.steps, size, length)
        return batches * size * length / stream.steps

    def training_steps(self) -> int:
        return int(np.count_nonzero(self.stream_of("train").there))

    def held_out(self, part: str, size: int) -> Iterator[Batch]:
        # With a washout in a single stream, so that all of it but the beginning counts.
        size = min(checked_count(size, "sequences of a batch"), 1) if self.washout else size
        return in_windows(self.stream_of(checked_part(part)), size, self.length)

    def evaluated(self, part: str) -> Iterator[Batch]:
        """The whole part as one stream; the state is carried from window to window."""
        return in_windows(self.stream_of(checked_part(part)), 1, WINDOW)


def windows_of(steps: int, size: int, length: int) -> int:
    """Batches per epoch; if there is room, a window's length is left over for the offset."""
    return max(1, (steps - length) // (size * length))


def in_windows(stream: Stream, size: int, length: int) -> Iterator[Batch]:
    """Windows of a whole stream, divided into up to `size` contiguous ones."""
    steps = stream.steps
    length = min(checked_count(length), max(steps, 1))
    size = max(1, min(checked_count(size, "sequences of a batch"), steps // length))
    borders = np.linspace(0, steps, size + 1).astype(int)
    lengths = np.diff(borders)
    for begin in range(0, int(lengths.max(initial=0)), length):
        time = begin + np.arange(length)[:, None]
        places = np.where(time < lengths, borders[:-1] + time, steps)
        yield stream.at(places, begin == 0, stream.several)


def _wide(values: np.ndarray) -> np.ndarray:
    """Symbols, which a text may keep in a byte each, in the type that networks read."""
    return values.astype(np.int32) if values.dtype.kind in "iu" else values
