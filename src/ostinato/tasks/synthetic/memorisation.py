"""Problems of recall after a delay: noiseless memorisation, and the copy memory problem."""

import dataclasses
from typing import Any

import numpy as np

from ...data import Batch
from ...settings import setting
from ..framing import PerStep
from ..generated import Length, Synthetic
from ..losses import CrossEntropy
from ..metrics import Accuracy, NatsPerStep

SYMBOLS = 8
MEMORY = 10
BLANK = SYMBOLS


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
    framing = PerStep(CrossEntropy(), (Accuracy(),), chance=1 / 2)
    length = 110

    @dataclasses.dataclass(frozen=True)
    class Settings(Length):
        bits: int = setting(5, "number of bits to memorise", min=1)

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.solved = 1 - 0.001 / self.bits

    @property
    def bits(self) -> int:
        """The number of bits to memorise."""
        return self.settings.bits

    @property
    def min_length(self) -> int:  # type: ignore[override]
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
    framing = PerStep(CrossEntropy(), (NatsPerStep(CrossEntropy()),))
    length = 120
    min_length = 2 * MEMORY + 1

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
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
