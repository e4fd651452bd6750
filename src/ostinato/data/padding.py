"""Sequences of different lengths side by side, padded to one of few lengths.

A training step is compiled for each shape of a batch, so the lengths are rounded up: to a multiple
(`multiple_above`), to one of a few sizes that grow with the length (`rounded`), or to one of a few
equal shares of the longest (`Shares`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


def multiple_above(steps: int, unit: int) -> int:
    """The number of steps rounded up to a multiple of a unit.

    Example:
        >>> multiple_above(17, 8)
        24
    """
    return -(-steps // unit) * unit


def rounded(steps: int) -> int:
    """The number of steps rounded up to 8, 12, 16, 24, 32, 48, …

    Example:
        >>> from ostinato.data.padding import rounded
        >>> [rounded(n) for n in (1, 9, 13, 17, 25, 100)]
        [8, 12, 16, 24, 32, 128]
    """
    power = max(8, 1 << (steps - 1).bit_length())
    return 3 * power // 4 if power > 8 and steps <= 3 * power // 4 else power


class Shares(NamedTuple):
    """A few sizes of examples that have several sequences each, such as a source and a target.

    Size k of K has room for k / K of the longest sequence on every side.

    Attributes:
        longest: the longest sequence of each side.
        sizes: K.

    Example:
        >>> shares = Shares((16, 9), sizes=4)
        >>> shares.of([[3, 16], [5, 1]]), shares.steps(3)
        (array([3, 4]), (12, 7))
    """

    longest: tuple[int, ...]
    sizes: int

    def of(self, lengths: Sequence[Sequence[int]]) -> np.ndarray:
        """The size, from 1 on, that each example needs; `lengths` are those of each side."""
        shares = [np.array(x) / most for x, most in zip(lengths, self.longest, strict=True)]
        return np.ceil(self.sizes * np.maximum.reduce(shares) - 1e-9).astype(int)

    def steps(self, size: int) -> tuple[int, ...]:
        """The padded length of each side."""
        return tuple(-(-most * size // self.sizes) for most in self.longest)


def padded_columns(
    sequences: Sequence[np.ndarray], steps: int, count: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Sequences of symbols as the columns of an array, with zeros after their ends.

    Args:
        sequences: each `(T,)`, with at most `steps` symbols.
        steps: rows of the array.
        count: columns of the array, by default one per sequence. A column without a sequence has a
            length of 1.

    Returns:
        `(steps, count)` and the lengths `(count,)`, both int32.

    Example:
        >>> padded_columns([np.array([5, 6]), np.array([7])], 3)[0].tolist()
        [[5, 7], [6, 0], [0, 0]]
    """
    count = len(sequences) if count is None else count
    padded, lengths = np.zeros((steps, count), np.int32), np.ones(count, np.int32)
    for n, sequence in enumerate(sequences):
        padded[: len(sequence), n], lengths[n] = sequence, len(sequence)
    return padded, lengths
