"""The random permutation problem."""

import numpy as np

from ..data import Batch
from .framing import at_last
from .losses import CrossEntropy
from .metrics import Accuracy
from .synthetic import Synthetic

RELEVANT = 2
SYMBOLS = 100


class Permutation(Synthetic):
    """The first symbol returns at the end, with only distractors between; predict the last symbol.

    Of 100 symbols the first two are relevant. A sequence of T + 1 symbols begins with one of them,
    continues with T - 1 of the other 98, and ends with the symbol that it began with. The network
    reads all but the last, which it predicts out of all 100 at the last step; only that step counts
    in the loss and the metric. A constant answer is right half of the time.

    The distractors are sampled independently, because a sequence can be longer than a permutation
    of 98 symbols. Solved: an error rate of at most 0.001.

    Source: Hochreiter and Schmidhuber (1997), Long short-term memory, section 5.2, task 2b, in the
    version of Martens and Sutskever (2011), Learning recurrent neural networks with Hessian-free
    optimization.

    Shapes: xs and targets `(T, B)`, symbols; targets are zero before the last step.

    Example:
        >>> batch = Permutation(length=50).batch(0, size=4)
        >>> bool((batch.inputs[0] == batch.targets[-1]).all())
        True
    """

    name = "permutation"
    inputs = outputs = SYMBOLS
    symbolic = True
    loss = CrossEntropy()
    metrics = (Accuracy(),)
    chance = 1 / RELEVANT
    solved = 0.999
    length = 100
    least = 2

    @property
    def lag(self) -> int:
        return self.length - 1

    def draw(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        xs = rng.integers(RELEVANT, SYMBOLS, (length, size), dtype=np.int32)
        xs[0] = rng.integers(0, RELEVANT, size)
        return Batch(xs, *at_last(length, xs[0]))
