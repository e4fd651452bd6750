"""Predict the next character, or byte, of a text."""

import dataclasses
import functools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ...cells import Model
from ...data import Batch, Vocabulary, read_symbols
from ...data.files import whole_path
from ...data.generated.everyday import book_text
from ...data.reading import notes_on
from ...data.splits import divided, in_percent, shares
from ...data.text_table import JSON, suffix_of
from ...decoding import sample
from ...decoding.sampling import NotFinite
from ...decoding.text import opening
from ...errors import BadInput, naming
from ...settings import checked_kind, setting
from ..abilities import AnsweringTask, PassageTask, TextTask
from ..applying import ApplyOptions
from ..batches import hashed
from ..file_task import FileTask, Reading
from ..framing import PerStep
from ..generated import Length
from ..interface import Interface
from ..losses import CrossEntropy
from ..metrics import Bits, Perplexity
from ..task import Able
from ..windows import Stream, Streamed, in_windows, next_symbols
from .ngrams import ngram_bits, unigram_bits
from .passages import TextPassage

PREVIEW = 200  # symbols
NAMED = 10  # characters of a note
TOGETHER = 1 << 24  # symbols that are looked at at once
LEVELS = ("characters", "bytes")


class Text(Streamed, FileTask, TextTask, PassageTask):
    """Read one symbol of a text per step, and predict the next.

    For the windows of a batch see `Streamed`.

    Shapes: xs and targets `(T, B)`, symbols.

    Example:
        >>> task = Text.of("text of some length " * 100, length=20)
        >>> task.batch(0, size=4).inputs.shape
        (20, 4)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(Length):
        file: str | None = setting(
            None,
            "the text to learn: a file (.gz too), a folder of texts, or a data set",
            of_file=True,
        )
        level: str = setting(
            "characters", "symbols of a text: characters or bytes", among=LEVELS, of_file=True
        )
        encoding: str = setting("utf-8", "character encoding of the file", of_file=True)
        split: str = setting(
            "90/5/5",
            "percent of a text for training, validation, test",
            read=shares,
            write=in_percent,
        )
        carry: bool = setting(
            True, "contiguous streams with carried state, or independent sequences"
        )

        def __post_init__(self) -> None:
            if self.file is not None:
                object.__setattr__(self, "file", _whole_path(self.file))

    name = "text"
    predicts_next = True
    readout_bias = False  # the networks of Krause (2015) have none
    symbolic = True

    def __init__(
        self,
        symbols: np.ndarray,
        vocabulary: Vocabulary,
        *,
        source: str = "the text",
        **given: Any,
    ):
        """
        Args:
            symbols: the whole text, encoded by the vocabulary.
            vocabulary: the characters or bytes that the symbols stand for.
            source: where the text is from, for messages.
            given: `seed` of all that is random, and settings by name: `length` (50 steps per window
                by default), `split` and `carry`; see `Settings`.
        """
        super().__init__(source=source, **given)
        symbols, split = np.asarray(symbols), shares(self.settings.split)
        count = len(checked_kind("vocabulary", vocabulary, Vocabulary, "a Vocabulary"))
        whole = symbols.ndim == 1 and symbols.dtype.kind in "iu"
        if symbols.size and not (whole and 0 <= symbols.min() <= symbols.max() < count):
            raise BadInput(
                f"symbols must be whole numbers (T,) from 0 to {count - 1}, got {symbols.dtype} of "
                f"shape {symbols.shape}"
            )
        self.parts = {part: symbols[some] for part, some in divided(len(symbols), split).items()}
        self.vocabulary, self.carry = vocabulary, self.settings.carry
        self.length = 50 if self.settings.length is None else self.settings.length
        self.inputs = self.outputs = len(vocabulary)
        unit = "character" if vocabulary.level == "characters" else "byte"
        if len(self.parts["train"]) < 2:
            raise BadInput(
                f"the text has {len(symbols)} {unit}s, too few to learn from: it takes at least 2 "
                f"in the training part ({split[0]:.0%})"
            )
        if len(vocabulary) < 2:
            raise BadInput(f"the text has one {unit} only, repeated; there is nothing to learn")
        metrics, chance = (Bits(unit), Perplexity(unit)), unigram_bits(self.parts["train"])
        self.framing = PerStep(CrossEntropy(), metrics, chance)

    @classmethod
    def of(cls, text: str, **options: Any) -> "Text":
        """The task of a text in memory, with options of the constructor."""
        vocabulary = Vocabulary.of_text(checked_kind("text", text, str, "a text"))
        task = cls(vocabulary.encode(text), vocabulary, **options)
        task.notes = task._held_out_only()
        return task

    @classmethod
    def read(cls, given: Reading) -> "Text":
        """The task of a text file or the embedded text."""
        file, settings, seed, kept = given
        options = {"settings": settings, "seed": seed}
        vocabulary = None if kept is None else Vocabulary.from_json(kept["vocabulary"])
        if file is None:
            text = book_text()
            vocabulary = vocabulary or Vocabulary.of_text(text)
            return cls(vocabulary.encode(text), vocabulary, source="the embedded text", **options)
        with naming(file):
            level = settings.level if vocabulary is None else vocabulary.level
            symbols, known = read_symbols(file, level, settings.encoding, vocabulary)
            if kept is not None and len(symbols) < 2:
                raise BadInput(f"{file} has fewer than 2 symbols; there is nothing to predict")
            task = cls(symbols, known, source=file, **options)
        if kept is None:
            task.notes += task._held_out_only()
        task.notes += notes_on(file, known)
        if suffix_of(file) in JSON:
            columns = "--text and --label, or --source and --target, name columns to learn from"
            task.notes += (f"{file} is read as one text; {columns}",)
        return task

    @classmethod
    def interface(cls, settings: Any, artefacts: Mapping[str, Any]) -> Interface:
        known = Vocabulary.from_json(artefacts["vocabulary"])
        every = [known.decode([n]) for n in range(len(known))]
        characters = None if known.level == "bytes" else every
        return Interface("text", {"characters": characters, "opening": int(opening(known)[0])})

    @classmethod
    def able(cls, kind: type[Able]) -> type[Able]:
        if kind is AnsweringTask:
            raise BadInput(
                "a run on a text has no answers to give: `ostinato sample` writes more text, "
                "`ostinato evaluate` measures another file, and `ostinato inside` shows what the "
                "network expects"
            )
        return super().able(kind)

    def _held_out_only(self) -> tuple[str, ...]:
        """A sentence on the characters that the training part has not, if there are any."""
        there = np.zeros(len(self.vocabulary), bool)
        train = self.parts["train"]
        for begin in range(0, len(train), TOGETHER):
            there[train[begin : begin + TOGETHER]] = True
        few = np.flatnonzero(~there)
        if not len(few) or self.vocabulary.level == "bytes":  # all bytes are known in any case
            return ()
        named = ", ".join(repr(self.vocabulary.decode([n])) for n in few[:NAMED])
        more = ", …" if len(few) > NAMED else ""
        some = "1 character occurs" if len(few) == 1 else f"{len(few):,} characters occur"
        whole = "the vocabulary is that of the whole text"
        return (f"{some} only in held-out parts: {named}{more}; {whole}",)

    def stream_of(self, part: str) -> Stream:
        return self._training if part == "train" else next_symbols(self.parts[part])

    def stream(self, part: str) -> np.ndarray:
        return self.parts[part]

    def passage(self, part: str) -> TextPassage:
        return TextPassage(self.parts[part], self.vocabulary)

    @classmethod
    def passage_of(cls, text: str, network: Model, how: ApplyOptions) -> TextPassage:
        known = Vocabulary.from_json(how.artefacts["vocabulary"])
        return TextPassage(known.encode(text), known)

    @functools.cached_property
    def _training(self) -> Stream:
        return next_symbols(self.parts["train"])

    def baselines(self) -> dict[str, float]:
        """Chance, and n-gram models of one and five preceding symbols."""
        baselines = super().baselines()
        train, valid = self.parts["train"], self.parts["valid"]
        if len(valid) > 1:
            for name, order in (("bigram", 1), ("order 5", 5)):
                baselines[name] = ngram_bits(train, valid, self.inputs, order)
        return baselines

    def preview(self, network: Model, key: jax.Array) -> str | None:
        """Generated text; `None` if the network's outputs are not finite."""
        prompt = self.parts["valid"][:1]
        prompt = prompt.astype(np.int32) if len(prompt) else opening(self.vocabulary)
        try:
            pieces = [*sample(network, prompt, PREVIEW, key=key, temperature=0.8)]
        except NotFinite:
            return None
        return self.vocabulary.decode(np.concatenate(pieces))

    def artefacts(self) -> dict[str, Any]:
        return {"vocabulary": self.vocabulary.as_json()}

    @classmethod
    def check_artefacts(cls, artefacts: Mapping[str, Any]) -> tuple[int | None, int | None]:
        count = len(Vocabulary.from_json(artefacts["vocabulary"]))
        return count, count

    def fingerprint(self) -> str:
        return hashed(list(self.parts.values()))


def streams(text: np.ndarray, size: int, length: int) -> Iterator[Batch]:
    """Windows of a text in `size` contiguous streams; every symbol but the first is a target.

    The streams are of equal length to within one step; steps beyond the end of a shorter one have
    weights of zero. A window is never longer than the text.
    """
    return in_windows(next_symbols(text), size, length)


def _whole_path(file: str) -> str:
    """The absolute path of a text, so that a run finds it from any folder.

    If there is no such file, the name of a data set stands for its file.
    """
    if not file or "\0" in file:
        raise BadInput(f"file must be the path of a text, got {file!r}")
    if not os.path.lexists(file) and len(Path(file).parts) == 1:
        from ...data.datasets import text_path  # imported late because it loads the download code

        file = str(text_path(file) or file)
    return whole_path(file)
