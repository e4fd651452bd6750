"""The priority sort task of the neural Turing machine."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..data import Batch
from ..errors import BadInput
from ..settings import setting
from .bit_vectors import BitVectors, random_bits, sequences


class NTMSort(BitVectors):
    """Read bit vectors with priorities; then output those of the highest priority, in their order.

        step      0 … n-1                    n       n+1 … n+k
        input     vectors and priorities     mark    zeros
        target    -                          -       the k vectors of the highest priority

    There are n = `most` vectors; k is `kept`. The priorities are uniform from -1 to 1 and have an
    input of their own, and so has the mark; the highest comes first. Networks are also evaluated on
    one and a half times and on twice as many vectors, of which they output the same share.

    Source: Graves, Wayne and Danihelka (2014), Neural Turing machines, section 4.5.

    Shapes: xs `(T, B, bits + 2)`, targets `(T, B, bits)`, with T = n + k + 1.

    Example:
        >>> batch = NTMSort(bits=3, most=4, kept=2).batch(0, size=2)
        >>> batch.inputs.shape, batch.targets.shape
        ((7, 2, 5), (7, 2, 3))
    """

    @dataclasses.dataclass(frozen=True)
    class Settings:
        bits: int = setting(8, "bits of a vector", min=1)
        most: int = setting(20, "most items of a sequence", min=1)
        kept: int = setting(16, "ntm-sort: vectors to output", min=1)

        @property
        def least(self) -> int:
            return self.most

        def __post_init__(self) -> None:
            if self.kept > self.most:
                raise BadInput(
                    f"the task ntm-sort takes kept up to most, {self.most}, got {self.kept}"
                )

    name = "ntm-sort"

    def __init__(self, *, seed: int = 0, **given: Any) -> None:
        super().__init__(seed=seed, **given)
        self.inputs, self.outputs = self.bits + 2, self.bits
        self.chance = float(self.bits * self.settings.kept)

    def answers(self, items: int) -> int:
        """How many vectors are the answer, of so many."""
        return max(1, round(items * self.settings.kept / self.most))

    def steps(self, items: int) -> int:
        return items + self.answers(items) + 1

    def draw(self, rng: np.random.Generator, size: int, least: int, most: int) -> Batch:
        xs, targets, weights = sequences(size, self.steps(most), self.inputs, self.outputs)
        vectors = random_bits(rng, most, size, self.bits)
        priorities = rng.uniform(-1, 1, (most, size)).astype(np.float32)
        xs[:most, :, : self.bits], xs[:most, :, self.bits], xs[most, :, -1] = vectors, priorities, 1
        order = np.argsort(-priorities, axis=0, kind="stable")[: self.answers(most)]
        targets[most + 1 :] = np.take_along_axis(vectors, order[..., None], axis=0)
        weights[most + 1 :] = 1
        return Batch(xs, targets, weights)

    def longer(self) -> dict[str, Callable[[np.random.Generator, int], Batch]]:
        return {
            f"{n} vectors, {self.answers(n)} of them sorted": partial(self.draw, least=n, most=n)
            for n in (self.most * 3 // 2, self.most * 2)
        }
