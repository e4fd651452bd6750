"""Translate: learn to turn sentences into sentences, from a table or two files of them."""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...data.files import whole_path
from ...data.generated import draw_dates, draw_numbers, number_pair
from ...data.lines import in_columns, read_pairs, read_table_of_pairs
from ...data.splits import PARTS, part_at, shares
from ...data.text_table import TABLES, read_text_table, suffix_of, texts_in
from ...errors import BadInput
from ...names import counted
from ..applying import ApplyOptions, with_notes
from ..batches import random
from .rescoring import rescored
from .text_pairs import PairedTexts, Part, TextPairs, TextPairSettings, of_files
from .write_answers import OPTIONS, answers

GENERATED = ("numbers-fr", "numbers-de", "dates")
COUNTS = {"train": 20_000, "valid": 1_000, "test": 1_000}
# The settings that are files of sentences, with those of their partners, line by line.
PARTNERS = {
    f"{part}{side}": f"{part}{other}"
    for part in ("", "valid_", "test_")
    for side, other in (("source", "target"), ("target", "source"))
}
MADE = 2  # place in the random numbers of the seed


class Translate(TextPairs):
    """Translate sentences, those of a table or of two files; without files, numbers in words.

    A table has a column of sources and one of targets, which `source` and `target` name; without
    names, its lines are `source<TAB>target`. Otherwise `source` and `target` are files with a
    sentence per line. A line of a target file may have several translations, with tabs between, and
    a target in JSON may be a list of them; see `TextPairs`.

    Shapes: those of `Pairs`.
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(TextPairSettings):
        file: str | None = of_files(None, "a table of pairs (.tsv, .csv, .jsonl, .parquet)")
        source: str | None = of_files(
            None,
            "file of source sentences, one per line (.gz too), or their column in a table; "
            "audio: the dry sound, a WAV file",
        )
        target: str | None = of_files(
            None, "columns to predict, a,b; translate: target sentences, or their column"
        )
        valid_source: str | None = of_files(None, "source sentences for validation")
        valid_target: str | None = of_files(None, "their translations")
        test_source: str | None = of_files(None, "source sentences for the test")
        test_target: str | None = of_files(None, "their translations")
        pairs: str = of_files("numbers-fr", "without files: what to translate", among=GENERATED)
        paths = ("file", "vectors", "target_vectors")

        def __post_init__(self) -> None:
            super().__post_init__()
            columns = () if self.file is None else ("source", "target")
            for name, partner in PARTNERS.items():
                if (file := getattr(self, name)) is not None and name not in columns:
                    object.__setattr__(self, name, whole_path(file, name))
                    if self.file is not None:
                        raise BadInput(f"{name} is a file; of a table, split makes the parts")
                if file is not None and getattr(self, partner) is None:
                    raise BadInput(f"{name} needs {partner}: translation learns from pairs")

    name = "translate"
    apply_options = (*OPTIONS, "rescore", "weight")

    @classmethod
    def texts_of(cls, settings: Any, seed: int) -> PairedTexts:
        if settings.file is not None:
            part, notes = _read_table(settings.file, settings)
            parts = _divided({"train": part}, settings.split)
            return PairedTexts(parts, settings.file, "subwords", False, notes)
        if settings.source is None:
            usual = "characters" if settings.pairs == "dates" else "words"
            where = f"the pairs of {settings.pairs}"
            return PairedTexts(_generated(settings.pairs, seed), where, usual, True)
        where = f"{settings.source} and {settings.target}"
        return PairedTexts(_read_parts(settings), where, "subwords", False)

    @classmethod
    def on_file(cls, path: Path, settings: Any, artefacts: dict[str, Any]) -> "Translate":
        """A table as that of the run; else lines `source<TAB>target`, with several targets too."""
        in_table = settings.file is not None
        part = _read_table(path, settings)[0] if in_table else _read_lines(path)
        generated = settings.source is None and settings.file is None
        return cls.of_held_out(part, str(path), settings, artefacts, generated)

    @classmethod
    def verb(cls, artefacts: Mapping[str, Any]) -> str:
        return "translate"

    @classmethod
    def apply(cls, network: Any, how: ApplyOptions) -> Iterator[dict[str, Any]]:
        how = how.of_column(how.settings.source if how.settings.file else None)
        made = answers(network, how) if how.rescore is None else rescored(network, how)
        return with_notes(made, how.notes)


def _read_table(path: str | Path, settings: Any) -> tuple[Part, tuple[str, ...]]:
    """The pairs of a table, and what was done to read them, in sentences."""
    if settings.source is None:
        if suffix_of(path) in TABLES and suffix_of(path) != ".tsv":
            raise BadInput(f"{path}: name the columns of the pairs with --source and --target")
        return _read_lines(path), ()
    (one, two), places, notes = read_text_table(path, [settings.source, settings.target])
    several = [some if isinstance(some, list) else [some] for some in two]
    sources = texts_in(one, places, path, "the source")
    for some, place in zip(several, places, strict=True):
        texts_in(some or [""], [place] * max(len(some), 1), path, "the target")
    every = [*sources, *(text for some in several for text in some)]
    if spaced := sum(text != text.strip() for text in every):
        notes = (*notes, f"spaces around {counted(spaced, 'text')} were left out")
    pairs = zip(sources, several, strict=True)
    return [(text.strip(), [x.strip() for x in some]) for text, some in pairs], notes


def _read_lines(path: str | Path) -> Part:
    """The pairs in lines `source<TAB>target`, with more targets after more tabs."""
    return [*zip(*read_table_of_pairs(path, several=True), strict=True)]


def _read_translations(source: str, target: str) -> Part:
    return [(one, in_columns(line)) for one, line in zip(*read_pairs(source, target), strict=True)]


def _read_parts(settings: Any) -> dict[str, Part]:
    """The sources of each part with their translations."""
    parts: dict[str, Part] = {"train": _read_translations(settings.source, settings.target)}
    for part in ("valid", "test"):
        source, target = (getattr(settings, f"{part}_{side}") for side in ("source", "target"))
        if source is not None:
            parts[part] = _read_translations(source, target)
    return _divided(parts, settings.split)


def _divided(given: dict[str, Part], split: str) -> dict[str, Part]:
    """All three parts; those that are not there are taken from the training part."""
    pairs = given["train"]
    missing = [part for part in ("valid", "test") if part not in given]
    if missing:
        # Pairs are held out at random, the same ones whatever the seed of the run.
        train, valid, test = shares(split)
        left = train, valid * ("valid" in missing), test * ("test" in missing)
        drawn = [part_at(x, left) for x in np.random.default_rng(0).random(len(pairs))]
        for part in ("train", *missing):
            given[part] = [x for x, other in zip(pairs, drawn, strict=True) if other == part]
    return {part: given[part] for part in PARTS}


def _generated(name: str, seed: int) -> dict[str, Part]:
    parts: dict[str, Part] = {}
    for n, (part, count) in enumerate(COUNTS.items()):
        draw = random(seed, MADE, n)
        if name == "dates":
            pairs = draw_dates(draw, count, part)
        else:
            language = name.removeprefix("numbers-")
            pairs = [number_pair(x, language) for x in draw_numbers(draw, count, part=part)]
        parts[part] = [(one, [two]) for one, two in pairs]
    return parts
