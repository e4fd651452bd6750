"""Windows of long streams: contiguous, so that the state can be carried, or at random positions."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..data import Batch
from .task import checked_count, random


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


def training_batch(
    stream: Stream,
    seed: int,
    index: int,
    size: int,
    length: int,
    carry: bool,
    washout: int = 0,
) -> Batch:
    """Training batch number `index`.

    With `carry` it is a window of `size` contiguous streams, and the next batch continues where it
    ended; every epoch starts at another offset. Without it, every sequence begins at a random
    position. The first `washout` steps after a beginning do not count.
    """
    size, length = checked_count(size, "sequences of a batch"), checked_count(length)
    steps = stream.steps
    length = min(length, steps)
    several = stream.several
    if not carry:
        starts = random(seed, 0, index).integers(0, steps - length + 1, size)
        found = stream.at(starts + np.arange(length)[:, None], True, several)
        return _washed_out(found, 0, washout)
    size = min(size, steps // length)
    windows = windows_of(steps, size, length)
    epoch, window = divmod(index, windows)
    spare = steps - size * windows * length
    offset = int(random(seed, 1, epoch).integers(0, spare + 1))
    starts = offset + np.arange(size) * windows * length + window * length
    found = stream.at(starts + np.arange(length)[:, None], window == 0, several)
    return _washed_out(found, window * length, washout)


def _washed_out(batch: Batch, age: int, washout: int) -> Batch:
    """The batch, whose first step is number `age` of its streams, without the first steps."""
    if age >= washout:
        return batch
    late = (age + np.arange(batch.steps) >= washout)[:, None]
    return batch._replace(weights=batch.weights * late.astype(batch.weights.dtype))


def windows_of(steps: int, size: int, length: int) -> int:
    """Batches per epoch; if there is room, a window's length is left over for the offset."""
    return max(1, (steps - length) // (size * length))


def batch_shape(stream: Stream, size: int, length: int, carry: bool) -> tuple[int, int]:
    """Steps and sequences of a training batch, at most as many as the stream has room for."""
    length = min(length, stream.steps)
    return length, min(size, stream.steps // length) if carry else size


def epochs(stream: Stream, batches: int, size: int, length: int, carry: bool) -> float:
    """How often so many training batches go through the stream."""
    length, size = batch_shape(stream, size, length, carry)
    if carry:
        return batches / windows_of(stream.steps, size, length)
    return batches * size * length / stream.steps


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
