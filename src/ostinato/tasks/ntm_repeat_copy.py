"""The repeat copy task of the neural Turing machine."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..data import Batch
from ..settings import setting
from .bit_vectors import BitVectors, Items, entropy, random_bits, sequences


class NTMRepeatCopy(BitVectors):
    """Read some bit vectors and a number r; then output the vectors r times, and an end mark.

        step      0 … n-1        n               n+1 … n+rn          n+rn+1
        input     the vectors    mark, number    zeros               zeros
        target    -              -               vectors, r times    end mark

    The number n of vectors is uniform from `least` to `most`, and r from 1 to `repeats`. The number
    and its mark have inputs of their own; the number is scaled to mean 0 and variance 1 over those
    of training. The end mark has an output of its own. Networks are also evaluated on twice as many
    vectors, and on twice as many repeats.

    Source: Graves, Wayne and Danihelka (2014), Neural Turing machines, section 4.2.

    Shapes: xs `(T, B, bits + 2)`, targets `(T, B, bits + 1)`, with T = (repeats + 1) most + 2.

    Example:
        >>> batch = NTMRepeatCopy(bits=3, most=2, repeats=2).batch(0, size=2)
        >>> batch.inputs.shape, batch.targets.shape, batch.lengths.tolist()
        ((8, 2, 5), (8, 2, 4), [8, 6])
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(Items):
        most: int = setting(10, "most items of a sequence", min=1)
        repeats: int = setting(10, "ntm-repeat-copy: most repeats", min=1)

    name = "ntm-repeat-copy"

    def __init__(self, *, seed: int = 0, **given: Any) -> None:
        super().__init__(seed=seed, **given)
        self.inputs, self.outputs = self.bits + 2, self.bits + 1
        copied = (self.least + self.most) / 2 * (1 + self.repeats) / 2
        ones = entropy(0.5 * copied / (copied + 1))
        self.chance = (copied + 1) * (self.bits * ones + entropy(1 / (copied + 1)))

    @property
    def repeats(self) -> int:
        return self.settings.repeats

    def steps(self, items: int) -> int:
        return (self.repeats + 1) * items + 2

    def draw(
        self,
        rng: np.random.Generator,
        size: int,
        least: int,
        most: int,
        repeats: tuple[int, int] | None = None,
    ) -> Batch:
        """See `BitVectors.draw`; `repeats` are the fewest and most, by default as in training."""
        fewest, times = repeats or (1, self.repeats)
        steps = (times + 1) * most + 2
        xs, targets, weights = sequences(size, steps, self.inputs, self.outputs)
        counts, again = rng.integers(least, most + 1, size), rng.integers(fewest, times + 1, size)
        vectors = random_bits(rng, most, size, self.bits)
        middle, spread = (1 + self.repeats) / 2, max(np.sqrt((self.repeats**2 - 1) / 12), 1)
        ends = counts * (again + 1) + 1
        for row, (n, r, end) in enumerate(zip(counts, again, ends, strict=True)):
            xs[:n, row, :-2] = vectors[:n, row]
            xs[n, row, -2:] = 1, (r - middle) / spread
            targets[n + 1 : end, row, :-1] = np.tile(vectors[:n, row], (r, 1))
            targets[end, row, -1] = weights[n + 1 : end + 1, row] = 1
        return Batch(xs, targets, weights, lengths=(ends + 1).astype(np.int32))

    def longer(self) -> dict[str, Callable[[np.random.Generator, int], Batch]]:
        n, r = 2 * self.most, 2 * self.repeats
        return {
            f"{n} vectors, {self.repeats} times": partial(
                self.draw, least=n, most=n, repeats=(self.repeats, self.repeats)
            ),
            f"{self.most} vectors, {r} times": partial(
                self.draw, least=self.most, most=self.most, repeats=(r, r)
            ),
        }
