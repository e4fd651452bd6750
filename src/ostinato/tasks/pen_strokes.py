"""What tasks of handwriting share: their strokes, their writers, and how those are divided."""

import abc
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from ..data import Batch
from ..data.ink import Ink, drawn_ink, omniglot_ink
from ..data.locate import find_data
from ..data.pen import INPUTS
from ..errors import BadInput
from ..settings import setting
from .epochs import in_order
from .synthetic import PLACES, TRAIN
from .task import Task, checked_count, checked_part, checked_seed, hashed, random

SOURCES = ("drawn", "omniglot")
OMNIGLOT = "omniglot/strokes_background_small1.zip"
ALPHABET = "Latin"
HELD_OUT = 500
HELD_OUT_WRITERS = {"drawn": 50, "omniglot": 3}  # for validation, and as many for test
SHAKE = {"drawn": (1.0, 1.0), "omniglot": (1.5, 0.0)}  # in training, and held out


class PenStrokes(Task):
    """A task that reads pen strokes; subclasses implement `written`.

    Strokes are drawn (26 digits and capitals, by writers of random slant, width, haste and form),
    or those of Omniglot, an alphabet by 20 persons. The writers of training, validation and test
    are disjoint: of the drawn ones 50 each are held out, of those of Omniglot 3 each. A writer's
    characters vary, but those of Omniglot only do in training.

    Attributes:
        labels: the characters, in the order of their labels.
        parts: the ink of `"train"`, `"valid"` and `"test"`.
        steps: the usual number of steps per character, at most.
    """

    @dataclasses.dataclass(frozen=True)
    class Settings:
        strokes: str = setting("drawn", "where the strokes are from", among=SOURCES)
        alphabet: str | None = setting(
            None, "drawn: the characters to use (all 26); omniglot: an alphabet (Latin)"
        )
        writers: int = setting(200, "drawn: writers to learn from", least=1, most=100_000)
        length: int | None = setting(None, "steps per sequence, at most", least=1)

    steps: ClassVar[int]
    inputs = INPUTS
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
            length: steps per sequence, at most; longer ones are sampled more coarsely.
            seed: random seed of writers and characters.
        """
        self.seed = checked_seed(seed)
        self.length = self.usual_length
        self.length = self._checked(length)
        self.parts = inks(strokes, alphabet, writers, self.seed)
        self.labels = self.parts["train"].characters
        self._shakes = SHAKE[strokes]

    @property
    def usual_length(self) -> int:
        return self.steps

    @property
    def least(self) -> int:
        """The fewest steps that the task allows."""
        return 1

    @abc.abstractmethod
    def written(
        self, rng: np.random.Generator, ink: Ink, shake: float, size: int, length: int
    ) -> Batch:
        """Some random sequences, of up to `length` steps; for `shake` see `Ink.write`."""

    @classmethod
    def from_settings(
        cls, settings: Any, seed: int, artefacts: Mapping[str, Any] | None = None
    ) -> "PenStrokes":
        task = super().from_settings(settings, seed)
        assert isinstance(task, PenStrokes)
        known = (artefacts or {}).get("characters", task.labels)
        if known != task.labels:
            raise BadInput(f"the model knows the characters {known}, the data have {task.labels}")
        return task

    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        size, length = checked_count(size, "sequences of a batch"), self._checked(length)
        rng = random(self.seed, TRAIN, index)
        return self.written(rng, self.parts["train"], self._shakes[0], size, length)

    def held_out(self, part: str, size: int) -> Iterator[Batch]:
        rng = random(self.seed, PLACES[checked_part(part)], 0)
        every = self.written(rng, self.parts[part], self._shakes[1], HELD_OUT, self.length)
        for some in in_order(HELD_OUT, checked_count(size, "sequences of a batch")):
            yield every.take(some)

    def _checked(self, length: int | None) -> int:
        length = self.length if length is None else checked_count(length)
        if length < self.least:
            raise BadInput(
                f"the task {self.name} takes a length of at least {self.least} steps, got {length}"
            )
        return length

    def artefacts(self) -> dict[str, Any]:
        return {"characters": self.labels}

    @classmethod
    def check_artefacts(cls, found: Mapping[str, Any]) -> tuple[int | None, int | None]:
        labels = found["characters"]
        if not isinstance(labels, str) or len(set(labels)) != len(labels):
            raise ValueError("its characters are not a text of different ones")
        return None, None

    def fingerprint(self) -> str:
        ink = [x for part in self.parts.values() for x in (part.points, part.up, part.gaps)]
        words = np.frombuffer(self.labels.encode(), np.uint8)
        return hashed([*ink, words, np.array(self.batch_shape(1))])


def inks(strokes: str, alphabet: str | None, writers: int, seed: int) -> dict[str, Ink]:
    """The ink of training, validation and test, by different writers; see `PenStrokes`."""
    if strokes not in SOURCES:
        raise BadInput(f"strokes must be one of {', '.join(SOURCES)}; got {strokes!r:.40}")
    other = HELD_OUT_WRITERS[strokes]
    if strokes == "drawn":
        ink = drawn_ink(seed, checked_count(writers, "writers") + 2 * other, alphabet)
    else:
        where = find_data(OMNIGLOT)
        ink = omniglot_ink(str(where), ALPHABET if alphabet is None else alphabet)
        if len(ink.points) <= 2 * other:
            raise BadInput(f"{where} has {len(ink.points)} writers; it takes more than {2 * other}")
    return {
        "valid": ink.of(slice(0, other)),
        "test": ink.of(slice(other, 2 * other)),
        "train": ink.of(slice(2 * other, None)),
    }
