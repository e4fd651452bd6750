"""The tasks of the neural Turing machine on bit vectors: copy, repeat copy, recall and sort."""

import dataclasses
from functools import partial
from typing import Any

import numpy as np

from ...data import Batch
from ...errors import BadInput
from ...settings import setting
from .bit_vectors import BitVectors, Draw, Items, by_machine, entropy, random_bits, sequences


class NTMCopy(BitVectors):
    """Read some bit vectors and then a mark; then output the vectors in order.

        step      0 … n-1        n       n+1 … 2n
        input     the vectors    mark    zeros
        target    -              -       the vectors

    The number n of vectors is uniform from `min_items` to `max_items`. The mark has an input of its
    own. Networks are also evaluated on sequences of 3 and 6 times as many vectors (60 and 120).

    Source: Graves, Wayne and Danihelka (2014), Neural Turing machines, section 4.1. The task `copy`
    is another one, with symbols and a fixed length.

    Shapes: xs `(T, B, bits + 1)`, targets `(T, B, bits)`, with T = 2 max_items + 1.

    Example:
        >>> batch = NTMCopy(bits=3, max_items=4).batch(0, size=2)
        >>> batch.inputs.shape, batch.targets.shape, batch.lengths.tolist()
        ((9, 2, 4), (9, 2, 3), [9, 7])
    """

    Settings = Items
    name = "ntm-copy"
    recipe = by_machine(rate=2e-3, batch=16, steps=30_000)

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.inputs, self.outputs = self.bits + 1, self.bits
        self.chance = self.bits * (self.min_items + self.max_items) / 2

    def steps(self, items: int) -> int:
        return 2 * items + 1

    def draw(self, rng: np.random.Generator, size: int, min_items: int, max_items: int) -> Batch:
        xs, targets, weights = sequences(size, self.steps(max_items), self.inputs, self.outputs)
        counts = rng.integers(min_items, max_items + 1, size)
        vectors = random_bits(rng, max_items, size, self.bits)
        for row, n in enumerate(counts):
            xs[:n, row, :-1] = targets[n + 1 : 2 * n + 1, row] = vectors[:n, row]
            xs[n, row, -1] = weights[n + 1 : 2 * n + 1, row] = 1
        return Batch(xs, targets, weights, lengths=(2 * counts + 1).astype(np.int32))

    def longer(self) -> dict[str, Draw]:
        return {
            f"{n} vectors": partial(self.draw, min_items=n, max_items=n)
            for n in (3 * self.max_items, 6 * self.max_items)
        }


class NTMRepeatCopy(BitVectors):
    """Read some bit vectors and a number r; then output the vectors r times, and an end mark.

        step      0 … n-1        n               n+1 … n+rn          n+rn+1
        input     the vectors    mark, number    zeros               zeros
        target    -              -               vectors, r times    end mark

    The number n of vectors is uniform from `min_items` to `max_items`, and r from 1 to `repeats`.
    The number and its mark have inputs of their own; the number is scaled to mean 0 and variance 1
    over those of training. The end mark has an output of its own. Networks are also evaluated on
    twice as many vectors, and on twice as many repeats.

    Source: Graves, Wayne and Danihelka (2014), Neural Turing machines, section 4.2.

    Shapes: xs `(T, B, bits + 2)`, targets `(T, B, bits + 1)`, with T = (repeats + 1) max_items + 2.

    Example:
        >>> batch = NTMRepeatCopy(bits=3, max_items=2, repeats=2).batch(0, size=2)
        >>> batch.inputs.shape, batch.targets.shape, batch.lengths.tolist()
        ((8, 2, 5), (8, 2, 4), [8, 6])
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(Items):
        max_items: int = setting(10, "most items of a sequence", min=1)
        repeats: int = setting(10, "ntm-repeat-copy: most repeats", min=1)

    name = "ntm-repeat-copy"
    recipe = by_machine(
        turing="64x20", read_stay=0.0, rate=8e-3, batch=16, curriculum=24, steps=12_000
    )

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.inputs, self.outputs = self.bits + 2, self.bits + 1
        copied = (self.min_items + self.max_items) / 2 * (1 + self.repeats) / 2
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
        min_items: int,
        max_items: int,
        repeats: tuple[int, int] | None = None,
    ) -> Batch:
        """See `BitVectors.draw`; `repeats` are the fewest and most, by default as in training."""
        fewest, times = repeats or (1, self.repeats)
        steps = (times + 1) * max_items + 2
        xs, targets, weights = sequences(size, steps, self.inputs, self.outputs)
        counts, again = (
            rng.integers(min_items, max_items + 1, size),
            rng.integers(fewest, times + 1, size),
        )
        vectors = random_bits(rng, max_items, size, self.bits)
        middle, spread = (1 + self.repeats) / 2, max(np.sqrt((self.repeats**2 - 1) / 12), 1)
        ends = counts * (again + 1) + 1
        for row, (n, r, end) in enumerate(zip(counts, again, ends, strict=True)):
            xs[:n, row, :-2] = vectors[:n, row]
            xs[n, row, -2:] = 1, (r - middle) / spread
            targets[n + 1 : end, row, :-1] = np.tile(vectors[:n, row], (r, 1))
            targets[end, row, -1] = weights[n + 1 : end + 1, row] = 1
        return Batch(xs, targets, weights, lengths=(ends + 1).astype(np.int32))

    def longer(self) -> dict[str, Draw]:
        n, r = 2 * self.max_items, 2 * self.repeats
        return {
            f"{n} vectors, {self.repeats} times": partial(
                self.draw, min_items=n, max_items=n, repeats=(self.repeats, self.repeats)
            ),
            f"{self.max_items} vectors, {r} times": partial(
                self.draw, min_items=self.max_items, max_items=self.max_items, repeats=(r, r)
            ),
        }


class NTMRecall(BitVectors):
    """Read a list of items and then one of them again; then output the item that came after it.

        input     mark, item 1, …, mark, item n, query mark, item i, query mark    zeros
        target    -                                                                item i+1

    An item is `vectors` bit vectors, one per step; both marks have inputs of their own. The number
    n of items is uniform from `min_items` to `max_items`, and i from 1 to n-1. Networks are also
    evaluated on lists of 10 and 20 items.

    Source: Graves, Wayne and Danihelka (2014), Neural Turing machines, section 4.3.

    Shapes: xs `(T, B, bits + 2)`, targets `(T, B, bits)`, with
    T = (vectors + 1) max_items + 2 vectors + 2.

    Example:
        >>> batch = NTMRecall(bits=2, max_items=3, vectors=1).batch(0, size=2)
        >>> batch.inputs.shape, batch.targets.shape, batch.lengths.tolist()
        ((10, 2, 4), (10, 2, 2), [10, 10])
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(Items):
        bits: int = setting(6, "bits of a vector", min=1)
        min_items: int = setting(2, "fewest items of a sequence", min=2)
        max_items: int = setting(6, "most items of a sequence", min=2)
        vectors: int = setting(3, "ntm-recall: vectors of an item", min=1)

    name = "ntm-recall"
    recipe = by_machine(
        turing="96x16", read_gate=1.0, read_stay=0.0, head_strength=3.0, rate=2e-3, steps=30_000
    )
    fewest = 2

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.inputs, self.outputs = self.bits + 2, self.bits
        self.chance = float(self.bits * self.vectors)

    @property
    def vectors(self) -> int:
        return self.settings.vectors

    def steps(self, items: int) -> int:
        return (self.vectors + 1) * items + 2 * self.vectors + 2

    def draw(self, rng: np.random.Generator, size: int, min_items: int, max_items: int) -> Batch:
        xs, targets, weights = sequences(size, self.steps(max_items), self.inputs, self.outputs)
        counts = rng.integers(min_items, max_items + 1, size)
        asked = rng.integers(0, counts - 1)
        items = random_bits(rng, max_items, self.vectors, size, self.bits)
        each = self.vectors + 1
        listed = np.zeros((max_items, each, size, self.inputs), np.float32)
        listed[:, 0, :, -2], listed[:, 1:, :, :-2] = 1, items
        there = np.arange(each * max_items)[:, None] < each * counts
        xs[: each * max_items] = there[..., None] * listed.reshape(-1, size, self.inputs)
        for row, (n, i) in enumerate(zip(counts, asked, strict=True)):
            query, answer = each * n, each * (n + 1) + 1
            xs[query, row, -1] = xs[answer - 1, row, -1] = 1
            xs[query + 1 : answer - 1, row, :-2] = items[i, :, row]
            targets[answer : answer + self.vectors, row] = items[i + 1, :, row]
            weights[answer : answer + self.vectors, row] = 1
        lengths = each * counts + 2 * self.vectors + 2
        return Batch(xs, targets, weights, lengths=lengths.astype(np.int32))

    def longer(self) -> dict[str, Draw]:
        return {
            f"{n} items": partial(self.draw, min_items=n, max_items=n)
            for n in (10, 20)
            if n > self.max_items
        }


class NTMSort(BitVectors):
    """Read bit vectors with priorities; then output those of the highest priority, in their order.

        step      0 … n-1                    n       n+1 … n+k
        input     vectors and priorities     mark    zeros
        target    -                          -       the k vectors of the highest priority

    There are n = `max_items` vectors; k is `kept`. The priorities are uniform from -1 to 1 and have
    an input of their own, and so has the mark; the highest comes first. Networks are also evaluated
    on one and a half times and on twice as many vectors, of which they output the same share.

    Source: Graves, Wayne and Danihelka (2014), Neural Turing machines, section 4.5.

    Shapes: xs `(T, B, bits + 2)`, targets `(T, B, bits)`, with T = n + k + 1.

    Example:
        >>> batch = NTMSort(bits=3, max_items=4, kept=2).batch(0, size=2)
        >>> batch.inputs.shape, batch.targets.shape
        ((7, 2, 5), (7, 2, 3))
    """

    @dataclasses.dataclass(frozen=True)
    class Settings:
        bits: int = setting(8, "bits of a vector", min=1)
        max_items: int = setting(20, "most items of a sequence", min=1)
        kept: int = setting(16, "ntm-sort: vectors to output", min=1)

        @property
        def min_items(self) -> int:
            return self.max_items

        def __post_init__(self) -> None:
            if self.kept > self.max_items:
                raise BadInput(
                    f"the task ntm-sort takes kept up to max_items, {self.max_items}, got "
                    f"{self.kept}"
                )

    name = "ntm-sort"
    recipe = by_machine(
        turing="64x20", read_gate=0.0, write_gate=0.0, rate=4e-3, curriculum=10, steps=40_000
    )

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.inputs, self.outputs = self.bits + 2, self.bits
        self.chance = float(self.bits * self.settings.kept)

    def answers(self, items: int) -> int:
        """How many vectors are the answer, of so many."""
        return max(1, round(items * self.settings.kept / self.max_items))

    def steps(self, items: int) -> int:
        return items + self.answers(items) + 1

    def draw(self, rng: np.random.Generator, size: int, min_items: int, max_items: int) -> Batch:
        xs, targets, weights = sequences(size, self.steps(max_items), self.inputs, self.outputs)
        vectors = random_bits(rng, max_items, size, self.bits)
        priorities = rng.uniform(-1, 1, (max_items, size)).astype(np.float32)
        xs[:max_items, :, : self.bits], xs[:max_items, :, self.bits], xs[max_items, :, -1] = (
            vectors,
            priorities,
            1,
        )
        order = np.argsort(-priorities, axis=0, kind="stable")[: self.answers(max_items)]
        targets[max_items + 1 :] = np.take_along_axis(vectors, order[..., None], axis=0)
        weights[max_items + 1 :] = 1
        return Batch(xs, targets, weights)

    def longer(self) -> dict[str, Draw]:
        return {
            f"{n} vectors, {self.answers(n)} of them sorted": partial(
                self.draw, min_items=n, max_items=n
            )
            for n in (self.max_items * 3 // 2, self.max_items * 2)
        }
