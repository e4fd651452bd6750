"""Tasks that read pen strokes."""

import abc
import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from ...data import Batch
from ...data.files import find_data
from ...data.ink import Ink, drawn_ink, omniglot_ink
from ...data.strokes import INPUTS
from ...errors import BadInput
from ...settings import setting
from ..abilities import AnsweringTask
from ..batches import hashed
from ..generated import Generated
from ..task import Artefacts

SOURCES = ("drawn", "omniglot")
OMNIGLOT = "omniglot/strokes_background_small1.zip"
ALPHABET = "Latin"
HELD_OUT_WRITERS = {"drawn": 50, "omniglot": 3}  # for validation, and as many for test
SHAKE = {"drawn": (1.0, 1.0), "omniglot": (1.5, 0.0)}  # in training, and held out


class PenStrokes(Generated, AnsweringTask):
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
        writers: int = setting(200, "drawn: writers to learn from", min=1, max=100_000)
        length: int | None = setting(None, "steps per sequence, at most", min=1)

    steps: ClassVar[int]
    inputs = INPUTS
    held_out_together = 500

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.length = self.usual_length
        self.length = self.checked(self.settings.length)
        strokes = self.settings.strokes
        self.parts = inks(strokes, self.settings.alphabet, self.settings.writers, self.seed)
        self.labels = self.parts["train"].characters
        training, held_out = SHAKE[strokes]
        self._shakes = {"train": training, "valid": held_out, "test": held_out}

    @property
    def usual_length(self) -> int:
        return self.steps

    @abc.abstractmethod
    def written(
        self, rng: np.random.Generator, ink: Ink, shake: float, size: int, length: int
    ) -> Batch:
        """Some random sequences, of up to `length` steps; for `shake` see `Ink.write`."""

    @classmethod
    def from_settings(cls, settings: Any, seed: int, artefacts: Artefacts = None) -> Self:
        task = super().from_settings(settings, seed)
        known = (artefacts or {}).get("characters", task.labels)
        if known != task.labels:
            raise BadInput(f"the model knows the characters {known}, the data have {task.labels}")
        return task

    def made(self, rng: np.random.Generator, part: str, size: int, length: int) -> Batch:
        return self.written(rng, self.parts[part], self._shakes[part], size, length)

    def artefacts(self) -> dict[str, Any]:
        return {"characters": self.labels}

    @classmethod
    def check_artefacts(cls, artefacts: Mapping[str, Any]) -> tuple[int | None, int | None]:
        labels = artefacts["characters"]
        if not isinstance(labels, str) or len(set(labels)) != len(labels):
            raise BadInput("its characters are not a text of different ones")
        return None, None

    def fingerprint(self) -> str:
        ink = [x for part in self.parts.values() for x in (part.points, part.up, part.gaps)]
        words = np.frombuffer(self.labels.encode(), np.uint8)
        return hashed([*ink, words, np.array(self.batch_shape(1))])


def inks(strokes: str, alphabet: str | None, writers: int, seed: int) -> dict[str, Ink]:
    """The ink of training, validation and test, by different writers; see `PenStrokes`."""
    other = HELD_OUT_WRITERS[strokes]
    if strokes == "drawn":
        ink = drawn_ink(seed, writers + 2 * other, alphabet)
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
