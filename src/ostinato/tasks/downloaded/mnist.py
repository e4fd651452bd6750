"""Handwritten digits, read one pixel at a time."""

import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ...data import Batch, find_data
from ...data.files import unpacked
from ...errors import BadInput
from ..finite import Finite
from ..framing import LastStep
from ..generated import Length
from ..losses import CrossEntropy
from ..metrics import Accuracy
from ..task import checked_length

VALID = 5000
PIXELS = 784


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
        checked_length(self, length, PIXELS, PIXELS)
        return self.together("train", self.chosen(index, size))

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
    try:
        raw = unpacked(path)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"{path} cannot be unpacked ({error}); get it again") from None
    dimensions = raw[3] if len(raw) > 3 and raw.startswith(b"\0\0\x08") else 0
    begin = 4 + 4 * dimensions
    sizes = [int.from_bytes(raw[place : place + 4]) for place in range(4, begin, 4)]
    if not dimensions or len(raw) != begin + math.prod(sizes):
        raise BadInput(f"{path} is not a whole idx file of bytes; get it again")
    return np.frombuffer(raw, np.uint8, offset=begin).reshape(sizes)
