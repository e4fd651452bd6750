"""Translate: learn to turn sentences into sentences, from two files of them."""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...data.files import whole_path
from ...data.generated import draw_dates, draw_numbers, number_pair
from ...data.lines import in_columns, read_pairs, read_table_of_pairs
from ...data.splits import PARTS, part_at, shares
from ...errors import BadInput
from ..applying import ApplyOptions
from ..task import random
from .rescoring import rescored
from .text_pairs import PairedTexts, Part, TextPairs, TextPairSettings, of_files
from .write_answers import OPTIONS, answers

GENERATED = ("numbers-fr", "numbers-de", "dates")
COUNTS = {"train": 20_000, "valid": 1_000, "test": 1_000}
FILES = tuple(f"{part}{side}" for part in ("", "valid_", "test_") for side in ("source", "target"))
MADE = 2  # place in the random numbers of the seed


class Translate(TextPairs):
    """Translate sentences, one per line of two files; without files, numbers in words.

    A line of a target file may have several translations, with tabs between; see `TextPairs`.

    Shapes: those of `Pairs`.
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(TextPairSettings):
        source: str | None = of_files(None, "file of source sentences, one per line (.gz too)")
        target: str | None = of_files(None, "columns to predict, a,b; translate: target sentences")
        valid_source: str | None = of_files(None, "source sentences for validation")
        valid_target: str | None = of_files(None, "their translations")
        test_source: str | None = of_files(None, "source sentences for the test")
        test_target: str | None = of_files(None, "their translations")
        pairs: str = of_files("numbers-fr", "without files: what to translate", among=GENERATED)

        def __post_init__(self) -> None:
            super().__post_init__()
            for name in FILES:
                if (file := getattr(self, name)) is not None:
                    object.__setattr__(self, name, whole_path(file, name))
                partner = _partner(name)
                if file is not None and getattr(self, partner) is None:
                    raise BadInput(f"{name} needs {partner}: translation learns from pairs")

    name = "translate"
    apply_options = (*OPTIONS, "rescore", "weight")

    @classmethod
    def texts_of(cls, settings: Any, seed: int) -> PairedTexts:
        if settings.source is None:
            usual = "characters" if settings.pairs == "dates" else "words"
            where = f"the pairs of {settings.pairs}"
            return PairedTexts(_generated(settings.pairs, seed), where, usual, True)
        where = f"{settings.source} and {settings.target}"
        return PairedTexts(_read_parts(settings), where, "subwords", False)

    @classmethod
    def on_file(cls, path: Path, settings: Any, artefacts: dict[str, Any]) -> "Translate":
        """A file of `source<TAB>target` lines, or of several targets with tabs between."""
        part = read_table_of_pairs(path, several=True)
        return cls.of_held_out(part, str(path), settings, artefacts, settings.source is None)

    @classmethod
    def verb(cls, artefacts: Mapping[str, Any]) -> str:
        return "translate"

    @classmethod
    def apply(cls, network: Any, how: ApplyOptions) -> Iterator[dict[str, Any]]:
        return answers(network, how) if how.rescore is None else rescored(network, how)


def _partner(name: str) -> str:
    swap = {"source": "target", "target": "source"}
    head, _, side = name.rpartition("_")
    return f"{head}_{swap[side]}" if head else swap[side]


def _read_translations(source: str, target: str) -> Part:
    one, two = read_pairs(source, target)
    return one, [in_columns(line) for line in two]


def _read_parts(settings: Any) -> dict[str, Part]:
    """The sources of each part with their translations."""
    one, two = _read_translations(settings.source, settings.target)
    found: dict[str, Part] = {"train": (one, two)}
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
    return {part: found[part] for part in PARTS}


def _generated(name: str, seed: int) -> dict[str, Part]:
    found: dict[str, Part] = {}
    for n, (part, count) in enumerate(COUNTS.items()):
        draw = random(seed, MADE, n)
        if name == "dates":
            pairs = draw_dates(draw, count, part)
        else:
            language = name.removeprefix("numbers-")
            pairs = [number_pair(x, language) for x in draw_numbers(draw, count, part=part)]
        found[part] = [one for one, _ in pairs], [[two] for _, two in pairs]
    return found
