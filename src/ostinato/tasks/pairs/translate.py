"""Translate: learn to turn sentences into sentences, from two files of them."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...data.files import whole_path
from ...data.generated import draw_dates, draw_numbers, number_pair
from ...data.lines import in_columns, read_pairs, read_table_of_pairs
from ...data.splits import PARTS, part_at, shares
from ...data.tokens import LEVELS, RESERVED, SUBWORDS, Tokens
from ...errors import BadInput
from ...settings import setting
from ..applying import ApplyOptions
from ..scores import any_match, bleu, chrf, left_out_if_missing
from ..start_vectors import FREEZE, VECTORS, check_freeze, read_start
from ..task import AnsweringTask, Artefacts, random
from .pairs import Pairs, PairSettings
from .write_answers import OPTIONS, answers, written

GENERATED = ("numbers-fr", "numbers-de", "dates")
COUNTS = {"train": 20_000, "valid": 1_000, "test": 1_000}
EMBEDDING = {"characters": 64, "bytes": 64, "words": 128, "subwords": 256}
FILES = tuple(f"{part}{side}" for part in ("", "valid_", "test_") for side in ("source", "target"))
MADE = 2  # place in the random numbers of the seed

_of_files = functools.partial(setting, of_file=True)


class Translate(Pairs, AnsweringTask):
    """Translate sentences, one per line of two files; without files, numbers in words.

    Vocabularies are made from the training part. A character or word of the other parts that is
    not in it is read and learned as ⟨unknown⟩, one of the symbols of the bits per symbol. BLEU,
    chrF and whatever is called exact compare with the texts themselves, so writing ⟨unknown⟩ is
    never right.

    A line of a target file may have several translations, with tabs between. Training learns each
    of them, in a pair of its own. Of held-out lines the first one is the target of the bits, and
    what the network writes is compared with all of them.

    Shapes: those of `Pairs`.
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(PairSettings):
        source: str | None = _of_files(None, "file of source sentences, one per line (.gz too)")
        target: str | None = _of_files(None, "columns to predict, a,b; translate: target sentences")
        valid_source: str | None = _of_files(None, "source sentences for validation")
        valid_target: str | None = _of_files(None, "their translations")
        test_source: str | None = _of_files(None, "source sentences for the test")
        test_target: str | None = _of_files(None, "their translations")
        pairs: str = _of_files("numbers-fr", "without files: what to translate", among=GENERATED)
        level: str | None = _of_files(None, "what a symbol is", among=LEVELS)
        subwords: int = _of_files(SUBWORDS, "number of subwords of each side", min=300)
        min_count: int = _of_files(1, "how often a word must occur to be known", min=1)
        vectors: str | None = _of_files(None, VECTORS)
        target_vectors: str | None = _of_files(None, "the same for the words of the target")
        freeze_vectors: bool = _of_files(False, FREEZE)
        longest: int | None = _of_files(None, "leave out training pairs with more symbols", min=1)
        split: str = _of_files("90/5/5", "percent for training, validation, test", read=shares)

        def __post_init__(self) -> None:
            check_freeze(self.freeze_vectors, self.vectors, self.target_vectors)
            for name in ("vectors", "target_vectors"):
                if (file := getattr(self, name)) is not None:
                    object.__setattr__(self, name, whole_path(file, name))
            for name in FILES:
                if (file := getattr(self, name)) is not None:
                    object.__setattr__(self, name, whole_path(file, name))
                partner = _partner(name)
                if file is not None and getattr(self, partner) is None:
                    raise BadInput(f"{name} needs {partner}: translation learns from pairs")

    name = "translate"
    apply_options = OPTIONS

    @classmethod
    def from_settings(cls, settings: Any, seed: int, artefacts: Artefacts = None) -> "Translate":
        texts, where = _texts(settings, seed)
        level = settings.level or ("words" if settings.source is None else "subwords")
        if settings.source is None and settings.pairs == "dates" and settings.level is None:
            level = "characters"
        if artefacts:
            known = [Tokens.from_json(artefacts[side]) for side in ("source", "target")]
        else:
            known = [
                Tokens.of(side, level, min_count=settings.min_count, subwords=settings.subwords)
                for side in _each_translation(*texts["train"])
            ]
        parts = {}
        for name, (sources, targets) in texts.items():
            one, two = sources, [some[0] for some in targets]
            if name == "train":
                one, two = _each_translation(sources, targets)
            coded = [*zip(known[0].encode_all(one), known[1].encode_all(two), strict=True)]
            if name == "train" and settings.longest is not None:
                coded = [x for x in coded if max(map(len, x)) <= settings.longest]
            parts[name] = ([x for x, _ in coded], [y for _, y in coded])
        references = {part: texts[part][1] for part in ("valid", "test")}
        start = tuple(
            read_start(path, one.level, one.tokens, RESERVED)
            for path, one in zip((settings.vectors, settings.target_vectors), known, strict=True)
        )
        given = {**_given(settings, known), "start": start, "fixed": settings.freeze_vectors}
        return cls(parts, *known, references=references, seed=seed, where=where, **given)

    @classmethod
    def on_file(cls, path: Path, settings: Any, artefacts: dict[str, Any]) -> "Translate":
        """A file of `source<TAB>target` lines, or of several targets with tabs between."""
        known = [Tokens.from_json(artefacts[side]) for side in ("source", "target")]
        one, several = read_table_of_pairs(path, several=True)
        coded = known[0].encode_all(one), known[1].encode_all([some[0] for some in several])
        parts, references = dict.fromkeys(PARTS, coded), dict.fromkeys(PARTS, several)
        return cls(parts, *known, references=references, where=str(path), **_given(settings, known))

    @classmethod
    def apply(cls, network: Any, how: ApplyOptions) -> Iterator[dict[str, Any]]:
        return answers(network, how)

    def scores(self, network: Any, part: str) -> dict[str, Any]:
        """BLEU and chrF of what the network writes with a beam of 5."""
        sources, references = self.parts[part][0], self.all_references(part)
        found = written(network, sources, self.targets, ApplyOptions(), self.longest)
        texts = [answer[0].text for answer in found]
        if not texts:
            return {}
        values = {"exact, beam of 5": any_match(texts, references)}
        with left_out_if_missing():
            scores = [score(texts, references) for score in (bleu, chrf)]
            values |= {f"{score.name} ({score.signature})": score.value for score in scores}
        return values


def _given(settings: Any, known: Sequence[Tokens]) -> dict[str, Any]:
    """The options that follow from the settings, on the run's own data and on others."""
    return {
        "settings": settings,
        "embedding": EMBEDDING[known[1].level],
        "exact": settings.source is None,
    }


def _partner(name: str) -> str:
    swap = {"source": "target", "target": "source"}
    head, _, side = name.rpartition("_")
    return f"{head}_{swap[side]}" if head else swap[side]


Texts = dict[str, tuple[Sequence[str], Sequence[Sequence[str]]]]


def _each_translation(
    sources: Sequence[str], targets: Sequence[Sequence[str]]
) -> tuple[list[str], list[str]]:
    """A pair for every translation of a source."""
    pairs = [(one, two) for one, some in zip(sources, targets, strict=True) for two in some]
    return [one for one, _ in pairs], [two for _, two in pairs]


def _read_translations(source: str, target: str) -> tuple[list[str], list[list[str]]]:
    one, two = read_pairs(source, target)
    return one, [in_columns(line) for line in two]


def _texts(settings: Any, seed: int) -> tuple[Texts, str]:
    """The sources of each part with their translations, and where they are from."""
    if settings.source is None:
        return _generated(settings.pairs, seed), f"the pairs of {settings.pairs}"
    one, two = _read_translations(settings.source, settings.target)
    found: Texts = {"train": (one, two)}
    for part in ("valid", "test"):
        source, target = (getattr(settings, f"{part}_{side}") for side in ("source", "target"))
        if source is not None:
            found[part] = _read_translations(source, target)
    missing = [part for part in ("valid", "test") if part not in found]
    if missing:
        # Pairs are held out at random, the same ones whatever the seed of the run.
        train, valid, test = shares(settings.split)
        split = train, valid * ("valid" in missing), test * ("test" in missing)
        drawn = [part_at(x, split) for x in np.random.default_rng(0).random(len(one))]
        for part in ("train", *missing):
            where = [n for n, other in enumerate(drawn) if other == part]
            found[part] = [one[n] for n in where], [two[n] for n in where]
    return {part: found[part] for part in PARTS}, f"{settings.source} and {settings.target}"


def _generated(name: str, seed: int) -> Texts:
    found: Texts = {}
    for n, (part, count) in enumerate(COUNTS.items()):
        draw = random(seed, MADE, n)
        if name == "dates":
            pairs = draw_dates(draw, count, part)
        else:
            language = name.removeprefix("numbers-")
            pairs = [number_pair(x, language) for x in draw_numbers(draw, count, part=part)]
        found[part] = [one for one, _ in pairs], [[two] for _, two in pairs]
    return found
