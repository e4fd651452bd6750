"""Pairs of texts, with their vocabularies: what translation and dialogue share."""

import abc
import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

from ...data.files import whole_path
from ...data.splits import PARTS, in_percent, shares
from ...data.tokens import LEVELS, RESERVED, SUBWORDS, Tokens
from ...settings import setting
from ..abilities import AnsweringTask, OnFileTask
from ..applying import ApplyOptions
from ..scores import any_match, bleu, chrf
from ..scores.bleu import left_out_if_missing
from ..start_vectors import FREEZE, VECTORS, check_freeze, read_start
from ..task import Artefacts
from ..text.labelled import seen_before
from .pairs import Pairs, PairSettings, encoded
from .write_answers import PairCode

EMBEDDING = {"characters": 64, "bytes": 64, "words": 128, "subwords": 256}

of_files = functools.partial(setting, of_file=True)
Part = Sequence[tuple[str, Sequence[str]]]  # sources, each with its right targets


@dataclasses.dataclass(frozen=True)
class TextPairSettings(PairSettings):
    """Settings of tasks on pairs of texts.

    Attributes:
        paths: the settings that are paths.
    """

    level: str | None = of_files(None, "what a symbol is", among=LEVELS)
    subwords: int = of_files(SUBWORDS, "number of subwords of each side", min=300)
    min_count: int = of_files(1, "how often a word must occur to be known", min=1)
    vectors: str | None = of_files(None, VECTORS)
    target_vectors: str | None = of_files(None, "the same for the words of the target")
    freeze_vectors: bool = of_files(False, FREEZE)
    longest: int | None = of_files(None, "leave out training pairs with more symbols", min=1)
    split: str = of_files(
        "90/5/5", "percent for training, validation, test", read=shares, write=in_percent
    )
    paths: ClassVar[tuple[str, ...]] = ("vectors", "target_vectors")

    def __post_init__(self) -> None:
        check_freeze(self.freeze_vectors, self.vectors, self.target_vectors)
        for name in self.paths:
            if (file := getattr(self, name)) is not None:
                object.__setattr__(self, name, whole_path(file, name))


class PairedTexts(NamedTuple):
    """The texts of a task.

    Attributes:
        parts: those of `"train"`, `"valid"` and `"test"`.
        where: where they are from, for messages.
        level: what a symbol is, unless the settings say so.
        generated: whether they are, so that the first metric is how many answers are right.
        notes: what was done to read them, in sentences.
    """

    parts: dict[str, Part]
    where: str
    level: str
    generated: bool
    notes: tuple[str, ...] = ()


class TextPairs(Pairs, AnsweringTask, OnFileTask):
    """Read a text and write another; subclasses implement `texts_of`.

    Vocabularies are made from the training part. A character or word of the other parts that is
    not in it is read and learned as ⟨unknown⟩, one of the symbols of the bits per symbol. BLEU,
    chrF and whatever is called exact compare with the texts themselves, so writing ⟨unknown⟩ is
    never right.

    A source may have several targets. Training learns each of them, in a pair of its own. Of
    held-out sources the first one is the target of the bits, and what the network writes is
    compared with all of them.
    """

    @classmethod
    @abc.abstractmethod
    def texts_of(cls, settings: Any, seed: int) -> PairedTexts:
        """The texts that the settings name."""

    @classmethod
    def from_settings(cls, settings: Any, seed: int, artefacts: Artefacts = None) -> Self:
        texts = cls.texts_of(settings, seed)
        level = settings.level or texts.level
        learned = _each_target(texts.parts["train"])
        if artefacts:
            code = PairCode.from_json(artefacts)
            known = [code.source, code.target]
        else:
            sides = [one for one, _ in learned], [two for _, two in learned]
            known = [
                Tokens.of(side, level, min_count=settings.min_count, subwords=settings.subwords)
                for side in sides
            ]
        parts = {}
        for name, part in texts.parts.items():
            pairs = learned if name == "train" else _first_target(part)
            sources, targets = encoded(pairs, *known)
            if name == "train" and settings.longest is not None:
                coded = zip(sources, targets, strict=True)
                short = [x for x in coded if max(map(len, x)) <= settings.longest]
                sources, targets = [x for x, _ in short], [y for _, y in short]
            parts[name] = sources, targets
        start = [
            read_start(path, one.level, one.tokens, RESERVED)
            for path, one in zip((settings.vectors, settings.target_vectors), known, strict=True)
        ]
        task = cls(
            parts,
            *known,
            references={
                part: [some for _, some in texts.parts[part]] for part in ("valid", "test")
            },
            seed=seed,
            where=texts.where,
            settings=settings,
            embedding=EMBEDDING[known[1].level],
            exact=texts.generated,
            start=start,
            fixed=settings.freeze_vectors,
        )
        task.notes = texts.notes
        if not texts.generated:
            held_out = [x for part in ("valid", "test") for x in _first_target(texts.parts[part])]
            task.notes += (*seen_before(learned, held_out, "held-out pair"),)
        return task

    @classmethod
    def of_held_out(
        cls, part: Part, where: str, settings: Any, artefacts: dict[str, Any], exact: bool
    ) -> Self:
        """The task of other texts, all of them held out; see `OnFileTask.on_file`."""
        code = PairCode.from_json(artefacts)
        pairs = encoded(_first_target(part), code.source, code.target)
        return cls(
            dict.fromkeys(PARTS, pairs),
            code.source,
            code.target,
            references={name: [some for _, some in part] for name in PARTS},
            where=where,
            settings=settings,
            embedding=EMBEDDING[code.target.level],
            exact=exact,
        )

    def scores(self, network: Any, part: str) -> dict[str, Any]:
        """BLEU and chrF of what the network writes with a beam of 5."""
        sources, references = self.parts[part][0], self.all_references(part)
        answers = self.code.written(network, sources, ApplyOptions())
        texts = [answer[0].text for answer in answers]
        if not texts:
            return {}
        values = {"exact, beam of 5": any_match(texts, references)}
        with left_out_if_missing():
            scores = [score(texts, references) for score in (bleu, chrf)]
            values |= {f"{score.name} ({score.signature})": score.value for score in scores}
        return values


def _each_target(part: Part) -> list[tuple[str, str]]:
    """A pair for every target of a source."""
    return [(one, two) for one, some in part for two in some]


def _first_target(part: Part) -> list[tuple[str, str]]:
    """Every source with the first of its targets."""
    return [(one, some[0]) for one, some in part]
