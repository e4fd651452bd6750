"""Noiseless memorisation."""

import dataclasses

import numpy as np

from ..data import Batch
from ..errors import BadInput
from ..settings import setting
from .losses import CrossEntropy
from .metrics import Accuracy
from .synthetic import Length, Synthetic


class Memorisation(Synthetic):
    """Some bits come in, then nothing for long, then a cue; then give the bits in their order.

        step      0 … n-1    n … T-n-2    T-n-1    T-n … T-1
        input     the bits   blank        cue      blank
        target    -          -            -        the bits

    n is `bits`, T the length, so that a bit waits for T - n steps. The input symbols are 0, 1,
    blank (2) and cue (3). The loss and the metric stand on the n recall steps only; in the paper
    the net also has to answer "blank" before them.

    The metric is the accuracy of the recalled bits, chance ½. The literature counts a sequence as
    right when all its bits are, and the task as solved when at most 0.001 of the sequences are
    wrong: a bit accuracy of `1 - 0.001 / n` makes sure of that.

    Source: Martens and Sutskever (2011), Learning recurrent neural networks with Hessian-free
    optimization; with 5 bits, T - 10 is the distance that they name.

    Shapes: xs and targets `(T, B)`, symbols; targets are zero before the recall.

    Example:
        >>> batch = Memorisation(length=30, bits=5).batch(0, size=4)
        >>> (batch.inputs[:5] == batch.targets[-5:]).all()
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
        bits: int = setting(5, "how many bits are memorised", least=1)

    def __init__(self, length: int | None = None, seed: int = 0, bits: int = 5):
        """
        Args:
            length: steps of a sequence, at least `2 bits + 1`; `None` for 110.
            seed: of every sequence.
            bits: how many bits are memorised.
        """
        if bits < 1:
            raise BadInput(f"the task {self.name} takes at least 1 bit, got {bits}")
        self.bits, self.least = bits, 2 * bits + 1
        self.solved = 1 - 0.001 / bits
        super().__init__(length, seed)

    @property
    def lag(self):
        return self.length - self.bits

    def draw(self, rng, size, length):
        bits = rng.integers(0, 2, (self.bits, size), dtype=np.int32)
        targets, weights = np.zeros((length, size), np.int32), np.zeros((length, size), np.float32)
        targets[-self.bits :], weights[-self.bits :] = bits, 1
        return Batch(shown_and_cued(bits, length, symbols=2), targets, weights)


def shown_and_cued(memory: np.ndarray, length: int, symbols: int) -> np.ndarray:
    """The inputs: what is to be memorised, then blanks with a cue where the recall begins.

    Args:
        memory: `(n, B)`, of symbols below `symbols`.
        length: T, at least `2 n + 1`.
        symbols: how many there are; the blank is the next number, and the cue the one after.

    Returns:
        `(T, B)`, with the cue at step T - n - 1.
    """
    count, size = memory.shape
    xs = np.full((length, size), symbols, np.int32)
    xs[:count] = memory
    xs[length - count - 1] = symbols + 1
    return xs
