"""Read texts of one sentence per line: alone, two files side by side, or with a label each."""

import codecs
import gzip
import io
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from ..errors import BadInput
from ..settings import shown
from .files import check_file, is_packed, unpacked
from .reading import decoded
from .table import LABELS, TEXTS

MAX_LINE = 1 << 26  # bytes of a line that is read as it comes


def read_utf8(path: str | Path, what: str, encoding: str | None = None) -> str:
    """The text of a UTF-8 file, which may be compressed with gzip; an empty one is refused.

    A byte-order mark is left out.

    Args:
        path: a regular file.
        what: what it should be, for messages, such as "text file".
        encoding: that of the setting of the same name; `None` where there is no such setting.
    """
    check_file(path, what)
    raw = unpacked(path)
    if not raw:
        raise BadInput(f"{path} is empty; give a {what}")
    if encoding not in (None, "utf-8"):
        text = "".join(decoded(io.BytesIO(raw), path, encoding, advise=False))
        return text.removeprefix("\ufeff")
    tip = "" if encoding is None else "; give its --encoding, for example latin-1 or utf-16"
    return "".join(_decoded(io.BytesIO(raw), str(path), tip))


def read_lines(path: str | Path, what: str = "text file") -> list[str]:
    """The lines of a UTF-8 file, which may be compressed (.gz); an empty line is refused.

    Example:
        >>> read_lines("book.txt")[0][:11]
        'A statement'
    """
    lines = [line.strip() for line in read_utf8(path, what).split("\n")]
    if not lines[-1]:
        lines.pop()  # after the last newline
    for number, line in enumerate(lines, 1):
        if not line:
            raise BadInput(f"{path}, line {number} is empty; give a sentence per line")
    return lines


def read_pairs(source: str | Path, target: str | Path) -> tuple[list[str], list[str]]:
    """Two files whose lines belong together."""
    one, two = read_lines(source), read_lines(target)
    if len(one) != len(two):
        longer, shorter = (source, target) if len(one) > len(two) else (target, source)
        raise BadInput(
            f"{source} has {len(one)} lines and {target} {len(two)}: from line "
            f"{min(len(one), len(two)) + 1} on, {longer} has nothing beside it in {shorter}"
        )
    return one, two


def read_table_of_pairs(
    path: str | Path, several: bool = False
) -> tuple[list[str], list[list[str]]]:
    """A file of `source<TAB>target` lines: the sources, and the targets of each.

    Args:
        path: the file.
        several: whether a source may have more than one target, each after a tab.
    """
    sources, targets = [], []
    for number, line in enumerate(read_lines(path), 1):
        source, *some = (part.strip() for part in line.split("\t"))
        if not source or not some or not all(some) or (len(some) > 1 and not several):
            raise BadInput(f"{path}, line {number} is not source<TAB>target")
        sources.append(source)
        targets.append(some)
    return sources, targets


def in_columns(line: str) -> list[str]:
    """Several texts of one line, with tabs between; empty ones are left out.

    Example:
        >>> in_columns("a cat\\tone cat")
        ['a cat', 'one cat']
    """
    return [part.strip() for part in line.split("\t") if part.strip()]


def given_lines(path: Path | None) -> Iterator[str]:
    """The lines of a file as they come, or those of standard input (`None` or `-`).

    A file may be compressed with gzip. Lines lose their newline, and nothing else.
    """
    if path is None or str(path) == "-":
        if sys.stdin is None:
            raise BadInput("standard input is closed; give a file")
        yield from _lines(sys.stdin.buffer, "standard input")
        return
    check_file(path)
    with open(path, "rb") as file:
        content = gzip.GzipFile(fileobj=file) if is_packed(file) else file
        try:
            yield from _lines(cast(BinaryIO, content), str(path))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise BadInput(f"cannot read {path}: {error}") from None


def count_lines(path: Path | None) -> int | None:
    """How many lines `given_lines` gives; `None` if only reading them all would tell.

    Example:
        >>> count_lines(Path("book.txt")) == len(list(given_lines(Path("book.txt"))))
        True
        >>> count_lines(None) is None  # standard input
        True
    """
    if path is None or not path.is_file():
        return None
    with open(path, "rb") as file:
        return None if is_packed(file) else sum(1 for _ in file)


def _lines(file: BinaryIO, where: str) -> Iterator[str]:
    """The lines of a file as they come, without their newlines."""
    return (line.removesuffix("\n") for line in _decoded(_bounded(file, where), where))


def _bounded(file: BinaryIO, where: str) -> Iterator[bytes]:
    """Lines as they come; a longer one is refused, because a small packed file may hold it."""
    number = 0
    while raw := file.readline(MAX_LINE + 1):
        number += 1
        if len(raw) > MAX_LINE:
            raise BadInput(f"{where}, line {number}: longer than {MAX_LINE:,} bytes; divide it")
        yield raw


def _decoded(lines: Iterable[bytes], where: str, tip: str = "") -> Iterator[str]:
    """Lines of UTF-8 with their newlines, without a byte-order mark at the beginning.

    A tip follows the message about bytes that are not UTF-8.
    """
    for number, raw in enumerate(lines, 1):
        if number == 1:
            raw = raw.removeprefix(codecs.BOM_UTF8)
        if b"\0" in raw:
            raise BadInput(f"{where}, line {number}: a zero byte{tip or '; give a text in UTF-8'}")
        try:
            yield raw.decode("utf-8")
        except UnicodeDecodeError as error:
            byte = raw[error.start]
            raise BadInput(f"{where}, line {number}: not UTF-8, byte 0x{byte:02x}{tip}") from None


def labelled(lines: Iterable[str], where: str, empty: bool = False) -> tuple[list[str], list[str]]:
    """The texts and the labels of some lines; with `empty`, a text may be without a label."""
    texts, labels = [], []
    for number, line in enumerate(lines, 1):
        label, tab, text = line.rstrip("\r\n").partition("\t")
        if not tab:
            what = "an empty line" if not label.strip() else "no tab"
            raise BadInput(
                f"{where}, line {number}: {what}; a line is label<TAB>text, and of a table --text "
                "and --label name the columns"
            )
        if not (empty or label.strip()) or not text.strip():
            what = "text" if empty or label.strip() else "label"
            raise BadInput(f"{where}, line {number}: the {what} is empty")
        labels.append(label.strip())
        texts.append(text)
    return texts, labels


def check_variety(texts: list[str], labels: list[str], where: str, right: str) -> None:
    """Refuse more different labels than there are different texts; `right` says what would be."""
    different = len(set(labels)), len(set(texts))
    if different[0] > different[1]:
        raise BadInput(
            f"{where}: there are {different[0]} different labels and {different[1]} different "
            f"texts; {right}"
        )


def check_columns(texts: list[str], labels: list[str], where: str) -> None:
    """Refuse columns the other way round, and a first line that names them.

    Such a line has the usual names, or a label that no other line has and a single word as its
    text, while every other label is there more than once.
    """
    check_variety(texts, labels, where, "a line is label<TAB>text, not the other way round")
    if labels[0] in labels[1:]:
        return
    word = texts[0].strip()
    named = labels[0].lower() in LABELS and word.lower() in TEXTS
    others = Counter(labels[1:]).values()
    alone = len(word.split()) == 1 and len(others) > 1 and min(others) > 1
    if named or alone:
        raise BadInput(
            f"{where}, line 1: {shown(labels[0])} and {shown(word)} read like the names of "
            "columns, because no other line has this label; remove the line, or give the label to "
            "more texts"
        )
