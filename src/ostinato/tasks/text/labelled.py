"""Texts with labels: from files, as numbers, and labelled by a network."""

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...cells import Model
from ...data import Batch
from ...data.artefact_checks import kept_whole
from ...data.lines import check_columns, check_variety, labelled, read_utf8
from ...data.padding import multiple_above, padded_columns
from ...data.reading import texts_of
from ...data.text_table import labels_in, read_text_table, texts_in
from ...data.words import Words
from ...errors import BadInput
from ...names import counted
from ...progress import Report, each, silent
from ..applying import outputs_on
from ..given_answers import INVISIBLE
from ..target_codec import TargetCodec

LEVELS = ("words", "characters")
TOGETHER = 64
ROUND = 16  # steps by which padded texts grow, so that there are few compilations
WHAT = "file of lines label<TAB>text"


class Labelled(NamedTuple):
    """Texts, the label of each or a list of them, and what was done to read them, in sentences."""

    texts: list[str]
    labels: list[Any]
    notes: tuple[str, ...] = ()


def read_labelled(path: str | Path, settings: Any, known: bool = False) -> Labelled:
    """The texts and the labels of a file or a folder.

        with --text and --label     two columns of a table; see `data.text_table`
        a folder                    the texts of each of its folders, whose name is their label
        any other file              lines `label<TAB>text`; several labels with commas between

    Args:
        path: what to read; all files may be compressed with gzip.
        settings: those of `Classify`.
        known: whether a trained model knows the labels, so that nothing is said about them.

    Example:
        >>> from ostinato.tasks import Classify
        >>> _ = Path("moods.tsv").write_text("good\\tWhat a day\\nbad\\tOh no\\n")
        >>> read_labelled("moods.tsv", Classify.Settings())
        Labelled(texts=['What a day', 'Oh no'], labels=['good', 'bad'], notes=())
    """
    text, label = settings.text, settings.label
    if (text is None) != (label is None):
        raise BadInput(f"{path}: give both --text and --label, the two columns of a table")
    if os.path.isdir(path):
        if text is not None:
            raise BadInput(f"{path} is a folder; leave out --text and --label, or give a table")
        read = _of_folder(Path(path), settings.encoding)
    elif text is not None:
        read = _of_table(path, settings)
        if not known:
            right = "name with --text the column of the texts, and with --label that of the labels"
            check_variety(read.texts, [str(x) for x in read.labels], str(path), right)
    else:
        read = _of_lines(path, settings)
        if not known:
            check_columns(read.texts, [str(x) for x in read.labels], str(path))
    notes = (*read.notes, *([] if known else _about(read.labels)), *_invisible(read.texts))
    return read._replace(notes=notes)


def _of_table(path: str | Path, settings: Any) -> Labelled:
    names = [settings.text, settings.label]
    (cells, marks), places, notes = read_text_table(path, names, settings.encoding)
    separator = settings.separator or ("," if settings.kind == "multilabel" else None)
    texts = texts_in(cells, places, path, "the text")
    labels, more = labels_in(marks, places, path, separator)
    return Labelled(texts, labels, (*notes, *more))


def _of_lines(path: str | Path, settings: Any) -> Labelled:
    separator = settings.separator
    several = settings.kind == "multilabel" or separator is not None
    lines = read_utf8(path, WHAT, settings.encoding).removesuffix("\n").split("\n")
    texts, labels = labelled(lines, str(path), empty=several)
    if several:
        return Labelled(texts, [label.split(separator or ",") for label in labels])
    return Labelled(texts, labels)


def _of_folder(folder: Path, encoding: str) -> Labelled:
    texts, labels, others = [], [], 0
    for inner in sorted(x for x in folder.iterdir() if not x.name.startswith(".")):
        if not inner.is_dir():
            others += 1
            continue
        files, more = texts_of(inner)
        texts += [read_utf8(file, "text file", encoding) for file in files]
        labels += [inner.name] * len(files)
        others += more
    if not texts:
        raise BadInput(f"{folder} has no folders; texts lie in a folder for each label")
    notes = [f"{counted(len(texts), 'file')} of {counted(len({*labels}), 'folder')} are read"]
    if others:
        notes.append(f"{counted(others, 'other file')} there {_are(others)} left out")
    return Labelled(texts, labels, tuple(notes))


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _about(labels: Iterable[Any]) -> Iterator[str]:
    """A sentence about labels that differ in nothing but case."""
    every = {x for some in labels for x in ([some] if isinstance(some, str) else some)}
    first: dict[str, str] = {}
    for label in sorted(every):
        if (other := first.setdefault(label.casefold(), label)) != label:
            yield f"the labels {other} and {label} differ in case alone, and are two labels"
            return


def _invisible(texts: Sequence[str]) -> Iterator[str]:
    count = sum(INVISIBLE.search(text) is not None for text in texts)
    if count:
        yield f"{counted(count, 'text')} with invisible characters {_are(count)} read as written"


def seen_before(train: Iterable[Any], held_out: Sequence[Any], what: str) -> Iterator[str]:
    """A sentence about held-out examples that are in the training part too, if there are any."""
    seen = {*train}
    if count := sum(example in seen for example in held_out):
        yield (
            f"{count:,} of {counted(len(held_out), what)} are in the training part too, word for "
            "word"
        )


def split(text: str, level: str, cut: int | None) -> list[str]:
    """The words or characters of a text that are read; see `LabelCode`."""
    return (text.split() if level == "words" else list(text))[:cut]


@dataclasses.dataclass(frozen=True)
class LabelCode:
    """What a network needs to read texts and to name its answers.

    Attributes:
        level: `"words"`, which are separated by spaces, or `"characters"`.
        cut: how many words or characters are read of a text, or `None` for all.
        words: the known words or characters.
        answers: the labels.
    """

    level: str
    cut: int | None
    words: Words
    answers: TargetCodec

    def as_json(self) -> dict[str, Any]:
        return {
            "level": self.level,
            "length": self.cut,
            "words": self.words.as_json(),
            "answers": self.answers.as_json(),
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "LabelCode":
        """The inverse of `as_json`, with validation."""
        words, answers = Words.from_json(kept["words"]), TargetCodec.from_json(kept["answers"])
        level, cut = kept["level"], kept["length"]
        if level not in LEVELS or answers.classes is None:
            raise BadInput("its texts are not of words or characters, or have no classes")
        if cut is not None:
            kept_whole(cut, "length")
        return cls(level, cut, words, answers)

    def split(self, text: str) -> list[str]:
        """The words or characters of a text that are read."""
        return split(text, self.level, self.cut)

    def outputs_of(self, network: Model, texts: Sequence[str]) -> np.ndarray:
        """What the network says at the end of each text, `(M, outputs)`."""
        batch = self.batch(texts)
        outputs = np.asarray(outputs_on(network, batch))
        return outputs[batch.lengths - 1, np.arange(len(texts))]

    def batch(self, texts: Sequence[str]) -> Batch:
        """Some texts as a batch without targets."""
        symbols = [self.words.encode(self.split(text)) for text in texts]
        inputs, lengths = padded_columns(symbols, multiple_above(max(map(len, symbols)), ROUND))
        return Batch(inputs, None, np.ones(inputs.shape, np.float32), lengths, first=None)

    def apply(
        self,
        network: Model,
        lines: Iterable[str],
        report: Report = silent,
        total: int | None = None,
    ) -> Iterator[tuple[str, np.ndarray]]:
        """Each line with what the network says at its end, `(outputs,)`.

        `report` hears how many of `total` are done.
        """
        numbered = enumerate((line.strip() for line in lines), 1)
        blocks = iter(lambda: list(islice(numbered, TOGETHER)), [])
        for some in each(blocks, report, "labelling the lines", total, len):
            for number, text in some:
                if not text:
                    raise BadInput(f"line {number} is empty; give a text on each line")
            texts = [text for _, text in some]
            yield from zip(texts, self.outputs_of(network, texts), strict=True)
