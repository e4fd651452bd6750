"""Batches from a finite data set, reshuffled every epoch or in order."""

from collections.abc import Iterator

import numpy as np

from .task import random


def shuffled(seed: int, index: int, size: int, count: int) -> np.ndarray:
    """The indices of the sequences in batch number `index`, of `count` sequences in all.

    An epoch uses every sequence at most once and leaves out those that do not fill a batch; every
    epoch has its own order. A batch is never larger than the data set.
    """
    size = min(size, count)
    which, window = divmod(index, count // size)
    return random(seed, 0, which).permutation(count)[window * size : (window + 1) * size]


def in_order(count: int, size: int) -> Iterator[slice]:
    """Consecutive slices of up to `size` that cover `count`."""
    for begin in range(0, count, size):
        yield slice(begin, min(begin + size, count))
