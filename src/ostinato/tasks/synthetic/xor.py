"""The temporal XOR problem."""

from typing import Any

import numpy as np

from ...data import Batch
from ..framing import PerStep
from ..generated import Synthetic
from ..losses import CrossEntropy
from ..metrics import Accuracy


class Xor(Synthetic):
    """Predict the next bit of a stream in which every third bit is the XOR of the two before it.

    `b_0, b_1` are random, `b_2 = b_0 ⊕ b_1`, then `b_3, b_4` are random, and so on. At step t the
    input is `b_t` and the target `b_{t+1}`. A sequence begins with a whole triple, so the network
    can tell from the start which bits are predictable. Random bits are not, so the best possible
    accuracy, the `ceiling`, is one for every third bit and one half for the others:
    `(½ + ½ + 1) / 3 = 66.7 %` if the length is a multiple of three.

    `solved` is the ceiling minus half a percentage point: four standard errors of the held-out
    accuracy, due to the random bits, at the default length.

    Source: Elman (1990), Finding structure in time.

    Shapes: xs and targets `(T, B)`, symbols 0 and 1.

    Example:
        >>> Xor(length=9).batch(0, size=4).inputs.shape
        (9, 4)
    """

    name = "xor"
    predicts_next = True
    inputs = outputs = 2
    symbolic = True
    framing = PerStep(CrossEntropy(), (Accuracy(),), chance=1 / 2)
    length = 99
    min_length = 2
    lag = 1

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        known = (self.length + 1) // 3
        self.ceiling = (1 + known / self.length) / 2
        self.solved = self.ceiling - 0.005

    def draw(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        triples = length // 3 + 1
        pairs = rng.integers(0, 2, (triples, 2, size), dtype=np.int32)
        third = pairs[:, :1] ^ pairs[:, 1:]
        bits = np.concatenate([pairs, third], axis=1).reshape(3 * triples, size)
        weights = np.ones((length, size), np.float32)
        return Batch(bits[:length], bits[1 : length + 1], weights)
