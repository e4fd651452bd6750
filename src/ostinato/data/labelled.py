"""Read texts with a label each: a file of lines `label<TAB>text`."""

import io
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ..errors import BadInput
from .lines import read_utf8

# What the two columns of a file are called.
LABELS = ("label", "labels", "class", "category", "target", "sentiment", "tag", "y")
TEXTS = ("text", "texts", "sentence", "review", "document", "content", "message", "title", "x")


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


def check_columns(texts: list[str], labels: list[str], where: str) -> None:
    """Refuse columns the other way round, and a first line that names them.

    Such a line has the usual names, or a label that no other line has and a single word as its
    text, while every other label is there more than once.
    """
    different = len(set(labels)), len(set(texts))
    if different[0] > different[1]:
        raise BadInput(
            f"{where}: there are {different[0]} different labels and {different[1]} different "
            "texts; a line is label<TAB>text, not the other way round"
        )
    if labels[0] in labels[1:]:
        return
    word = texts[0].strip()
    named = labels[0].lower() in LABELS and word.lower() in TEXTS
    others = Counter(labels[1:]).values()
    alone = len(word.split()) == 1 and len(others) > 1 and min(others) > 1
    if named or alone:
        raise BadInput(
            f"{where}, line 1: {labels[0]!r:.40} and {word!r:.40} read like the names of columns, "
            "because no other line has this label; remove the line, or give the label to more texts"
        )
