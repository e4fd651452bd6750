"""The random permutation problem."""

import numpy as np

from ..data import Batch
from .losses import CrossEntropy
from .metrics import Accuracy
from .synthetic import Synthetic, at_last

RELEVANT = 2
SYMBOLS = 100


class Permutation(Synthetic):
    """The first symbol comes again at the end, and all between are noise; predict the last.

    Of 100 symbols the first two are relevant. A sequence of T + 1 symbols begins with one of them,
    goes on with T - 1 of the other 98, and ends with the one it began with. The net sees all but
    the last, and at the last step it predicts that last symbol out of all 100; the loss and the
    metric stand there only. A constant answer is right half of the time.

    The distractors are drawn independently, since more steps than symbols leave no room for a
    permutation in the strict sense. Solved: an error rate of at most 0.001.

    Source: Hochreiter and Schmidhuber (1997), Long short-term memory, section 5.2, task 2b; as used
    by Martens and Sutskever (2011), Learning recurrent neural networks with Hessian-free
    optimization.

    Shapes: xs and targets `(T, B)`, symbols; targets are zero before the last step.

    Example:
        >>> batch = Permutation(length=50).batch(0, size=4)
        >>> (batch.inputs[0] == batch.targets[-1]).all()
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
    def lag(self):
        return self.length - 1

    def draw(self, rng, size, length):
        xs = rng.integers(RELEVANT, SYMBOLS, (length, size), dtype=np.int32)
        xs[0] = rng.integers(0, RELEVANT, size)
        return Batch(xs, *at_last(length, xs[0]))
