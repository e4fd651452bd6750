"""Pairs of texts, with their vocabularies: what translation and dialogue share."""

import abc
import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

from ...data.files import whole_path
from ...data.splits import PARTS, shares
from ...data.tokens import LEVELS, RESERVED, SUBWORDS, Tokens
from ...names import counted
from ...settings import setting
from ..abilities import AnsweringTask, OnFileTask
from ..applying import ApplyOptions
from ..scores import any_match, bleu, chrf
from ..scores.bleu import left_out_if_missing
from ..start_vectors import FREEZE, VECTORS, check_freeze, read_start
from ..task import Artefacts
from .pairs import Pairs, PairSettings
from .write_answers import written

EMBEDDING = {"characters": 64, "bytes": 64, "words": 128, "subwords": 256}

of_files = functools.partial(setting, of_file=True)
# The sources of a part, and the right targets of each of them.
Part = tuple[Sequence[str], Sequence[Sequence[str]]]


@dataclasses.dataclass(frozen=True)
class TextPairSettings(PairSettings):
    """Settings of tasks on pairs of texts."""

    level: str | None = of_files(None, "what a symbol is", among=LEVELS)
    subwords: int = of_files(SUBWORDS, "number of subwords of each side", min=300)
    min_count: int = of_files(1, "how often a word must occur to be known", min=1)
    vectors: str | None = of_files(None, VECTORS)
    target_vectors: str | None = of_files(None, "the same for the words of the target")
    freeze_vectors: bool = of_files(False, FREEZE)
    longest: int | None = of_files(None, "leave out training pairs with more symbols", min=1)
    split: str = of_files("90/5/5", "percent for training, validation, test", read=shares)

    def __post_init__(self) -> None:
        check_freeze(self.freeze_vectors, self.vectors, self.target_vectors)
        for name in ("vectors", "target_vectors"):
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

    def seen_before(self) -> Iterator[str]:
        """A sentence about held-out pairs that are in the training part too."""
        seen = {*zip(*_each_target(*self.parts["train"]), strict=True)}
        held_out = [
            (one, two)
            for part in ("valid", "test")
            for one, (two, *_) in zip(*self.parts[part], strict=True)
        ]
        if not self.generated and (count := sum(pair in seen for pair in held_out)):
            yield (
                f"{count:,} of {counted(len(held_out), 'held-out pair')} are in the training part "
                "too, word for word"
            )


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
        learned = _each_target(*texts.parts["train"])
        if artefacts:
            known = _vocabularies(artefacts)
        else:
            known = [
                Tokens.of(side, level, min_count=settings.min_count, subwords=settings.subwords)
                for side in learned
            ]
        parts = {}
        for name, (sources, targets) in texts.parts.items():
            one, two = learned if name == "train" else (sources, [some[0] for some in targets])
            coded = [*zip(known[0].encode_all(one), known[1].encode_all(two), strict=True)]
            if name == "train" and settings.longest is not None:
                coded = [x for x in coded if max(map(len, x)) <= settings.longest]
            parts[name] = ([x for x, _ in coded], [y for _, y in coded])
        start = [
            read_start(path, one.level, one.tokens, RESERVED)
            for path, one in zip((settings.vectors, settings.target_vectors), known, strict=True)
        ]
        task = cls(
            parts,
            *known,
            references={part: texts.parts[part][1] for part in ("valid", "test")},
            seed=seed,
            where=texts.where,
            settings=settings,
            embedding=EMBEDDING[known[1].level],
            exact=texts.generated,
            start=start,
            fixed=settings.freeze_vectors,
        )
        task.notes = (*texts.notes, *texts.seen_before())
        return task

    @classmethod
    def of_held_out(
        cls, part: Part, where: str, settings: Any, artefacts: dict[str, Any], exact: bool
    ) -> Self:
        """The task of other texts, all of them held out; see `OnFileTask.on_file`."""
        known = _vocabularies(artefacts)
        coded = (
            known[0].encode_all(part[0]),
            known[1].encode_all([some[0] for some in part[1]]),
        )
        return cls(
            dict.fromkeys(PARTS, coded),
            *known,
            references=dict.fromkeys(PARTS, part[1]),
            where=where,
            settings=settings,
            embedding=EMBEDDING[known[1].level],
            exact=exact,
        )

    def scores(self, network: Any, part: str) -> dict[str, Any]:
        """BLEU and chrF of what the network writes with a beam of 5."""
        sources, references = self.parts[part][0], self.all_references(part)
        answers = written(network, sources, self.targets, ApplyOptions(), self.longest)
        texts = [answer[0].text for answer in answers]
        if not texts:
            return {}
        values = {"exact, beam of 5": any_match(texts, references)}
        with left_out_if_missing():
            scores = [score(texts, references) for score in (bleu, chrf)]
            values |= {f"{score.name} ({score.signature})": score.value for score in scores}
        return values


def _vocabularies(artefacts: Any) -> list[Tokens]:
    return [Tokens.from_json(artefacts[side]) for side in ("source", "target")]


def _each_target(
    sources: Sequence[str], targets: Sequence[Sequence[str]]
) -> tuple[list[str], list[str]]:
    """A pair for every target of a source."""
    pairs = [(one, two) for one, some in zip(sources, targets, strict=True) for two in some]
    return [one for one, _ in pairs], [two for _, two in pairs]
