"""The copy task of the neural Turing machine."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..data import Batch
from .bit_vectors import BitVectors, Items, random_bits, sequences


class NTMCopy(BitVectors):
    """Read some bit vectors and then a mark; then output the vectors in order.

        step      0 … n-1        n       n+1 … 2n
        input     the vectors    mark    zeros
        target    -              -       the vectors

    The number n of vectors is uniform from `least` to `most`. The mark has an input of its own.
    Networks are also evaluated on sequences of 3 and 6 times as many vectors (60 and 120).

    Source: Graves, Wayne and Danihelka (2014), Neural Turing machines, section 4.1. The task `copy`
    is another one, with symbols and a fixed length.

    Shapes: xs `(T, B, bits + 1)`, targets `(T, B, bits)`, with T = 2 most + 1.

    Example:
        >>> batch = NTMCopy(bits=3, most=4).batch(0, size=2)
        >>> batch.inputs.shape, batch.targets.shape, batch.lengths.tolist()
        ((9, 2, 4), (9, 2, 3), [9, 7])
    """

    Settings = Items
    name = "ntm-copy"

    def __init__(self, *, seed: int = 0, **given: Any) -> None:
        super().__init__(seed=seed, **given)
        self.inputs, self.outputs = self.bits + 1, self.bits
        self.chance = self.bits * (self.least + self.most) / 2

    def steps(self, items: int) -> int:
        return 2 * items + 1

    def draw(self, rng: np.random.Generator, size: int, least: int, most: int) -> Batch:
        xs, targets, weights = sequences(size, self.steps(most), self.inputs, self.outputs)
        counts = rng.integers(least, most + 1, size)
        vectors = random_bits(rng, most, size, self.bits)
        for row, n in enumerate(counts):
            xs[:n, row, :-1] = targets[n + 1 : 2 * n + 1, row] = vectors[:n, row]
            xs[n, row, -1] = weights[n + 1 : 2 * n + 1, row] = 1
        return Batch(xs, targets, weights, lengths=(2 * counts + 1).astype(np.int32))

    def longer(self) -> dict[str, Callable[[np.random.Generator, int], Batch]]:
        return {
            f"{n} vectors": partial(self.draw, least=n, most=n)
            for n in (3 * self.most, 6 * self.most)
        }
