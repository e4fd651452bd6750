"""Single handwritten characters from pen strokes, one label per sequence."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..data import Batch
from ..data.pen import INPUTS, pen_steps
from ..settings import setting
from .epochs import in_order
from .handwriting import SHAKE, SOURCES, check_same_characters, inks
from .losses import CrossEntropy
from .metrics import F1, Accuracy
from .synthetic import PLACES, TRAIN
from .task import Task, checked_count, checked_part, checked_seed, hashed, random

STEPS = 40
HELD_OUT = 1000


class Characters(Task):
    """Read the pen strokes of one character; at its last step, classify it.

    Strokes and writers are those of `Handwriting`, and so are the steps of the pen. Characters
    are as frequent as one another in a batch.

    Shapes: inputs `(T, B, 3)`; targets `(T, B)`, zero before the last step of a sequence.

    Example:
        >>> batch = Characters(writers=10).batch(0, size=8)
        >>> batch.inputs.shape, batch.weights.sum(axis=0).tolist()
        ((40, 8, 3), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    """

    @dataclasses.dataclass(frozen=True)
    class Settings:
        strokes: str = setting("drawn", "where the strokes are from", among=SOURCES)
        alphabet: str | None = setting(
            None, "drawn: the characters to use (all 26); omniglot: an alphabet (Latin)"
        )
        writers: int = setting(200, "drawn: writers to learn from", least=1, most=100_000)
        length: int | None = setting(None, "steps per character, at most (40)", least=1)

    name = "characters"
    inputs = INPUTS
    loss = CrossEntropy()
    held_out_together = HELD_OUT

    def __init__(
        self,
        strokes: str = "drawn",
        alphabet: str | None = None,
        writers: int = 200,
        length: int | None = None,
        seed: int = 0,
    ):
        """
        Args:
            strokes: `"drawn"` or `"omniglot"`.
            alphabet: drawn: the characters to use; Omniglot: the name of an alphabet.
            writers: drawn: how many are for training.
            length: steps, at most; longer characters are sampled more coarsely.
            seed: random seed of writers and characters.
        """
        self.seed = checked_seed(seed)
        self.length = checked_count(STEPS if length is None else length)
        self.parts = inks(strokes, alphabet, writers, self.seed)
        self.characters = self.parts["train"].characters
        self.outputs = len(self.characters)
        self.metrics = (Accuracy(), F1(self.outputs))
        self.chance = 1 / self.outputs
        self.shakes = SHAKE[strokes]

    @classmethod
    def from_settings(
        cls, settings: Any, seed: int, artefacts: Mapping[str, Any] | None = None
    ) -> "Characters":
        task = super().from_settings(settings, seed)
        assert isinstance(task, Characters)
        check_same_characters(task.characters, artefacts)
        return task

    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        size = checked_count(size, "sequences of a batch")
        length = self.length if length is None else checked_count(length)
        return self._written(random(self.seed, TRAIN, index), "train", size, length)

    def held_out(self, part: str, size: int) -> Iterator[Batch]:
        rng = random(self.seed, PLACES[checked_part(part)], 0)
        every = self._written(rng, part, HELD_OUT, self.length)
        for some in in_order(HELD_OUT, checked_count(size, "sequences of a batch")):
            yield every.take(some)

    def _written(self, rng: np.random.Generator, part: str, size: int, length: int) -> Batch:
        ink, shake = self.parts[part], self.shakes[part != "train"]
        # As many of each character as possible, so that `chance` is exact.
        labels = rng.permutation((np.arange(size) + rng.integers(self.outputs)) % self.outputs)
        labels = labels[:, None]
        written = ink.write(rng, labels, np.ones(size, int), shake)
        inputs, lengths = pen_steps(*written, length)
        last = np.arange(length)[:, None] == lengths - 1
        targets = np.where(last, labels[:, 0], 0).astype(np.int32)
        return Batch(inputs, targets, last.astype(np.float32), lengths)

    def artefacts(self) -> dict[str, Any]:
        return {"characters": self.characters}

    def fingerprint(self) -> str:
        arrays = [x for ink in self.parts.values() for x in (ink.points, ink.up, ink.gaps)]
        return hashed([*arrays, np.frombuffer(self.characters.encode(), np.uint8)])
