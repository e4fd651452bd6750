"""Sentences with a tag for each word: from files, in parts, as numbers, and tagged by a network."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from ...cells import Model
from ...data import Batch
from ...data.artefact_checks import kept_texts
from ...data.conllu import COLUMNS, Sentence, read_conllu, sentences
from ...data.examples import Examples
from ...data.padding import columns, rounded
from ...data.splits import PARTS, divided_at_random
from ...data.vocabulary import checked_texts
from ...data.words import Spellings, Words
from ...decoding.sampling import most_probable
from ...errors import BadInput
from ...progress import Report, silent
from ...settings import checked_kind, shown

TOGETHER = 64  # sentences that are tagged in one batch
MAX_WORDS = 5000  # of a sentence
Tagged = tuple[list[str], list[str]]  # words, and as many tags
MISSING = "_"
RARE_LETTER = 2  # a character that occurs less often is unknown


@dataclasses.dataclass(frozen=True)
class TagCode:
    """The words, characters and tags of a tagger by number.

    Words are looked up in lower case; their characters are read as they are.

    Attributes:
        words, letters: the known words and characters.
        tags: by number.
        column: the column of CoNLL-U that holds the tags.

    Example:
        >>> from ostinato.tasks.text.tagged import TagCode
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
    def from_json(cls, kept: Mapping[str, Any]) -> "TagCode":
        """The inverse of `as_json`; raises `BadInput` for what another task has kept."""
        try:
            words, letters = Words.from_json(kept["words"]), Words.from_json(kept["letters"])
            column = kept["column"]
            if column not in COLUMNS:
                raise ValueError("its column is not one of CoNLL-U")
            return cls(words, letters, kept_texts(kept["tags"], "tags"), column)
        except (KeyError, TypeError, ValueError):
            raise BadInput("this is not a run of the task tag: it has no words and tags") from None

    def symbols(self, words: Iterable[str]) -> np.ndarray:
        """The symbols of some words."""
        return self.words.encode(word.lower() for word in words)

    def batch(self, sentences: Sequence[Sequence[str]]) -> Batch:
        """Sentences as a batch without targets."""
        distinct = {word: n for n, word in enumerate(dict.fromkeys(chain(*sentences)))}
        steps = rounded(max(map(len, sentences)))
        numbers = [np.array([distinct[word] for word in words]) for words in sentences]
        which, lengths = columns(numbers, steps)
        inputs = Spellings.of(distinct, self.letters).batch(self.symbols(distinct)[which], which)
        weights = (np.arange(steps)[:, None] < lengths).astype(np.float32)
        return Batch(inputs, np.zeros(weights.shape, np.int32), weights, lengths)

    def tag(self, network: Model, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """The most probable tag of every word of some sentences."""
        batch = self.batch(sentences)
        chosen = np.asarray(most_probable(network, batch.arrays))
        return [
            [self.tags[n] for n in chosen[: len(words), place]]
            for place, words in enumerate(sentences)
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
        yield from map(str, self.tagged(network, sentences_of(lines, where), report, total))

    def tagged(
        self,
        network: Model,
        reading: Iterator[Sentence],
        report: Report = silent,
        total: int | None = None,
    ) -> Iterator[Sentence]:
        """The sentences with their tags; for the rest see `apply`."""
        what = "tagging the sentences"
        report(0, total, what)
        while some := list(islice(reading, TOGETHER)):
            words = [sentence.column("form") for sentence in some]
            for sentence, tags in zip(some, self.tag(network, words), strict=True):
                yield sentence.replaced(self.column, tags)
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
        _check_length(sentence, where)
        yield sentence


def sentences_of_words(given: Sequence[Sequence[str]]) -> Iterator[Sentence]:
    """Sentences that are lists of words; raises for what is none, or for a word that is several."""
    for number, some in enumerate(given, 1):
        words = checked_texts(some, f"sentence {number}")
        for word in words:
            if not word or word.split() != [word]:
                raise BadInput(
                    f"sentence {number} must be a list of words without spaces, got {shown(word)}"
                )
        if not words:
            raise BadInput(f"sentence {number} has no words; leave it out")
        sentence = Sentence.of(words, number)
        _check_length(sentence, "input")
        yield sentence


def _check_length(sentence: Sentence, where: str) -> None:
    if len(sentence.lines) > MAX_WORDS and len(sentence.words) > MAX_WORDS:
        raise BadInput(
            f"{where}, line {sentence.line}: a sentence of {len(sentence.words)} words; at most "
            f"{MAX_WORDS} are possible"
        )


def _plain(lines: Iterable[str], where: str) -> Iterator[Sentence]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise BadInput(f"{where}, line {number}: an empty sentence; leave the line out")
        yield Sentence.of(line.split(), number)


def read_tagged(path: str | Path, column: str) -> list[Tagged]:
    """The words of a CoNLL-U file and their values in a column."""
    sentences = [(x.column("form"), x.column(column)) for x in read_conllu(path)]
    if all(tag == MISSING for _, tags in sentences for tag in tags):
        raise BadInput(f"{path}: the column {column} is _ everywhere; choose another --column")
    return sentences


def in_parts(
    given: Mapping[str, Sequence[Tagged] | None],
    split: tuple[float, float, float],
    rng: np.random.Generator,
) -> dict[str, list[Tagged]]:
    """The sentences of each part, in the order in which they were given.

    Args:
        given: the sentences by part. A held-out part that is `None` is taken from `"train"`.
        split: the shares of the parts.
        rng: says which of them.
    """
    tagged = {
        name: [_checked(x) for x in checked_kind(name, some, Sequence, "a list of sentences")]
        for name, some in given.items()
        if some is not None or name == "train"
    }
    shares = [
        0.0 if name != "train" and name in tagged else share
        for name, share in zip(PARTS, split, strict=True)
    ]
    first, second, third = (share / sum(shares) for share in shares)
    everything = tagged["train"]
    parts = divided_at_random(len(everything), (first, second, third), "sentences", rng)
    for name, some in parts.items():
        if name == "train" or name not in tagged:
            tagged[name] = [everything[n] for n in some]
    return {name: tagged[name] for name in PARTS}


def _checked(sentence: Any) -> Tagged:
    try:
        words, tags = (checked_texts(some, "words and tags", object) for some in sentence)
    except (TypeError, ValueError):
        raise BadInput(f"a sentence is two lists, words and tags; got {shown(sentence)}") from None
    if not words or "" in words:
        raise BadInput(f"a sentence has at least one word, and no word is empty; got {words!r:.60}")
    if len(words) != len(tags):
        raise BadInput(f"a sentence of {len(words)} words has {len(tags)} tags: {words!r:.60}")
    return words, tags


def code_of(parts: Mapping[str, list[Tagged]], min_count: int, column: str) -> TagCode:
    """The words and characters of the training part, and the tags of all parts."""
    words = [word for some, _ in parts["train"] for word in some]
    tags = {tag for part in parts.values() for _, some in part for tag in some}
    if column != "feats":  # there it means that a word has no features
        tags -= {MISSING}
    return TagCode(
        Words.of((word.lower() for word in words), min_count),
        Words.of("".join(words), RARE_LETTER),
        tuple(sorted(tags)),
        column,
    )


def encoded(
    part: Sequence[Tagged], distinct: Mapping[str, int], tags: Sequence[str], source: str
) -> Examples:
    """Sentences as examples, whose inputs are the numbers of their words.

    Args:
        part: the sentences.
        distinct: the number of each word.
        tags: those that are known. Any other tag is refused; a missing one does not count.
        source: where the sentences are from, for messages.
    """
    known = {tag: n for n, tag in enumerate(tags)}
    lengths = np.array([len(words) for words, _ in part], np.int32)
    said = [tag for _, some in part for tag in some]
    for tag in said:
        if tag not in known and tag != MISSING:
            raise BadInput(
                f"{source}: the tag {tag!r:.40} was never seen in training; the model has "
                f"{', '.join(tags[:20])}"
            )
    return Examples(
        np.array([distinct[word] for words, _ in part for word in words], np.int32),
        lengths,
        np.array([known.get(tag, 0) for tag in said], np.int32),
        np.array([tag in known for tag in said], bool),
    )
