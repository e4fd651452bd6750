"""The dynamic n-grams task of the neural Turing machine."""

import dataclasses
import functools
from typing import Any

import numpy as np

from ...cells import Model
from ...data import Batch
from ...settings import setting
from ..generated import Length, Synthetic
from .bit_vectors import BITS, by_machine, random_bits, scores_on_longer


class NTMNgrams(Synthetic):
    """Predict the next bit of a sequence from a random n-gram model.

    Each sequence has its own model: for each of the 2^(n-1) contexts of the last n-1 bits, the
    probability of a one is drawn from Beta(½, ½). The first n-1 bits are fair and are not
    predicted. At step t the input is bit t-1 (0 at first) and the target is bit t.

    The best predictor knows how often one (N₁) and zero (N₀) came after the same context so far:

        P(1 | N₁, N₀) = (N₁ + ½) / (N₁ + N₀ + 1)

    It is shown beside evaluations as "Bayes-optimal". Networks are also evaluated on sequences of
    twice the length.

    Source: Graves, Wayne and Danihelka (2014), Neural Turing machines, section 4.4; Murphy (2012)
    for the optimal predictor.

    Shapes: xs and targets `(T, B, 1)`.

    Example:
        >>> NTMNgrams(length=20, order=3).batch(0, size=2).inputs.shape
        (20, 2, 1)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(Length):
        order: int = setting(6, "ntm-ngrams: n, one more than the bits of a context", min=1, max=20)

    name = "ntm-ngrams"
    recipe = by_machine(
        turing="256x12",
        read_gate=2.0,
        read_stay=0.0,
        read_onward=2.0,
        head_strength=6.0,
        readout_units=64,
        rate=5e-3,
        curriculum=40,
        steps=2_000,
    )
    inputs = outputs = 1
    framing = BITS
    predicts_next = True
    length = 200

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.chance = float(self.length - self.order + 1)

    @property
    def order(self) -> int:
        """n of the n-grams."""
        return self.settings.order

    @property
    def min_length(self) -> int:  # type: ignore[override]
        return self.order

    def draw(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        known = self.order - 1
        ones = rng.beta(0.5, 0.5, (size, 2**known))
        bits, chances = random_bits(rng, length, size), rng.random((length, size))
        context, every = np.zeros(size, int), np.arange(size)
        for t in range(length):
            if t >= known:
                bits[t] = chances[t] < ones[every, context]
            context = (2 * context + bits[t].astype(int)) % 2**known
        xs = np.concatenate([np.zeros((1, size), np.float32), bits[:-1]])[..., None]
        weights = np.ones((length, size), np.float32)
        weights[:known] = 0
        return Batch(xs, bits[..., None], weights)

    def yardsticks(self, part: str) -> dict[str, float]:
        total, count = 0.0, 0
        for batch in self.held_out(part, 1000):
            best, targets = bayes_optimal(batch.targets[..., 0], self.order), batch.targets[..., 0]
            right = np.where(targets > 0.5, best, 1 - best)
            total -= float(np.sum(np.log2(right) * batch.weights))
            count += batch.sequences
        return {"Bayes-optimal": total / count}

    def scores(self, network: Model, part: str) -> dict[str, Any]:
        """Bits per sequence and share of wrong bits of sequences of twice the length."""
        twice = 2 * self.length
        longer = {f"{twice} bits": functools.partial(self.draw, length=twice)}
        return scores_on_longer(self, longer, network, part)


def bayes_optimal(bits: np.ndarray, order: int) -> np.ndarray:
    """The probability that each bit is a one, given those before it: `(N₁ + ½) / (N₁ + N₀ + 1)`.

    Args:
        bits: sequences of 0 and 1, `(T, B)`.
        order: n of the n-grams. The first n-1 bits have the probability ½.

    Example:
        >>> bayes_optimal(np.array([[1], [1], [0], [1]]), order=1)[:, 0].tolist()
        [0.5, 0.75, 0.8333333333333334, 0.625]
    """
    bits = np.asarray(bits).astype(int)
    length, size = bits.shape
    counts, every = np.full((size, 2 ** (order - 1), 2), 0.5), np.arange(size)
    share, context = np.full((length, size), 0.5), np.zeros(size, int)
    for t in range(length):
        if t >= order - 1:
            seen = counts[every, context]
            share[t] = seen[:, 1] / seen.sum(axis=1)
            counts[every, context, bits[t]] += 1
        context = (2 * context + bits[t]) % 2 ** (order - 1)
    return share
