"""From texts to symbols and from outputs to labels, for a network that classifies texts."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ..cells import Model
from ..data import Batch
from ..data.kept import kept_whole
from ..data.padding import columns, multiple_above
from ..data.words import Words
from ..decoding.sampling import most_probable
from ..errors import BadInput
from ..progress import Report, each, silent
from .answers import TargetCodec

TOGETHER = 64
ROUND = 16  # steps by which padded texts grow, so that there are few compilations


@dataclasses.dataclass(frozen=True)
class LabelCode:
    """What a network needs to read texts and to name its answers.

    Attributes:
        level: `"words"`, which are separated by spaces, or `"characters"`.
        cut: how many words or characters are read of a text, or `None` for all.
        words: the known words or characters.
        labels: by number.
    """

    level: str
    cut: int | None
    words: Words
    labels: tuple[str, ...]

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "LabelCode":
        """From the artefacts of `Classify`."""
        words, answers = Words.from_json(found["words"]), TargetCodec.from_json(found["answers"])
        level, cut = found["level"], found["length"]
        if level not in ("words", "characters") or answers.classes is None:
            raise ValueError("its texts are not of words or characters, or have no classes")
        if cut is not None:
            kept_whole(cut, "length")
        return cls(level, cut, words, tuple(map(str, answers.classes)))

    def split(self, text: str) -> list[str]:
        """The words or characters of a text that are read."""
        return (text.split() if self.level == "words" else list(text))[: self.cut]

    def labels_of(self, network: Model, texts: Sequence[str]) -> list[str]:
        """The most probable label of each text."""
        symbols = [self.words.encode(self.split(text)) for text in texts]
        inputs, lengths = columns(symbols, multiple_above(max(map(len, symbols)), ROUND))
        batch = Batch(inputs, None, np.ones(inputs.shape, np.float32), lengths, first=None)
        chosen = np.asarray(most_probable(network, batch))[lengths - 1, np.arange(len(texts))]
        return [self.labels[n] for n in chosen]

    def apply(
        self,
        network: Model,
        lines: Iterable[str],
        report: Report = silent,
        total: int | None = None,
    ) -> Iterator[tuple[str, str]]:
        """The label of each line, with the line; `report` hears how many of `total` are done."""
        numbered = enumerate((line.strip() for line in lines), 1)
        blocks = iter(lambda: list(islice(numbered, TOGETHER)), [])
        for some in each(blocks, report, "labelling the lines", total, len):
            for number, text in some:
                if not text:
                    raise BadInput(f"line {number} is empty; give a text on each line")
            texts = [text for _, text in some]
            yield from zip(self.labels_of(network, texts), texts, strict=True)
