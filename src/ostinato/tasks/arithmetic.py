"""The adding problem and the multiplication problem."""

import numpy as np

from ..data import Batch
from .framing import at_last
from .losses import SquaredError
from .metrics import MeanSquaredError
from .synthetic import Synthetic


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
    loss = SquaredError()
    metrics = (MeanSquaredError(),)
    chance = 1 / 6
    solved = 0.001
    length = 100
    least = 2

    @property
    def lag(self) -> int:
        return self.length - self.length // 2

    def target(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """The target, from the two marked values."""
        return one + other

    def draw(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        xs = np.zeros((length, size, 2), np.float32)
        xs[..., 0] = rng.random((length, size), np.float32)
        half, every = length // 2, np.arange(size)
        first, second = rng.integers(0, half, size), rng.integers(half, length, size)
        xs[first, every, 1] = xs[second, every, 1] = 1
        target = self.target(xs[first, every, 0], xs[second, every, 0])
        return Batch(xs, *at_last(length, target[:, None]))


class Multiplication(Adding):
    """`Adding` with the product of the two marked values as the target.

    `chance` is the variance of the product, `1/9 - 1/16 = 7/144`, the error of the constant answer
    ¼.

    Source: Hochreiter and Schmidhuber (1997), section 5.5.
    """

    name = "multiplication"
    chance = 7 / 144

    def target(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return one * other
