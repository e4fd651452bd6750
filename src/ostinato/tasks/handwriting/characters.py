"""Single handwritten characters from pen strokes, one label per sequence."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...cells import Model
from ...data import Batch
from ...data.ink import Ink
from ...data.strokes import pen_steps, read_drawings, steps_of_drawings
from ...decoding.sampling import most_probable
from ..applying import ApplyOptions
from ..framing import PerStep
from ..losses import CrossEntropy
from ..metrics import F1, Accuracy
from .pen_strokes import PenStrokes


class Characters(PenStrokes):
    """Read the pen strokes of one character; at its last step, classify it.

    The characters of a batch are as evenly distributed as its size allows. For the strokes see
    `PenStrokes`, for the inputs `data.strokes.pen_steps`.

    Shapes: inputs `(T, B, 3)`; targets `(T, B)`, zero before the last step of a sequence.

    Example:
        >>> batch = Characters(writers=10).batch(0, size=4)
        >>> batch.inputs.shape, batch.weights.sum(axis=0).tolist()
        ((40, 4, 3), [1.0, 1.0, 1.0, 1.0])
    """

    name = "characters"
    steps = 40

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.outputs = len(self.labels)
        metrics = Accuracy(), F1(self.outputs)
        self.framing = PerStep(CrossEntropy(), metrics, 1 / self.outputs)

    def written(
        self, rng: np.random.Generator, ink: Ink, shake: float, size: int, length: int
    ) -> Batch:
        labels = rng.permutation((np.arange(size) + rng.integers(self.outputs)) % self.outputs)
        points, up = ink.write(rng, labels[:, None], np.ones(size, int), shake)
        inputs, lengths = pen_steps(points, up, length)
        last = np.arange(length)[:, None] == lengths - 1
        targets = np.where(last, labels, 0).astype(np.int32)
        return Batch(inputs, targets, last.astype(np.float32), lengths)

    @classmethod
    def apply(cls, network: Model, how: ApplyOptions) -> Iterator[dict[str, Any]]:
        """The character of each drawing in a file; see `read_drawings`."""
        drawings = read_drawings(how.given_file("a file of strokes, .jsonl or .npz"))
        inputs, lengths = steps_of_drawings(drawings)
        batch = Batch(inputs, None, np.ones(inputs.shape[:2], np.float32), lengths)
        chosen = np.asarray(most_probable(network, batch.arrays))
        for n, label in enumerate(chosen[lengths - 1, np.arange(len(lengths))]):
            yield {"number": n, "text": how.artefacts["characters"][label]}
