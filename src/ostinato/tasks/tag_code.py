"""What a trained tagger knows of its data, and how it tags other sentences."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from ..cells import Model
from ..data import Batch
from ..data.conllu import COLUMNS, Sentence, sentences
from ..data.kept import kept_texts
from ..data.padding import columns, rounded
from ..data.spelling import Spellings
from ..data.words import Words
from ..decoding.sampling import most_probable
from ..errors import BadInput
from ..progress import Report, silent

TOGETHER = 64  # sentences that are tagged in one batch
MAX_WORDS = 5000  # of a sentence


@dataclasses.dataclass(frozen=True)
class TagCode:
    """The words, characters and tags of a tagger by number.

    Words are looked up in lower case; their characters are read as they are.

    Attributes:
        words, letters: the known words and characters.
        tags: by number.
        column: the column of CoNLL-U that holds the tags.

    Example:
        >>> from ostinato.tasks.tag_code import TagCode
        >>> from ostinato.data.words import Words
        >>> code = TagCode(Words.of(["cats"]), Words.of("cats"), ("NOUN", "VERB"))
        >>> batch = code.batch([["Cats", "sit"], ["cats"]])
        >>> batch.inputs.words[:2].tolist(), batch.lengths.tolist()
        ([[1, 1], [0, 1]], [2, 1])
    """

    words: Words
    letters: Words
    tags: tuple[str, ...]
    column: str = "upos"

    def as_json(self) -> dict[str, Any]:
        return {
            "words": self.words.as_json(),
            "letters": self.letters.as_json(),
            "tags": list(self.tags),
            "column": self.column,
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "TagCode":
        """The inverse of `as_json`; raises `BadInput` for what another task has kept."""
        try:
            words, letters = Words.from_json(found["words"]), Words.from_json(found["letters"])
            column = found["column"]
            if column not in COLUMNS:
                raise ValueError("its column is not one of CoNLL-U")
            return cls(words, letters, kept_texts(found["tags"], "tags"), column)
        except (KeyError, TypeError, ValueError):
            raise BadInput("this is not a run of the task tag: it has no words and tags") from None

    def symbols(self, words: Iterable[str]) -> np.ndarray:
        """The symbols of some words."""
        return self.words.encode(word.lower() for word in words)

    def batch(self, found: Sequence[Sequence[str]]) -> Batch:
        """Sentences as a batch without targets."""
        distinct = {word: n for n, word in enumerate(dict.fromkeys(chain(*found)))}
        steps = rounded(max(map(len, found)))
        numbers = [np.array([distinct[word] for word in words]) for words in found]
        which, lengths = columns(numbers, steps)
        inputs = Spellings.of(distinct, self.letters).batch(self.symbols(distinct)[which], which)
        weights = (np.arange(steps)[:, None] < lengths).astype(np.float32)
        return Batch(inputs, np.zeros(weights.shape, np.int32), weights, lengths)

    def tag(self, network: Model, found: Sequence[Sequence[str]]) -> list[list[str]]:
        """The most probable tag of every word of some sentences."""
        batch = self.batch(found)
        chosen = np.asarray(most_probable(network, batch.arrays))
        return [
            [self.tags[n] for n in chosen[: len(words), place]] for place, words in enumerate(found)
        ]

    def apply(
        self,
        network: Model,
        lines: Iterable[str],
        where: str = "input",
        report: Report = silent,
        total: int | None = None,
    ) -> Iterator[str]:
        """Tag lines of CoNLL-U, or of plain sentences with spaces between the words.

        Lines are CoNLL-U if the first one is a comment or has tabs. Of CoNLL-U, only the column
        of the tags is changed.

        Args:
            network: a trained `Tagger`.
            lines: with or without their newlines.
            where: what is being read, for messages.
            report: hears how many lines are done.
            total: how many there are, if that is known.

        Returns:
            CoNLL-U, one sentence at a time.
        """
        reading = sentences_of(lines, where)
        what = "tagging the sentences"
        report(0, total, what)
        while some := list(islice(reading, TOGETHER)):
            words = [sentence.column("form") for sentence in some]
            for sentence, tags in zip(some, self.tag(network, words), strict=True):
                yield str(sentence.replaced(self.column, tags))
            report(some[-1].line, total, what)


def sentences_of(lines: Iterable[str], where: str) -> Iterator[Sentence]:
    """The sentences in lines of CoNLL-U or of plain words."""
    whole = (line if line.endswith("\n") else f"{line}\n" for line in lines)
    first = next(whole, None)
    if first is None:
        raise BadInput(f"{where} is empty; give CoNLL-U, or sentences, one per line")
    plain = "\t" not in first and not first.startswith("#")
    every = chain([first], whole)
    for sentence in _plain(every, where) if plain else sentences(every, where):
        if len(sentence.lines) > MAX_WORDS and len(sentence.words) > MAX_WORDS:
            raise BadInput(
                f"{where}, line {sentence.line}: a sentence of {len(sentence.words)} words; at "
                f"most {MAX_WORDS} are possible"
            )
        yield sentence


def _plain(lines: Iterable[str], where: str) -> Iterator[Sentence]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise BadInput(f"{where}, line {number}: an empty sentence; leave the line out")
        yield Sentence.of(line.split(), number)
