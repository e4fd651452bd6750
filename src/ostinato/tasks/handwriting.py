"""Handwriting: strings of characters from pen strokes, learned without a segmentation."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..data import Batch
from ..data.ink import Ink, drawn_ink, omniglot_ink
from ..data.locate import find_data
from ..data.pen import INPUTS, pen_steps, steps_of_drawings
from ..data.strokes import checked_drawing
from ..decoding import ctc_beam, ctc_greedy
from ..errors import BadInput
from ..settings import setting
from ..wiring import outputs_of
from .ctc import CTC, check_transcripts
from .edit_distance import LabelErrorRate
from .epochs import in_order
from .synthetic import PLACES, TRAIN
from .task import Task, checked_count, checked_part, checked_seed, hashed, random

SOURCES = ("drawn", "omniglot")
OMNIGLOT = "omniglot/strokes_background_small1.zip"
STEPS = 24  # per character, at most
HELD_OUT = 500
HELD_OUT_WRITERS = 50  # drawn ones, for validation and for test
SHOWN = 4
ROUND = 64
SHAKE = {"drawn": (1.0, 1.0), "omniglot": (1.5, 0.0)}  # in training, and held out


class Handwriting(Task):
    """Read the pen strokes of a string of characters; with CTC, say which characters they are.

    A string has from half of `characters`, rounded up, to `characters` characters, all equally
    probable, in the hand of one writer. The writers of training, validation and test are disjoint.

    Strokes are drawn (26 digits and capitals, writers of random slant, width, haste and form), or
    those of Omniglot, an alphabet by 20 persons: 14 for training, 3 for validation, 3 for test. A
    string of Omniglot puts single characters side by side; in training each is deformed a little.

    The network outputs logits for the blank, 0, and the labels, from 1. `chance` is the label error
    rate of an empty transcript; a bidirectional network learns best.

    Sources: Graves et al. (2006, 2009), CTC and unconstrained online handwriting recognition;
    Lake et al. (2015), Omniglot.

    Shapes: inputs `(T, B, 3)`, see `data.pen.pen_steps`; targets and weights `(characters, B)`.

    Example:
        >>> task = Handwriting(characters=4, writers=10)
        >>> batch = task.batch(0, size=8)
        >>> batch.inputs.shape, batch.targets.shape, len(task.texts(batch)[0]) in (2, 3, 4)
        ((96, 8, 3), (4, 8), True)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings:
        strokes: str = setting("drawn", "where the strokes are from", among=SOURCES)
        alphabet: str | None = setting(
            None, "drawn: the characters to use (all 26); omniglot: an alphabet (Latin)"
        )
        characters: int = setting(6, "characters per string, at most", least=1, most=1000)
        writers: int = setting(200, "drawn: writers to learn from", least=1, most=100_000)
        length: int | None = setting(None, "steps per string, at most (24 per character)", least=1)

    name = "handwriting"
    inputs = INPUTS
    loss = CTC()
    metrics = (LabelErrorRate(),)
    chance = 1.0
    solved = 0.05
    held_out_together = HELD_OUT

    def __init__(
        self,
        strokes: str = "drawn",
        alphabet: str | None = None,
        characters: int = 6,
        writers: int = 200,
        length: int | None = None,
        seed: int = 0,
    ):
        """
        Args:
            strokes: `"drawn"` or `"omniglot"`.
            alphabet: drawn: the characters to use; Omniglot: the name of an alphabet.
            characters: per string, at most.
            writers: drawn: how many are for training.
            length: steps per string, at most; longer ones are sampled more coarsely.
            seed: random seed of writers and strings.
        """
        self.seed = checked_seed(seed)
        self.most = checked_count(characters, "characters of a string")
        self.length = 2 * self.most
        self.length = self._checked(STEPS * self.most if length is None else length)
        self.parts = inks(strokes, alphabet, writers, self.seed)
        self.characters = self.parts["train"].characters
        self.outputs = 1 + len(self.characters)
        self.shakes = SHAKE[strokes]

    @classmethod
    def from_settings(
        cls, settings: Any, seed: int, artefacts: Mapping[str, Any] | None = None
    ) -> "Handwriting":
        task = super().from_settings(settings, seed)
        assert isinstance(task, Handwriting)
        check_same_characters(task.characters, artefacts)
        return task

    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        size, length = checked_count(size, "sequences of a batch"), self._checked(length)
        return self._written(random(self.seed, TRAIN, index), "train", size, length)

    def held_out(self, part: str, size: int) -> Iterator[Batch]:
        rng = random(self.seed, PLACES[checked_part(part)], 0)
        every = self._written(rng, part, HELD_OUT, self.length)
        for some in in_order(HELD_OUT, checked_count(size, "sequences of a batch")):
            yield every.take(some)

    def _written(self, rng: np.random.Generator, part: str, size: int, length: int) -> Batch:
        ink, shake = self.parts[part], self.shakes[part != "train"]
        symbols = rng.integers(len(self.characters), size=(size, self.most))
        counts = rng.integers(-(-self.most // 2), self.most + 1, size=size)
        inputs, lengths = pen_steps(*ink.write(rng, symbols, counts, shake), length)
        counted = np.arange(self.most)[:, None] < counts
        targets = np.where(counted, symbols.T + 1, 0).astype(np.int32)
        batch = Batch(inputs, targets, counted.astype(np.float32), lengths)
        return check_transcripts(batch, len(self.characters))

    def _checked(self, length: int | None) -> int:
        length = self.length if length is None else checked_count(length)
        if length < 2 * self.most:
            raise BadInput(
                f"the task {self.name} takes a length of at least {2 * self.most} steps for "
                f"{self.most} characters, got {length}"
            )
        return length

    def texts(self, batch: Batch) -> list[str]:
        """The right transcripts of a batch."""
        return [as_string(labels[labels > 0], self.characters) for labels in batch.targets.T]

    def preview(self, network: Any, key: jax.Array) -> str | None:
        """A few strings of the validation part, each with what the network reads."""
        batch = next(self.held_out("valid", SHOWN))
        outputs, _ = _outputs(network, batch.arrays)
        if not np.isfinite(outputs).all():
            return None
        read = [as_string(labels, self.characters) for labels in ctc_greedy(outputs, batch.lengths)]
        pairs = zip(self.texts(batch), read, strict=True)
        return "\n".join(f"{right} read as {found or 'nothing'}" for right, found in pairs)

    def artefacts(self) -> dict[str, Any]:
        return {"characters": self.characters}

    def fingerprint(self) -> str:
        arrays = [x for ink in self.parts.values() for x in (ink.points, ink.up, ink.gaps)]
        words = np.frombuffer(self.characters.encode(), np.uint8)
        return hashed([*arrays, words, np.array([self.most, self.length])])


def inks(strokes: str, alphabet: str | None, writers: int, seed: int) -> dict[str, Ink]:
    """The ink of training, validation and test, by different writers; see `Handwriting`."""
    if strokes not in SOURCES:
        raise BadInput(f"strokes must be one of {', '.join(SOURCES)}; got {strokes!r:.40}")
    if strokes == "drawn":
        train, other = checked_count(writers, "writers"), HELD_OUT_WRITERS
        ink = drawn_ink(seed, train + 2 * other, alphabet)
    else:
        ink = omniglot_ink(str(find_data(OMNIGLOT)), alphabet or "Latin")
        other = 3
        train = len(ink.points) - 2 * other
        if train < 1:
            raise BadInput(f"{len(ink.points)} writers are too few; it takes at least 7")
    places = {"valid": slice(0, other), "test": slice(other, 2 * other)}
    return {"train": ink.of(slice(2 * other, None))} | {p: ink.of(x) for p, x in places.items()}


def check_same_characters(characters: str, artefacts: Mapping[str, Any] | None) -> None:
    """Raise if a trained model knows other characters than its task."""
    known = (artefacts or {}).get("characters", characters)
    if known != characters:
        raise BadInput(f"the model knows the characters {known}, the data have {characters}")


def as_string(labels: np.ndarray, characters: str) -> str:
    """Labels from 1 as text."""
    return "".join(characters[label - 1] for label in labels)


def recognise(
    network: Any, drawings: list, characters: str, *, width: int = 1, count: int = 1
) -> list[list[tuple[str, float | None]]]:
    """The texts of some drawings.

    Args:
        network: trained on `Handwriting`.
        drawings: each a list of strokes `(n, 2)` or `(n, 3)`, with y pointing up; see
            `data.strokes.read_drawings`.
        characters: those of the task.
        width: of the beam; 1 takes the most probable path instead.
        count: how many texts per drawing, at most `width`.

    Returns:
        For each drawing its texts, the most probable first, each with the natural logarithm of its
        probability; with a width of 1, `None` in its place.

    Example:
        >>> from ostinato.runs import Config
        >>> from ostinato.runs.build import build_network
        >>> task = Handwriting(alphabet="01", characters=2, writers=1)
        >>> network = build_network(Config(task="handwriting", units=4, bidirectional=True), task)
        >>> zero = [[[0.3, 1], [0, 0.5], [0.3, 0], [0.6, 0.5], [0.3, 1]]]
        >>> len(recognise(network, [zero], task.characters, width=4, count=2)[0])
        2
    """
    if network.outputs != 1 + len(characters):
        raise BadInput(
            f"a network for {len(characters)} characters has {1 + len(characters)} outputs, this "
            f"one has {network.outputs}"
        )
    if not drawings:
        return []
    checked = [checked_drawing(x, f"drawing {n}") for n, x in enumerate(drawings)]
    inputs, lengths = steps_of_drawings(checked)
    inputs = np.pad(inputs, ((0, -len(inputs) % ROUND), (0, 0), (0, 0)))  # few compilations
    unused = np.zeros((1, len(checked)), np.float32)
    outputs, _ = _outputs(network, Batch(inputs, unused, unused, lengths, first=None))
    if width == 1:
        found = ctc_greedy(outputs, lengths)
        return [[(as_string(labels, characters), None)] for labels in found]
    best = ctc_beam(outputs, lengths, width=width, count=count)
    return [[(as_string(labels, characters), score) for labels, score in each] for each in best]


@eqx.filter_jit
def _outputs(network: Any, batch: Batch) -> tuple[jax.Array, Any]:
    return outputs_of(eqx.nn.inference_mode(network), batch)
