"""The temporal order problem, with two and with three symbols."""

import numpy as np

from ..data import Batch
from .framing import at_last
from .losses import CrossEntropy
from .metrics import Accuracy
from .synthetic import Synthetic

DISTRACTORS = 4
X = DISTRACTORS


class TemporalOrder(Synthetic):
    """Two symbols are X or Y, all others are distractors; at the last step, classify their order.

    The symbols are the distractors a, b, c, d (0 to 3), X (4) and Y (5). The first X or Y is at a
    random step from 10 to 20 percent of the length, the second from 50 to 60 percent. The classes
    are the orders XX, XY, YX, YY, numbered in binary with the first as the highest digit. Only the
    last step counts in the loss and the metric.

    The windows are those of Hochreiter and Schmidhuber for about 100 steps, scaled to the length.
    Their start and end symbols are left out because all sequences have the same length. Solved: an
    error rate of at most 0.001.

    Source: Hochreiter and Schmidhuber (1997), Long short-term memory, section 5.6, task 6a; the
    threshold is from Martens and Sutskever (2011), Learning recurrent neural networks with
    Hessian-free optimization.

    Shapes: xs and targets `(T, B)`, symbols; targets are zero before the last step.

    Example:
        >>> TemporalOrder(length=20).batch(0, size=4).targets[-1].shape
        (4,)
    """

    name = "temporal-order"
    windows: tuple[tuple[int, int], ...] = ((10, 20), (50, 60))  # in percent, end excluded
    inputs = DISTRACTORS + 2
    symbolic = True
    outputs = 4
    loss = CrossEntropy()
    metrics = (Accuracy(),)
    chance = 1 / 4
    solved = 0.999
    length = 100
    least = 10

    @property
    def lag(self) -> int:
        return self.length - self.length * self.windows[0][1] // 100

    def draw(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        xs = rng.integers(0, DISTRACTORS, (length, size), dtype=np.int32)
        classes = np.zeros(size, np.int32)
        for begin, end in self.windows:
            places = rng.integers(length * begin // 100, length * end // 100, size)
            which = rng.integers(0, 2, size, dtype=np.int32)
            xs[places, np.arange(size)] = X + which
            classes = 2 * classes + which
        return Batch(xs, *at_last(length, classes))


class TemporalOrder3(TemporalOrder):
    """`TemporalOrder` with three relevant symbols, and so eight classes, XXX to YYY.

    The windows are 10 to 20, 33 to 43 and 66 to 76 percent of the length.

    Source: Hochreiter and Schmidhuber (1997), section 5.6, task 6b.
    """

    name = "temporal-order-3"
    windows = ((10, 20), (33, 43), (66, 76))
    outputs = 8
    chance = 1 / 8
