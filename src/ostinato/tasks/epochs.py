"""Batches of a set of sequences that is finite: in new order each pass, or in their own."""

from collections.abc import Iterator

import numpy as np

from .task import random


def shuffled(seed: int, index: int, size: int, count: int) -> np.ndarray:
    """Which of `count` sequences make batch number `index`.

    A pass takes every sequence at most once; what does not fill a batch waits for another pass,
    which has another order. A batch is never larger than the set.
    """
    size = min(size, count)
    which, window = divmod(index, count // size)
    return random(seed, 0, which).permutation(count)[window * size : (window + 1) * size]


def in_order(count: int, size: int) -> Iterator[slice]:
    """Slices of up to `size` that make up `count`."""
    for begin in range(0, count, size):
        yield slice(begin, min(begin + size, count))
