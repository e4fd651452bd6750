"""A tag for each word of a sentence, such as its part of speech."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ...cells import Model
from ...data import Batch
from ...data.generated.texts import toy_sentences
from ...data.padding import rounded
from ...data.splits import in_percent, shares
from ...data.words import UNKNOWN, Spellings
from ...decoding.sampling import most_probable
from ...errors import BadInput
from ...settings import setting
from ..abilities import AnsweringTask, PassageTask, StartedTask
from ..applying import ApplyOptions
from ..batches import hashed, random
from ..file_task import FileTask, Reading
from ..finite import Finite
from ..framing import PerStep
from ..losses import CrossEntropy
from ..metrics import Accuracy
from ..start_vectors import VectorSettings, model_numbers, read_start
from ..task import Artefacts
from .passages import TaggedPassage
from .tagged import (
    FORMS,
    MISSING,
    TagCode,
    Tagged,
    code_of,
    encoded,
    in_parts,
    read_tagged,
    sentences_of,
    sentences_of_words,
)

TAGS = ("upos", "xpos", "feats", "deprel")
EMBEDDING, LETTER = 100, 32
TOY = 3000
REPLACE, SPLIT, LANGUAGE = 1, 2, 3  # places in the random numbers of the seed; 0 is the order


class Tagging(Finite, FileTask, AnsweringTask, PassageTask, StartedTask):
    """Read the words of a sentence, and label each of them.

    Sentences are pairs: a list of words, and a list of as many tags. A word without a tag (`_`) is
    read but does not count. The tags are those of all three parts; the words and characters are
    those of the training part.

    So that the unknown word is learned, a training word that occurs n times is replaced by it with
    probability `unknown / (unknown + n)` (Kiperwasser and Goldberg, 2016).

    A batch has sentences of similar lengths, padded to one of few sizes (see
    `ostinato.data.padding.rounded`); every epoch composes its batches anew.

    `chance` is the share of the most frequent tag. The baseline gives each word its most frequent
    tag.

    Shapes: inputs `SpelledWords`; targets `(T, B)`.

    Example:
        >>> sentence = (["Time", "flies"], ["NOUN", "VERB"])
        >>> task = Tagging([sentence] * 20)
        >>> batch = task.batch(0, 4)
        >>> batch.inputs.words.shape, batch.lengths.tolist(), task.code.tags
        ((8, 4), [2, 2, 2, 2], ('NOUN', 'VERB'))
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(VectorSettings):
        file: str | None = setting(
            None, "CoNLL-U, a word and its tag per line, or word/TAG (generated)", of_file=True
        )
        valid: str | None = setting(
            None, "such a file for validation (a part of the file)", of_file=True
        )
        test: str | None = setting(
            None, "such a file for the test (a part of the file)", of_file=True
        )
        column: str = setting(
            "upos", f"what to predict: {', '.join(TAGS)}; outside CoNLL-U a number, from 2"
        )
        split: str = setting(
            "80/10/10", "percent for training, validation, test", read=shares, write=in_percent
        )
        min_count: int = setting(1, "how often a word must occur to be known", min=1)
        unknown: float = setting(0.25, "how often rare words are replaced by unknown", min=0)
        spelling: int = setting(50, "units of the character cell in each direction", min=1)
        paths = ("file", "valid", "test", "vectors")

        def __post_init__(self) -> None:
            super().__post_init__()
            number = self.column.isascii() and self.column.isdigit() and len(self.column) < 4
            if self.column not in TAGS and not (number and int(self.column) > 1):
                among = ", ".join(TAGS)
                raise BadInput(f"column must be one of {among}, or a number; got {self.column:.40}")

    name = "tag"
    symbolic = True
    framing = PerStep(CrossEntropy(), (Accuracy(),))

    def __init__(
        self,
        train: Sequence[Tagged],
        valid: Sequence[Tagged] | None = None,
        test: Sequence[Tagged] | None = None,
        *,
        form: str = FORMS[0],
        source: str = "the sentences",
        artefacts: Artefacts = None,
        **given: Any,
    ):
        """
        Args:
            train, valid, test: sentences. A part that is not given is taken from `train`.
            form: how a trained network writes tagged sentences: `"conllu"`, `"columns"` or
                `"slashes"`; see `data.tagged_text`.
            source: where the sentences are from, for messages.
            artefacts: of a trained model, whose words and tags are used.
            given: `seed` of all that is random, and settings by name: `column` (of CoNLL-U, for
                what a trained network writes), `split`, `min_count`, `unknown`, `spelling`,
                `vectors` and `freeze_vectors`; see `Settings`.
        """
        super().__init__(source=source, **given)
        sentences = {"train": train, "valid": valid, "test": test}
        tagged = in_parts(sentences, shares(self.settings.split), random(self.seed, SPLIT))
        if artefacts is None:
            self.code = code_of(tagged, self.settings.min_count, self.settings.column, form)
        else:
            self.code = TagCode.from_json(artefacts)
        if len(self.code.tags) < 2:
            raise BadInput(f"{source}: at least 2 different tags are needed, got {self.code.tags}")
        words = dict.fromkeys(word for part in tagged.values() for some, _ in part for word in some)
        self._distinct = {word: n for n, word in enumerate(words)}
        self._spellings = Spellings.of(self._distinct, self.code.letters)
        self._symbols = self.code.symbols(self._distinct)
        self.parts = {
            name: encoded(part, self._distinct, self.code.tags, source)
            for name, part in tagged.items()
        }
        train_tags = self.parts["train"].targets[self.parts["train"].there]
        if not len(train_tags):
            raise BadInput(f"{source}: no word of the training part has a tag")
        self.chance = float(np.bincount(train_tags).max() / len(train_tags))
        self.inputs, self.outputs = len(self.code.words), len(self.code.tags)
        self.classes = self.code.tags
        self.length = max(int(part.lengths.max(initial=1)) for part in self.parts.values())
        self.start = read_start(self.settings.vectors, "words", self.code.words.known, first=1)
        self.model = {
            "kind": "tagger",
            "letters": len(self.code.letters),
            "letter": LETTER,
            "spelling": self.settings.spelling,
            **model_numbers(self.start, EMBEDDING, self.settings),
        }

    def starting(self, network: Any) -> Any:
        if self.start is None:
            return network
        return eqx.tree_at(lambda x: x.words, network, network.words.starting_from(self.start))

    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        if length not in (None, self.length):
            raise BadInput(
                f"the task {self.name} reads whole sentences of up to {self.length} words, so it "
                f"takes no other length, got {length}"
            )
        batch = self.together("train", self.chosen(index, size))
        words = batch.inputs.words
        rare = random(self.seed, REPLACE, index).random(words.shape) < self._rates[words]
        return batch._replace(
            inputs=batch.inputs._replace(words=np.where(rare, np.int32(UNKNOWN), words))
        )

    def sizes(self, part: str) -> np.ndarray:
        lengths = self.parts[part].lengths
        return np.array([*map(rounded, lengths.tolist())]) if part == "train" else lengths

    @cached_property
    def _rates(self) -> np.ndarray:
        """The probability that a word is replaced by the unknown one, by symbol."""
        counts = np.bincount(self._symbols[self.parts["train"].inputs], minlength=self.inputs)
        unknown = self.settings.unknown
        return unknown / np.maximum(unknown + counts, 1e-9)

    def together(self, part: str, which: np.ndarray) -> Batch:
        """Sentences side by side; in the padding each repeats its last word."""
        examples = self.parts[part]
        lengths = examples.lengths[which]
        places, valid = examples.side_by_side(which, rounded(int(lengths.max())))
        words = examples.inputs[places]
        weights = (valid & examples.there[places]).astype(np.float32)
        inputs = self._spellings.batch(self._symbols[words], words)
        return Batch(inputs, examples.targets[places], weights, lengths)

    def passage(self, part: str) -> TaggedPassage:
        examples, words = self.parts[part], list(self._distinct)
        spelled = [words[n] for n in examples.inputs]
        said = [
            self.code.tags[n] if there else MISSING
            for n, there in zip(examples.targets, examples.there, strict=True)
        ]
        ends = zip(examples.begins, examples.begins + examples.lengths, strict=True)
        cuts = [slice(begin, end) for begin, end in ends]
        return TaggedPassage(self.code, [spelled[c] for c in cuts], [said[c] for c in cuts])

    @classmethod
    def passage_of(cls, text: str, network: Model, how: ApplyOptions) -> TaggedPassage:
        sentences = [line.split() for line in text.splitlines() if line.strip()]
        return TaggedPassage(TagCode.from_json(how.artefacts), sentences)

    # What is shown and kept

    def baselines(self) -> dict[str, float]:
        """Chance, and the most frequent tag of each word (of all words, where it is unknown)."""
        baselines, valid = super().baselines(), self.parts["valid"]
        if valid.there.any():
            train = self.parts["train"]
            counts = np.zeros((self.inputs, self.outputs))
            there = train.there
            np.add.at(counts, (self._symbols[train.inputs[there]], train.targets[there]), 1)
            counts[counts.sum(1) == 0] = counts.sum(0)
            guess = counts.argmax(1)[self._symbols[valid.inputs]]
            baselines["most frequent tag"] = float(np.mean((guess == valid.targets)[valid.there]))
        return baselines

    def preview(self, network: Model, key: jax.Array) -> str | None:
        """A sentence of the validation part as word/tag, with the right tag where it is another."""
        part = self.parts["valid"]
        if not len(part.lengths):
            return None
        some = np.argsort(np.abs(part.lengths - 15), kind="stable")[:1]
        batch = self.together("valid", some)
        tags, words = self.code.tags, list(self._distinct)
        steps = range(int(batch.lengths[0]))
        said = np.asarray(most_probable(network, batch.arrays))[:, 0]
        spelled = [words[part.inputs[part.begins[some[0]] + t]] for t in steps]
        right = batch.targets[:, 0]
        return " ".join(
            f"{spelled[t]}/{tags[said[t]]}"
            + ("" if said[t] == right[t] or not batch.weights[t, 0] else f" [{tags[right[t]]}]")
            for t in steps
        )

    @classmethod
    def verb(cls, artefacts: Mapping[str, Any]) -> str:
        return "tag"

    @classmethod
    def apply(cls, network: Model, how: ApplyOptions) -> Iterator[dict[str, Any]]:
        """The sentences in the form from which the network learned.

        They are read from lines of CoNLL-U, of a word each, or of sentences with spaces between the
        words (see `sentences_of`); in memory they are such lines, or a list of words each.
        """
        code = TagCode.from_json(how.artefacts)
        if isinstance(how.given, list | tuple) and not all(isinstance(x, str) for x in how.given):
            reading = sentences_of_words(how.given)
        else:
            reading = sentences_of(how.lines(), how.where, code.form)
        for sentence in code.tagged(network, reading, how.report, how.line_count):
            words, tags = sentence.column("form"), sentence.column(code.column)
            yield {"words": words, "tags": tags, "text": code.written(sentence).removesuffix("\n")}

    def artefacts(self) -> dict[str, Any]:
        return self.code.as_json()

    @classmethod
    def check_artefacts(cls, artefacts: Mapping[str, Any]) -> tuple[int | None, int | None]:
        code = TagCode.from_json(artefacts)
        return len(code.words), len(code.tags)

    def fingerprint(self) -> str:
        words = np.frombuffer(repr((list(self._distinct), self.code.tags)).encode(), np.uint8)
        data = [
            [x.inputs, x.targets, x.there, x.begins.astype(np.int32), x.lengths]
            for x in self.parts.values()
        ]
        return hashed([words, *(array for part in data for array in part)])

    @classmethod
    def read(cls, given: Reading) -> "Tagging":
        """The task of CoNLL-U files, or of a generated language."""
        file, settings, seed, kept = given
        if file is None:
            for name in ("valid", "test"):
                if getattr(settings, name) is not None:
                    raise BadInput(f"{name} needs file, the sentences to learn from")
            made = toy_sentences(TOY, random(seed, LANGUAGE))
            return cls(made, source="the generated language", **given.arguments)
        column = settings.column if kept is None or settings.column.isdigit() else kept["column"]
        paths = {"train": file, "valid": settings.valid, "test": settings.test}
        read = {part: read_tagged(x, column) for part, x in paths.items() if x is not None}
        parts = {part: text.sentences for part, (_, text) in read.items()}
        some = [parts.get(part) for part in ("valid", "test")]
        form = read["train"][0]
        task = cls(parts["train"], *some, form=form, source=file, **given.arguments)
        task.notes = tuple(note for _, text in read.values() for note in text.notes)
        return task

    @classmethod
    def on_file(cls, path: Path, settings: Any, artefacts: dict[str, Any]) -> "Tagging":
        alone = dataclasses.replace(
            settings, valid=None, test=None, vectors=None, freeze_vectors=False
        )
        return super().on_file(path, alone, artefacts)
