"""The associative recall task of the neural Turing machine."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..data import Batch
from ..settings import setting
from .bit_vectors import BitVectors, Items, random_bits, sequences


class NTMRecall(BitVectors):
    """Read a list of items and then one of them again; then output the item that came after it.

        input     mark, item 1, …, mark, item n, query mark, item i, query mark    zeros
        target    -                                                                item i+1

    An item is `vectors` bit vectors, one per step; both marks have inputs of their own. The number
    n of items is uniform from `least` to `most`, and i from 1 to n-1. Networks are also evaluated
    on lists of 10 and 20 items.

    Source: Graves, Wayne and Danihelka (2014), Neural Turing machines, section 4.3.

    Shapes: xs `(T, B, bits + 2)`, targets `(T, B, bits)`, with
    T = (vectors + 1) most + 2 vectors + 2.

    Example:
        >>> batch = NTMRecall(bits=2, most=3, vectors=1).batch(0, size=2)
        >>> batch.inputs.shape, batch.targets.shape, batch.lengths.tolist()
        ((10, 2, 4), (10, 2, 2), [10, 10])
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(Items):
        bits: int = setting(6, "bits of a vector", min=1)
        least: int = setting(2, "fewest items of a sequence", min=2)
        most: int = setting(6, "most items of a sequence", min=2)
        vectors: int = setting(3, "ntm-recall: vectors of an item", min=1)

    name = "ntm-recall"
    fewest = 2

    def __init__(self, *, seed: int = 0, **given: Any) -> None:
        super().__init__(seed=seed, **given)
        self.inputs, self.outputs = self.bits + 2, self.bits
        self.chance = float(self.bits * self.vectors)

    @property
    def vectors(self) -> int:
        return self.settings.vectors

    def steps(self, items: int) -> int:
        return (self.vectors + 1) * items + 2 * self.vectors + 2

    def draw(self, rng: np.random.Generator, size: int, least: int, most: int) -> Batch:
        xs, targets, weights = sequences(size, self.steps(most), self.inputs, self.outputs)
        counts = rng.integers(least, most + 1, size)
        asked = rng.integers(0, counts - 1)
        items = random_bits(rng, most, self.vectors, size, self.bits)
        each = self.vectors + 1
        for row, (n, i) in enumerate(zip(counts, asked, strict=True)):
            for place in range(n):
                xs[each * place, row, -2] = 1
                xs[each * place + 1 : each * (place + 1), row, :-2] = items[place, :, row]
            query, answer = each * n, each * (n + 1) + 1
            xs[query, row, -1] = xs[answer - 1, row, -1] = 1
            xs[query + 1 : answer - 1, row, :-2] = items[i, :, row]
            targets[answer : answer + self.vectors, row] = items[i + 1, :, row]
            weights[answer : answer + self.vectors, row] = 1
        lengths = each * counts + 2 * self.vectors + 2
        return Batch(xs, targets, weights, lengths=lengths.astype(np.int32))

    def longer(self) -> dict[str, Callable[[np.random.Generator, int], Batch]]:
        return {
            f"{n} items": partial(self.draw, least=n, most=n) for n in (10, 20) if n > self.most
        }
