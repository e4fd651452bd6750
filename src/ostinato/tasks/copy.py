"""The copy memory problem."""

from typing import Any

import numpy as np

from ..data import Batch
from .losses import CrossEntropy
from .memorisation import shown_and_cued
from .metrics import NatsPerStep
from .synthetic import Synthetic

SYMBOLS = 8
MEMORY = 10
BLANK = SYMBOLS


class Copy(Synthetic):
    """Read ten symbols, then blanks, then a delimiter; then output the ten symbols in order.

        step      0 … 9          10 … T-12    T-11         T-10 … T-1
        input     the symbols    blank        delimiter    blank
        target    blank          blank        blank        the symbols

    There are 8 symbols (0 to 7), the blank (8) and the delimiter (9). T is the length, the total
    number of steps; the T of the paper counts only the delay and is smaller by 20.

    Every step counts in the loss, blanks included, and the metric is its mean in nats, as in the
    paper. `chance` predicts blanks until the delimiter and then any symbol: `10 ln 8 / T`. Solved:
    one hundredth of that, 0.02 nats per recalled symbol.

    Source: Arjovsky, Shah and Bengio (2016), Unitary evolution recurrent neural networks, section
    5.1; after Hochreiter and Schmidhuber (1997).

    Shapes: xs and targets `(T, B)`, symbols; the delimiter is never a target.

    Example:
        >>> Copy(length=120).chance
        0.173...
    """

    name = "copy"
    inputs = SYMBOLS + 2
    outputs = SYMBOLS + 1
    symbolic = True
    loss = CrossEntropy()
    metrics = (NatsPerStep(loss),)
    length = 120
    least = 2 * MEMORY + 1

    def __init__(self, *, seed: int = 0, **given: Any) -> None:
        super().__init__(seed=seed, **given)
        self.chance = MEMORY * float(np.log(SYMBOLS)) / self.length
        self.solved = self.chance / 100

    @property
    def lag(self) -> int:
        return self.length - MEMORY

    def draw(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        memory = rng.integers(0, SYMBOLS, (MEMORY, size), dtype=np.int32)
        targets = np.full((length, size), BLANK, np.int32)
        targets[-MEMORY:] = memory
        weights = np.ones((length, size), np.float32)
        return Batch(shown_and_cued(memory, length, SYMBOLS), targets, weights)
