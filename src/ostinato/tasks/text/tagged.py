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
from ...data.lines import read_utf8
from ...data.padding import padded_columns, rounded
from ...data.splits import PARTS, divided_at_random
from ...data.tagged_text import TaggedText, as_text, form_of, in_columns, with_slashes
from ...data.text_table import suffix_of
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
FORMS = ("conllu", "columns", "slashes")  # see `data.tagged_text`
RARE_LETTER = 2  # a character that occurs less often is unknown


@dataclasses.dataclass(frozen=True)
class TagCode:
    """The words, characters and tags of a tagger by number.

    Words are looked up in lower case; their characters are read as they are.

    Attributes:
        words, letters: the known words and characters.
        tags: by number.
        column: the column of CoNLL-U that holds the tags.
        form: how tagged sentences are written, one of `FORMS`.

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
    form: str = FORMS[0]

    def as_json(self) -> dict[str, Any]:
        return {
            "words": self.words.as_json(),
            "letters": self.letters.as_json(),
            "tags": list(self.tags),
            "column": self.column,
            **({} if self.form == FORMS[0] else {"form": self.form}),
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "TagCode":
        """The inverse of `as_json`; raises `BadInput` for what another task has kept."""
        try:
            words, letters = Words.from_json(kept["words"]), Words.from_json(kept["letters"])
            column = kept["column"]
            if column not in COLUMNS:
                raise BadInput("its column is not one of CoNLL-U")
            if (form := kept.get("form", FORMS[0])) not in FORMS:
                raise BadInput("its sentences are in no known form")
            return cls(words, letters, kept_texts(kept["tags"], "tags"), column, form)
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
        which, lengths = padded_columns(numbers, steps)
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

    def written(self, sentence: Sentence) -> str:
        """A tagged sentence in the form from which the network learned."""
        if self.form == FORMS[0]:
            return str(sentence)
        return as_text(sentence.column("form"), sentence.column(self.column), self.form)

    def tagged(
        self,
        network: Model,
        reading: Iterator[Sentence],
        report: Report = silent,
        total: int | None = None,
    ) -> Iterator[Sentence]:
        """The sentences with their tags; of CoNLL-U, only the column of the tags is changed.

        `report` hears how many of `total` lines are done.
        """
        what = "tagging the sentences"
        report(0, total, what)
        while some := list(islice(reading, TOGETHER)):
            words = [sentence.column("form") for sentence in some]
            for sentence, tags in zip(some, self.tag(network, words), strict=True):
                yield sentence.replaced(self.column, tags)
            report(some[-1].line, total, what)


def sentences_of(lines: Iterable[str], where: str, form: str = FORMS[0]) -> Iterator[Sentence]:
    """The sentences in lines of CoNLL-U, of plain words or, in the form columns, of a word each.

    Lines are CoNLL-U if the first one is a comment or has tabs; but if the network learned from
    columns, others than ten of them are a word and what follows.
    """
    whole = (line if line.endswith("\n") else f"{line}\n" for line in lines)
    first = next(whole, None)
    if first is None:
        raise BadInput(f"{where} is empty; give CoNLL-U, or sentences, one per line")
    plain = "\t" not in first and not first.startswith("#")
    some = [first, *islice(whole, MAX_WORDS)] if form == "columns" else [first]
    every = chain(some, whole)
    # With spaces between columns, a blank line after each sentence tells them from plain sentences.
    blank = not all(map(str.strip, some))
    in_lines = form == "columns" == form_of([first]) and (blank or not plain)
    plain = plain and not in_lines
    read = _plain if plain else _word_by_word if in_lines else sentences
    for sentence in read(every, where):
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


def _word_by_word(lines: Iterable[str], where: str) -> Iterator[Sentence]:
    """Sentences of a word per line, the first of its columns, and a blank line after each."""
    words: list[str] = []
    for number, line in enumerate(chain(lines, [""]), 1):
        if line.strip():
            words.append(line.split("\t" if "\t" in line else None)[0].strip())
            if not words[-1]:
                raise BadInput(f"{where}, line {number}: the first column, the word, is empty")
        elif words:
            yield Sentence.of(words, number - len(words))
            words = []


def _plain(lines: Iterable[str], where: str) -> Iterator[Sentence]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise BadInput(f"{where}, line {number}: an empty sentence; leave the line out")
        yield Sentence.of(line.split(), number)


def read_tagged(path: str | Path, column: str) -> tuple[str, TaggedText]:
    """The form of a file, and its words with their tags.

    Args:
        path: CoNLL-U, or one of the forms of `data.tagged_text`; it may be compressed with gzip.
        column: that of the tags, by its name in CoNLL-U or by its number.
    """
    form, lines = FORMS[0], list[str]()
    if suffix_of(path) != ".conllu":
        text = read_utf8(path, "file of tagged words")
        lines = [line.removesuffix("\r") for line in text.split("\n")]
        form = form_of(lines)
    if form == "slashes":
        return form, with_slashes(lines, str(path))
    if form == "columns":
        return form, in_columns(lines, str(path), int(column) if column.isdigit() else None)
    if column.isdigit():
        raise BadInput(f"{path} is CoNLL-U; --column is the name of a column, got {column}")
    sentences = [(x.column("form"), x.column(column)) for x in read_conllu(path)]
    if all(tag == MISSING for _, tags in sentences for tag in tags):
        raise BadInput(f"{path}: the column {column} is _ everywhere; choose another --column")
    return form, TaggedText(sentences)


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


def code_of(
    parts: Mapping[str, list[Tagged]], min_count: int, column: str, form: str = FORMS[0]
) -> TagCode:
    """The words and characters of the training part, and the tags of all parts."""
    words = [word for some, _ in parts["train"] for word in some]
    tags = {tag for part in parts.values() for _, some in part for tag in some}
    if column != "feats":  # there it means that a word has no features
        tags -= {MISSING}
    return TagCode(
        Words.of((word.lower() for word in words), min_count),
        Words.of("".join(words), RARE_LETTER),
        tuple(sorted(tags)),
        "upos" if column.isdigit() else column,
        form,
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
