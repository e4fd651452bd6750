"""Handwriting from pen strokes: strings without a segmentation, words, and single characters."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...cells import Model
from ...data import Batch
from ...data.files import whole_path
from ...data.ink import Ink
from ...data.lines import read_lines
from ...data.padding import multiple_above
from ...data.strokes import checked_drawing, pen_steps, read_drawings, steps_of_drawings
from ...decoding import ctc_beam, ctc_greedy
from ...decoding.sampling import most_probable
from ...errors import BadInput
from ...files import checked_path
from ...settings import setting
from ..applying import ApplyOptions, outputs_on
from ..batches import EVALUATED_TOGETHER, hashed
from ..confusion import F1
from ..ctc import log_likelihoods
from ..framing import PerStep, Transcript
from ..losses import CrossEntropy
from ..metrics import Accuracy
from .pen_strokes import PenStrokes

SHOWN = 4
ROUND = 64
COMMON = "common"


class Handwriting(PenStrokes):
    """Read the pen strokes of a string of characters; with CTC, say which characters they are.

    A string has from half of `characters`, rounded up, to `characters` characters, all equally
    probable and independent, in the hand of one writer. A string of Omniglot puts single characters
    side by side. For the strokes see `PenStrokes`, for the inputs `data.strokes.pen_steps`.

    With `words`, a string is a word of that list, all equally probable. Transcripts are then also
    judged as a whole, and recognition takes the most probable word of the list: Graves et al.
    (2009) do so with a dictionary. `hidden_markov` has the models that they are compared with.

    The network outputs logits for the blank, 0, and the labels, from 1. A bidirectional one learns
    best. `chance` is the label error rate of an empty transcript.

    Sources: Graves et al. (2006), CTC; Graves et al. (2009), A novel connectionist system for
    unconstrained handwriting recognition; Lake et al. (2015), Omniglot.

    Shapes: inputs `(T, B, 3)`; targets and weights `(characters, B)`, see `CTC`.

    Example:
        >>> task = Handwriting(characters=4, writers=10)
        >>> batch = task.batch(0, size=8)
        >>> batch.inputs.shape, batch.targets.shape, len(task.texts(batch)[0]) in (2, 3, 4)
        ((96, 8, 3), (4, 8), True)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(PenStrokes.Settings):
        characters: int = setting(6, "characters per string, at most", min=1, max=1000)
        words: str | None = setting(
            None, "write words of this list: a file with one per line, or common (random strings)"
        )

        def __post_init__(self) -> None:
            if self.words not in (None, COMMON):
                object.__setattr__(self, "words", whole_path(self.words, "words"))

    name = "handwriting"
    apply_options = ("beam", "n_best")
    framing = Transcript()
    solved = 0.05
    steps = 24

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.outputs = 1 + len(self.labels)
        if self.words is not None:
            self.framing = Transcript(words=True)
            self._coded = coded_words(self.words, self.labels)

    @cached_property
    def words(self) -> tuple[str, ...] | None:
        """The words that strings are, if they are words."""
        return None if self.settings.words is None else read_words(self.settings.words)

    @property
    def max_characters(self) -> int:
        """The most characters of a string."""
        return self.settings.characters if self.words is None else max(map(len, self.words))

    @property
    def usual_length(self) -> int:
        return self.steps * self.max_characters

    @property
    def min_length(self) -> int:  # type: ignore[override]
        """A step per character, and one for the blank between equal ones."""
        return 2 * self.max_characters

    def written(
        self, rng: np.random.Generator, ink: Ink, shake: float, size: int, length: int
    ) -> Batch:
        if self.words is None:
            symbols = rng.integers(len(self.labels), size=(size, self.max_characters))
            counts = rng.integers(-(-self.max_characters // 2), self.max_characters + 1, size=size)
        else:
            which = rng.integers(len(self.words), size=size)
            symbols, counts = (x[which] for x in self._coded)
        inputs, lengths = pen_steps(*ink.write(rng, symbols, counts, shake), length)
        return self.framing.batch(inputs, lengths, symbols, counts, len(self.labels))

    def texts(self, batch: Batch) -> list[str]:
        """The right transcripts of a batch."""
        return [as_string(labels[labels > 0], self.labels) for labels in batch.targets.T]

    def preview(self, network: Model, key: jax.Array) -> str | None:
        """A few strings of the validation part, each with what the network reads."""
        batch = next(self.held_out("valid", SHOWN))
        outputs = outputs_on(network, batch.arrays)
        if not np.isfinite(outputs).all():
            return None
        texts = [as_string(labels, self.labels) for labels in ctc_greedy(outputs, batch.lengths)]
        pairs = zip(self.texts(batch), texts, strict=True)
        return "\n".join(f"{right} read as {words or 'nothing'}" for right, words in pairs)

    def scores(self, network: Model, part: str) -> dict[str, Any]:
        """How many words are right, if the most probable word of the list is taken."""
        if self.words is None:
            return {}
        right = []
        for batch in self.held_out(part, EVALUATED_TOGETHER):
            outputs = outputs_on(network, batch.arrays)
            ranked = ranked_words(outputs, batch.lengths, self.words, self.labels)
            texts = zip(ranked, self.texts(batch), strict=True)
            right += [best[0][0] == text for best, text in texts]
        return {"word accuracy, with the list": float(np.mean(right))}

    def artefacts(self) -> dict[str, Any]:
        words = {} if self.words is None else {"words": [*self.words]}
        return {**super().artefacts(), **words}

    @classmethod
    def check_artefacts(cls, artefacts: Mapping[str, Any]) -> tuple[int | None, int | None]:
        if "words" in artefacts:
            words = artefacts["words"]
            if not isinstance(words, list) or not all(isinstance(x, str) and x for x in words):
                raise BadInput("its words are not a list of words")
            if not words or not {*"".join(words)} <= {*artefacts["characters"]}:
                raise BadInput("its words are not of its characters")
        return super().check_artefacts(artefacts)

    def fingerprint(self) -> str:
        if self.words is None:
            return super().fingerprint()
        words = np.frombuffer("\n".join(self.words).encode(), np.uint8)
        return hashed([np.frombuffer(super().fingerprint().encode(), np.uint8), words])

    @classmethod
    def apply(cls, network: Model, how: ApplyOptions) -> Iterator[dict[str, Any]]:
        """The text of each drawing in a file or a list; see `read_drawings`."""
        recognised = recognise(
            network,
            read_drawings(how.file_or_data("a file of strokes, .jsonl or .npz")),
            how.artefacts["characters"],
            width=max(how.beam, 2),
            count=how.n_best,
            words=how.artefacts.get("words"),
        )
        for texts in recognised:
            answers = [{"text": text, "score": score} for text, score in texts]
            yield {"text": texts[0][0], "answers": answers}


def as_string(labels: np.ndarray, characters: str) -> str:
    """Labels from 1 as text."""
    return "".join(characters[label - 1] for label in labels)


def recognise(
    network: Model,
    drawings: list,
    characters: str,
    *,
    width: int = 1,
    count: int = 1,
    words: Sequence[str] | None = None,
) -> list[list[tuple[str, float | None]]]:
    """The texts of some drawings.

    Args:
        network: trained on `Handwriting`.
        drawings: each a list of strokes `(n, 2)` or `(n, 3)`, with y pointing up; see
            `data.strokes.read_drawings`.
        characters: those of the task.
        width: of the beam; 1 takes the most probable path instead.
        count: how many texts per drawing, at most `width`.
        words: the only possible texts, if any; `width` then does not matter.

    Returns:
        For each drawing its texts, the most probable first, each with the natural logarithm of its
        probability; with a width of 1, `None` in its place.

    Example:
        >>> from ostinato.runs import Config
        >>> from ostinato.runs.build import build_network
        >>> task = Handwriting(alphabet="01", characters=2, writers=1)
        >>> network = build_network(Config(task="handwriting", units=4, bidirectional=True), task)
        >>> zero = [[[0.3, 1], [0, 0.5], [0.3, 0], [0.6, 0.5], [0.3, 1]]]
        >>> len(recognise(network, [zero], task.labels, width=4, count=2)[0])
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
    spare = multiple_above(len(inputs), ROUND) - len(inputs)  # few compilations
    inputs = np.pad(inputs, ((0, spare), (0, 0), (0, 0)))
    unused = np.zeros((1, len(checked)), np.float32)
    outputs = outputs_on(network, Batch(inputs, unused, unused, lengths, first=None))
    if words is not None:
        ranked = ranked_words(outputs, lengths, words, characters)
        return [[*some[:count]] for some in ranked]
    if width == 1:
        paths = ctc_greedy(outputs, lengths)
        return [[(as_string(labels, characters), None)] for labels in paths]
    best = ctc_beam(outputs, lengths, width=width, count=count)
    return [[(as_string(labels, characters), score) for labels, score in each] for each in best]


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
        """The character of each drawing in a file or a list; see `read_drawings`."""
        drawings = read_drawings(how.file_or_data("a file of strokes, .jsonl or .npz"))
        inputs, lengths = steps_of_drawings(drawings)
        batch = Batch(inputs, None, np.ones(inputs.shape[:2], np.float32), lengths)
        chosen = np.asarray(most_probable(network, batch.arrays))
        for n, label in enumerate(chosen[lengths - 1, np.arange(len(lengths))]):
            yield {"number": n, "text": how.artefacts["characters"][label]}


# Words of the characters that are drawn, of two to six letters.
WORDS = """
ACHE ACT ALLEY APE CAKE CALM CAMP CANAL CAP CAT CELL CENT CHALK CHANCE CHEAP CLAM CLAY CLUE
CUP EACH EAT ELM EMPTY EVEN EXACT EXAM EYE FACE FACT FALL FAULT FENCE FEW FLAME FLAT FLUTE
FULL HALF HALL HAT HEALTH HEAT HEAVY HELP HUMAN HUNT KETTLE KEY LAKE LAMP LATE LAUNCH LAW
LEAF LEAVE LEFT LEVEL LUCK LUNCH LYNX MAN MANY MAP MAPLE MATCH MEAL MEAT MELT METAL MULE
NAME NAVY NECK NET NEXT NUT PALM PATH PAY PEACE PEN PLACE PLAN PLANET PLANT PLATE PLAY TAKE
TALENT TALK TALL TEA TEAM TEMPLE TEN TENT TEXT UNCLE VALLEY VALUE VELVET WALK WALL WAVE WAX
WAY WEEK WHALE WHAT WHEEL WHEN YAK
""".split()


def read_words(name: str) -> tuple[str, ...]:
    """The words of a file, one per line, or the built-in ones (`common`); a word is in it once."""
    words = WORDS if name == COMMON else read_lines(checked_path("words", name), "list of words")
    known: set[str] = set()
    for number, word in enumerate(words, 1):
        if word in known or len(word.split()) > 1:
            raise BadInput(
                f"{name}, line {number}: give every word once and alone, got {word!r:.40}"
            )
        known.add(word)
    if len(words) < 2:
        raise BadInput(f"{name} has one word; there is nothing to tell apart")
    return tuple(words)


def coded_words(words: Sequence[str], characters: str) -> tuple[np.ndarray, np.ndarray]:
    """Words as numbers of characters from 0, `(W, L)`, and how many each has, `(W,)`."""
    for word in words:
        if missing := set(word) - set(characters):
            raise BadInput(
                f"the word {word!r:.40} has {min(missing)!r}, which is none of the characters "
                f"{characters:.80}"
            )
    coded = np.zeros((len(words), max(map(len, words))), int)
    for row, word in zip(coded, words, strict=True):
        row[: len(word)] = [characters.index(x) for x in word]
    return coded, np.array([*map(len, words)])


def ranked_words(
    outputs: jax.Array, lengths: np.ndarray, words: Sequence[str], characters: str
) -> list[list[tuple[str, float]]]:
    """All words for each sequence by falling probability, with its logarithm; see `CTC`.

    Args:
        outputs: logits `(T, B, characters + 1)`.
        lengths: `(B,)`.
        words: the lexicon.
        characters: in the order of their labels.
    """
    coded, counts = coded_words(words, characters)
    labels = np.where(np.arange(coded.shape[1]) < counts[:, None], coded + 1, 0)
    rows = np.stack(
        [np.asarray(log_likelihoods(outputs, jnp.asarray(lengths), row)) for row in labels]
    )
    orders = np.argsort(-rows, axis=0, kind="stable").T
    return [
        [(words[w], float(rows[w, n])) for w in order] for n, order in enumerate(orders.tolist())
    ]
