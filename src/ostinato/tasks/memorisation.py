"""The noiseless memorisation problem."""

import dataclasses
from typing import Any

import numpy as np

from ..data import Batch
from ..settings import setting
from .losses import CrossEntropy
from .metrics import Accuracy
from .synthetic import Length, Synthetic


class Memorisation(Synthetic):
    """Read some bits, then blanks for a long time, then a cue; then output the bits in order.

        step      0 … n-1    n … T-n-2    T-n-1    T-n … T-1
        input     the bits   blank        cue      blank
        target    -          -            -        the bits

    n is `bits` and T the length, so a bit is recalled after T - n steps. The input symbols are 0,
    1, blank (2) and cue (3). Only the n recall steps count in the loss and the metric; in the paper
    the network also has to output "blank" before them.

    The metric is the accuracy of the recalled bits, with chance ½. The literature counts a sequence
    as right if all its bits are, and the task as solved if at most 0.001 of the sequences are
    wrong: a bit accuracy of `1 - 0.001 / n` guarantees that.

    Source: Martens and Sutskever (2011), Learning recurrent neural networks with Hessian-free
    optimization; with 5 bits, the distance that they give is T - 10.

    Shapes: xs and targets `(T, B)`, symbols; targets are zero before the recall.

    Example:
        >>> batch = Memorisation(length=30, bits=5).batch(0, size=4)
        >>> bool((batch.inputs[:5] == batch.targets[-5:]).all())
        True
    """

    name = "memorisation"
    inputs = 4
    outputs = 2
    symbolic = True
    loss = CrossEntropy()
    metrics = (Accuracy(),)
    chance = 1 / 2
    length = 110

    @dataclasses.dataclass(frozen=True)
    class Settings(Length):
        bits: int = setting(5, "number of bits to memorise", min=1)

    def __init__(self, *, seed: int = 0, **given: Any) -> None:
        super().__init__(seed=seed, **given)
        self.solved = 1 - 0.001 / self.bits

    @property
    def bits(self) -> int:
        """The number of bits to memorise."""
        return self.settings.bits

    @property
    def least(self) -> int:  # type: ignore[override]
        return 2 * self.bits + 1

    @property
    def lag(self) -> int:
        return self.length - self.bits

    def draw(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        bits = rng.integers(0, 2, (self.bits, size), dtype=np.int32)
        targets, weights = np.zeros((length, size), np.int32), np.zeros((length, size), np.float32)
        targets[-self.bits :], weights[-self.bits :] = bits, 1
        return Batch(shown_and_cued(bits, length, symbols=2), targets, weights)


def shown_and_cued(memory: np.ndarray, length: int, symbols: int) -> np.ndarray:
    """The inputs: the symbols to memorise, then blanks, with a cue before the recall.

    Args:
        memory: `(n, B)`, symbols below `symbols`.
        length: T, at least `2 n + 1`.
        symbols: the number of symbols; the blank has the next number, and the cue the one after.

    Returns:
        `(T, B)`, with the cue at step T - n - 1.
    """
    count, size = memory.shape
    xs = np.full((length, size), symbols, np.int32)
    xs[:count] = memory
    xs[length - count - 1] = symbols + 1
    return xs
