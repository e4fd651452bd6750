"""A passage of text that a trained network reads, piece by piece, to be looked at from inside.

Of a pair, the pieces are those of the target, which the decoder writes.
"""

import abc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...data import Batch, Vocabulary
from ...data.padding import multiple_above, padded_columns
from ...data.tokens import END, Tokens
from ...decoding.text import as_text
from ...errors import BadInput
from ..framing import Written
from .labelled import LabelCode
from .parallel_reading import side_by_side
from .tagged import TOGETHER, TagCode

CHUNK = 500  # steps that are read at a time before a window
UNKNOWN = -1

Run = Callable[[Batch, Any], tuple[Any, Any]]
ROUND = 16  # steps by which padded sequences grow, so that there are few compilations


class Passage(abc.ABC):
    """The pieces of a text, and how a network reads them.

    Attributes:
        pieces: the text, one piece per step: a character, a byte or a word.
        names: what each output of the network stands for.
        targets: `(pieces,)`, the output that each piece asks for; -1 if unknown.
        ahead: 1 if an output is about the next piece, 0 if it is about the same.
        unit: what a piece is, in words.
        about: what an output says, in words, where it is not the next piece.
        judged: whether outputs are of one thing among many, so that each has a probability.
    """

    pieces: list[str]
    names: Sequence[str]
    targets: np.ndarray
    ahead: int
    unit: str
    about: str = ""
    judged: bool = True

    @abc.abstractmethod
    def over(self, run: Run) -> Iterator[tuple[Any, np.ndarray]]:
        """Read all pieces, in batches of bounded size.

        Args:
            run: reads a batch from a state, `None` for the initial one, and returns whatever it
                finds and the state afterwards.

        Returns:
            What was found, with the piece that each step read, `(T, B)`: in each of the B sequences
            pieces that follow each other, then -1 where nothing is to be looked at. What comes
            later takes the place of what came earlier.
        """

    @abc.abstractmethod
    def window(self, at: int, steps: int) -> tuple[Batch, np.ndarray, int]:
        """What a network reads before it outputs what is said about a piece.

        Args:
            at: the piece.
            steps: how many pieces before it, at most.

        Returns:
            A batch of one sequence, the piece at each of its steps, and the step of the output.
        """

    @abc.abstractmethod
    def before(self, at: int) -> Iterator[Batch]:
        """All that is read before a window that begins with a piece."""

    def first(self, count: int) -> "Passage":
        """The passage up to so many pieces."""
        raise NotImplementedError

    def notes(self, bidirectional: bool) -> list[str]:
        """What to know about what such a network says at a piece, in sentences."""
        return []


class TextPassage(Passage):
    """A text of characters or bytes, of which a network predicts the next.

    It is read from its beginning to its end; a long one in streams, see `side_by_side`.

    Example:
        >>> passage = TextPassage(np.array([0, 1, 1, 0]), Vocabulary.of_text("ab"))
        >>> passage.pieces, passage.targets.tolist()
        (['a', 'b', 'b', 'a'], [0, 1, 1, 0])
        >>> read = passage.over(lambda batch, state: (batch.inputs, state))
        >>> [places[:5, 0].tolist() for _, places in read]
        [[0, 1, 2, 3, -1]]
    """

    ahead = 1

    def __init__(self, symbols: np.ndarray, vocabulary: Vocabulary):
        if not len(symbols):
            raise BadInput("the text is empty; give at least one character")
        self.symbols, self.vocabulary = np.asarray(symbols, np.int32), vocabulary
        self.pieces = list(as_text(self.symbols[:, None], vocabulary))[: len(symbols)]
        self.targets = self.symbols
        self.unit = "character" if vocabulary.level == "characters" else "byte"

    @property
    def names(self) -> Sequence[str]:  # type: ignore[override]
        points = self.vocabulary.points
        if self.vocabulary.level == "characters":
            return [chr(point) for point in points]
        return [chr(point) if point < 128 else f"\\x{point:02x}" for point in points]

    def first(self, count: int) -> "TextPassage":
        return TextPassage(self.symbols[:count], self.vocabulary)

    def over(self, run: Run) -> Iterator[tuple[Any, np.ndarray]]:
        def read(symbols: np.ndarray, state: Any) -> tuple[Any, Any]:
            return run(Batch(symbols, symbols, np.ones(symbols.shape, np.float32)), state)

        return side_by_side(read, self.symbols)

    def window(self, at: int, steps: int) -> tuple[Batch, np.ndarray, int]:
        if at < 1:
            raise BadInput("nothing comes before the first piece, so nothing moved its loss")
        places = np.arange(max(at - steps, 0), at)
        inputs = self.symbols[places][:, None]
        return Batch(inputs, inputs, np.ones(inputs.shape, np.float32)), places, len(places) - 1

    def before(self, at: int) -> Iterator[Batch]:
        for start in range(0, at, CHUNK):
            inputs = self.symbols[start : min(start + CHUNK, at)][:, None]
            yield Batch(inputs, inputs, np.ones(inputs.shape, np.float32), first=start == 0)


class SeparatePassage(Passage):
    """Sequences that a network reads each by itself.

    Attributes:
        ends: the number of pieces up to the end of each sequence.
    """

    ends: np.ndarray
    ahead = 0

    @abc.abstractmethod
    def batch(self, start: int, stop: int) -> Batch:
        """Some of the sequences, with their lengths."""

    @abc.abstractmethod
    def only(self, count: int) -> "SeparatePassage":
        """The first `count` sequences."""

    def first(self, count: int) -> "SeparatePassage":
        """Whole sequences, at least one."""
        return self.only(max(int(np.searchsorted(self.ends, count, side="right")), 1))

    def over(self, run: Run) -> Iterator[tuple[Any, np.ndarray]]:
        for start in range(0, len(self.ends), TOGETHER):
            batch, places = self._part(start, start + TOGETHER)
            yield run(batch, None)[0], places

    def window(self, at: int, steps: int) -> tuple[Batch, np.ndarray, int]:
        """The whole sequence, because a network may read it in both directions."""
        which = int(np.searchsorted(self.ends, at, side="right"))
        batch, places = self._part(which, which + 1)
        asked = np.flatnonzero(places[:, 0] == at - self.ahead)
        if at < self.ahead or not asked.size:
            raise BadInput("nothing comes before the first piece, so nothing moved its loss")
        return batch, places[: int(batch.lengths[0]), 0], int(asked[0])

    def before(self, at: int) -> Iterator[Batch]:
        return iter(())

    def _part(self, start: int, stop: int) -> tuple[Batch, np.ndarray]:
        """Some sequences, and the piece at each step; -1 in the padding."""
        batch = self.batch(start, stop)
        begins = np.concatenate([[0], self.ends])[start : min(stop, len(self.ends))]
        times = np.arange(batch.steps)[:, None]
        return batch, np.where(times < batch.lengths, begins + times, -1)


def _lines(sequences: Sequence[Sequence[str]], joint: str) -> list[str]:
    """The pieces of all sequences, each with what follows it: the joint, or a newline."""
    return [
        word + (joint if n + 1 < len(words) else "\n")
        for words in sequences
        for n, word in enumerate(words)
    ]


class TaggedPassage(SeparatePassage):
    """Sentences whose words a network tags; each is read by itself.

    Example:
        >>> from ostinato.data.words import Words
        >>> code = TagCode(Words.of(["cats"]), Words.of("cats"), ("NOUN", "VERB"))
        >>> passage = TaggedPassage(code, [["Cats", "sit"]], [["NOUN", "_"]])
        >>> passage.pieces, passage.targets.tolist()
        (['Cats ', 'sit\\n'], [0, -1])
    """

    unit, about = "word", "its tag"

    def __init__(
        self,
        code: TagCode,
        sentences: Sequence[Sequence[str]],
        tags: Sequence[Sequence[str]] | None = None,
    ):
        """
        Args:
            code: of the trained network.
            sentences: their words.
            tags: of each word; one that the network does not have is unknown.
        """
        if not sentences:
            raise BadInput("there is no sentence; give at least one")
        self.code, self.sentences, self.names = code, sentences, code.tags
        self.pieces = _lines(sentences, " ")
        self.tags = tags
        known = {tag: n for n, tag in enumerate(code.tags)}
        said = ["_"] * len(self.pieces) if tags is None else [tag for some in tags for tag in some]
        self.targets = np.array([known.get(tag, UNKNOWN) for tag in said], np.int32)
        self.ends = np.cumsum([len(words) for words in sentences])

    def only(self, count: int) -> "TaggedPassage":
        tags = None if self.tags is None else self.tags[:count]
        return TaggedPassage(self.code, self.sentences[:count], tags)

    def batch(self, start: int, stop: int) -> Batch:
        return self.code.batch(self.sentences[start:stop])


class LabelledPassage(SeparatePassage):
    """Texts that a network labels. What it says at a piece is the label if the text ended there.

    Of several labels at once nothing is said, because they are not one among many.

    Example:
        >>> from ostinato.tasks import Classify
        >>> task = Classify(["it is good", "not good"] * 20, ["yes", "no"] * 20)
        >>> passage = task.passage("test")
        >>> passage.pieces[:2], passage.names[passage.targets[0]]
        (['not ', 'good\\n'], 'no')
    """

    about = "the label, if the text ended there"

    def __init__(
        self,
        code: LabelCode,
        texts: Sequence[str],
        labels: Sequence[int] | np.ndarray | None = None,
    ):
        """
        Args:
            code: of the trained network.
            texts: what it reads, each by itself.
            labels: the right ones, by number.
        """
        if not texts:
            raise BadInput("there is no text; give at least one")
        self.code, self.texts, self.labels = code, texts, labels
        self.names = [str(name) for name in code.answers.classes or ()]
        self.judged = code.answers.kind == "classification"
        sequences = [code.split(text) for text in texts]
        self.pieces = _lines(sequences, " " if code.level == "words" else "")
        self.unit = code.level.removesuffix("s")
        sizes = [len(some) for some in sequences]
        right = [UNKNOWN] * len(texts) if labels is None else labels
        self.targets = np.repeat(np.array(right, np.int32), sizes)
        self.ends = np.cumsum(sizes)

    def notes(self, bidirectional: bool) -> list[str]:
        if not self.judged:
            return ["several labels at once are not one among many, so nothing is a surprise"]
        if not bidirectional:
            return []
        return [
            "the network reads in both directions, so what it says at a piece knows all of the "
            "text; its answer is that at the last piece"
        ]

    def only(self, count: int) -> "LabelledPassage":
        labels = None if self.labels is None else self.labels[:count]
        return LabelledPassage(self.code, self.texts[:count], labels)

    def batch(self, start: int, stop: int) -> Batch:
        batch = self.code.batch(self.texts[start:stop])
        return batch._replace(targets=np.zeros(batch.inputs.shape, np.int32))


class PairPassage(SeparatePassage):
    """Sources, each before its target, of which a decoder predicts the next symbol.

    The first piece of a pair is the whole source, which the encoder reads; then come the symbols of
    the target and its end, a newline. States are those of the decoder after it has read a piece; it
    does not read the end.

    Example:
        >>> from ostinato.tasks import Pairs
        >>> task = Pairs.of_texts(["one two", "two"] * 20, ["eins zwei", "zwei"] * 20)
        >>> task.passage("test").pieces[:4]
        ['one two → ', 'eins ', 'zwei ', '\\n']
    """

    ahead = 1

    def __init__(
        self,
        texts: Sequence[str],
        sources: Sequence[np.ndarray],
        targets: Sequence[np.ndarray],
        tokens: Tokens,
    ):
        """
        Args:
            texts: the sources, to be shown.
            sources: their symbols, with ends.
            targets: symbols with ends.
            tokens: those of the targets.
        """
        self.texts, self.sources, self.written, self.tokens = texts, sources, targets, tokens
        self.names = tokens.pieces(range(len(tokens)))
        self.unit = "symbol" if tokens.level == "subwords" else tokens.level.removesuffix("s")
        joint = " " if tokens.level == "words" else ""
        self.pieces = [
            piece
            for text, symbols in zip(texts, targets, strict=True)
            for piece in (
                f"{text} → ",
                *("\n" if n == END else f"{self.names[n]}{joint}" for n in symbols),
            )
        ]
        self.targets = np.concatenate([np.append(UNKNOWN, symbols) for symbols in targets])
        self.ends = np.cumsum([len(symbols) + 1 for symbols in targets])

    def only(self, count: int) -> "PairPassage":
        some = slice(count)
        return PairPassage(self.texts[some], self.sources[some], self.written[some], self.tokens)

    def batch(self, start: int, stop: int) -> Batch:
        sources, targets = self.sources[start:stop], self.written[start:stop]
        read, steps = (multiple_above(max(map(len, x)), ROUND) for x in (sources, targets))
        return Written.batch(*padded_columns(sources, read), targets, steps)
