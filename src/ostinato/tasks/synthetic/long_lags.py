"""Problems with long time lags: adding, multiplication, temporal order, random permutation."""

import numpy as np

from ...data import Batch
from ..framing import LastStep
from ..generated import Synthetic
from ..losses import CrossEntropy, SquaredError
from ..metrics import Accuracy, MeanSquaredError

DISTRACTORS = 4
X = DISTRACTORS
RELEVANT = 2
SYMBOLS = 100


class Adding(Synthetic):
    """Read a sequence of numbers, two of them marked; at the last step, output the sum of the two.

    Each step has a value, uniform in [0, 1], and a marker that is one at two steps and zero
    elsewhere: one mark anywhere in the first half, one in the second. The target is the sum itself.
    This is the variant of most papers since 2015; Hochreiter and Schmidhuber sample values from
    [-1, 1], put the first mark among the first ten steps, vary the length, and scale the target to
    `½ + sum / 4`.

    Only the last step counts in the loss and the metric. `chance` is the variance of the target,
    `2/12 = 1/6`, the error of the constant answer 1. Solved: a mean squared error below 0.001;
    Hochreiter and Schmidhuber count a sequence as right if its error is below 0.04, which squared
    is 0.0016.

    Source: Hochreiter and Schmidhuber (1997), Long short-term memory, section 5.4; the variant: Le
    et al. (2015), A simple way to initialize recurrent networks of rectified linear units.

    Shapes: xs `(T, B, 2)`, value and marker; targets `(T, B, 1)`, zero before the last step.

    Example:
        >>> Adding(length=200).batch(0, size=4).inputs.shape
        (200, 4, 2)
    """

    name = "adding"
    inputs = 2
    outputs = 1
    framing = LastStep(SquaredError(), (MeanSquaredError(),), chance=1 / 6)
    solved = 0.001
    length = 100
    min_length = 2

    @property
    def lag(self) -> int:
        return self.length - self.length // 2

    def values(self, rng: np.random.Generator, length: int, size: int) -> np.ndarray:
        """The values `(length, size)`, of which two are marked."""
        return rng.random((length, size), np.float32)

    def target(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """The target, from the two marked values."""
        return one + other

    def draw(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        xs = np.zeros((length, size, 2), np.float32)
        xs[..., 0] = self.values(rng, length, size)
        half, every = length // 2, np.arange(size)
        first, second = rng.integers(0, half, size), rng.integers(half, length, size)
        xs[first, every, 1] = xs[second, every, 1] = 1
        target = self.target(xs[first, every, 0], xs[second, every, 0])
        return Batch(xs, *self.framing.asked(length, target[:, None]))


class Multiplication(Adding):
    """`Adding` with the product of the two marked values as the target.

    `chance` is the variance of the product, `1/9 - 1/16 = 7/144`, the error of the constant answer
    ¼.

    Source: Hochreiter and Schmidhuber (1997), section 5.5.
    """

    name = "multiplication"
    framing = LastStep(SquaredError(), (MeanSquaredError(),), chance=7 / 144)

    def target(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return one * other


class MarkedXor(Adding):
    """`Adding` with bits in place of values, and the XOR of the two marked ones as the target.

    `chance` is ¼, the error of the constant answer ½.

    Source: Martens and Sutskever (2011), section 4.1, after Atiya and Parlos (2000).
    """

    name = "marked-xor"
    framing = LastStep(SquaredError(), (MeanSquaredError(),), chance=1 / 4)

    def values(self, rng: np.random.Generator, length: int, size: int) -> np.ndarray:
        return np.round(super().values(rng, length, size))

    def target(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.abs(one - other)


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
    framing = LastStep(CrossEntropy(), (Accuracy(),), chance=1 / 4)
    solved = 0.999
    length = 100
    min_length = 10

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
        return Batch(xs, *self.framing.asked(length, classes))


class TemporalOrder3(TemporalOrder):
    """`TemporalOrder` with three relevant symbols, and so eight classes, XXX to YYY.

    The windows are 10 to 20, 33 to 43 and 66 to 76 percent of the length.

    Source: Hochreiter and Schmidhuber (1997), section 5.6, task 6b.
    """

    name = "temporal-order-3"
    windows = ((10, 20), (33, 43), (66, 76))
    outputs = 8
    framing = LastStep(CrossEntropy(), (Accuracy(),), chance=1 / 8)


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
    framing = LastStep(CrossEntropy(), (Accuracy(),), chance=1 / RELEVANT)
    solved = 0.999
    length = 100
    min_length = 2

    @property
    def lag(self) -> int:
        return self.length - 1

    def draw(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        xs = rng.integers(RELEVANT, SYMBOLS, (length, size), dtype=np.int32)
        xs[0] = rng.integers(0, RELEVANT, size)
        return Batch(xs, *self.framing.asked(length, xs[0]))
