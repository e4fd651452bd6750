"""Read texts with a label each: a file of lines `label<TAB>text`."""

import io
from collections.abc import Iterable
from pathlib import Path

from ..errors import BadInput
from .lines import read_utf8


def read_labelled(path: str | Path) -> tuple[list[str], list[str]]:
    """The texts and the labels of a file, which may be compressed with gzip.

    Example:
        >>> from pathlib import Path
        >>> from ostinato.data.labelled import read_labelled
        >>> _ = Path("moods.tsv").write_text("good\\tWhat a day\\nbad\\tOh no\\n")
        >>> read_labelled("moods.tsv")
        (['What a day', 'Oh no'], ['good', 'bad'])
    """
    text = read_utf8(path, "file of lines label<TAB>text")
    return labelled(io.StringIO(text), str(path))


def labelled(lines: Iterable[str], where: str) -> tuple[list[str], list[str]]:
    """The texts and the labels of some lines."""
    texts, labels = [], []
    for number, line in enumerate(lines, 1):
        label, tab, text = line.rstrip("\r\n").partition("\t")
        if not tab:
            what = "an empty line" if not label.strip() else "no tab"
            raise BadInput(f"{where}, line {number}: {what}; a line is label<TAB>text")
        if not label.strip() or not text.strip():
            what = "text" if label.strip() else "label"
            raise BadInput(f"{where}, line {number}: the {what} is empty")
        labels.append(label.strip())
        texts.append(text)
    return texts, labels
