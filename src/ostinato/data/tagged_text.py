"""Read tagged words in plain forms: a line per word, or `word/TAG`.

columns     a word per line, then its tags, with tabs or spaces between; a blank line ends a
            sentence. A line -DOCSTART-, which begins a document, is left out.
slashes     a sentence per line, each word with a slash and its tag: `It/PRP rains/VBZ ./.`
            The last slash counts, so `1/2/CD` is the word 1/2.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from ..errors import BadInput
from ..names import counted
from ..settings import shown
from .conllu import COLUMNS

LOOKED_AT = 20  # lines that tell the form
DOCUMENT = "-DOCSTART-"
_TAGGED = re.compile(r"\S+/[^\s/]+")


class TaggedText(NamedTuple):
    """Sentences, each as its words and as many tags, and what was left out, in sentences."""

    sentences: list[tuple[list[str], list[str]]]
    notes: tuple[str, ...] = ()


def form_of(lines: Iterable[str]) -> str:
    """The form of tagged text: `"conllu"`, `"columns"` or `"slashes"`.

    Example:
        >>> form_of(["It/PRP rains/VBZ"]), form_of(["It PRP", "rains VBZ"])
        ('slashes', 'columns')
    """
    opening = list(islice((line for line in lines if line.strip()), LOOKED_AT))
    rows = [line.split("\t") for line in opening]
    begins_with_comment = any(row[0].startswith("# ") for row in rows[:1])
    if begins_with_comment or any(len(row) == len(COLUMNS) for row in rows):
        return "conllu"
    words = [word for line in opening for word in line.split()]
    return "slashes" if all(map(_TAGGED.fullmatch, words)) else "columns"


def in_columns(lines: Sequence[str], where: str, column: int | None = None) -> TaggedText:
    """The sentences of lines with a word each.

    Args:
        lines: without their newlines.
        where: what is being read, for messages.
        column: that of the tags, from 1; it must be given if there are more than two.

    Example:
        >>> in_columns(["It PRP", "rains VBZ", "", "Yes UH"], "rain.txt").sentences
        [(['It', 'rains'], ['PRP', 'VBZ']), (['Yes'], ['UH'])]
    """
    sentences: list[tuple[list[str], list[str]]] = [([], [])]
    width, documents = 0, 0
    for number, line in enumerate(lines, 1):
        row = _cells(line)
        if not row or row[0] == DOCUMENT:
            documents += bool(row)
            if sentences[-1][0]:
                sentences.append(([], []))
            continue
        width = width or len(row)
        if len(row) < 2 or "" in row:
            raise BadInput(f"{where}, line {number}: {shown(line)} is not a word and its tag")
        if len(row) != width:
            raise BadInput(f"{where}, line {number}: {len(row)} columns, and {width} above")
        if column is None and width > 2:
            raise BadInput(
                f"{where}, line {number}: {width} columns; --column says which has the tags, 2 to "
                f"{width}"
            )
        if column is not None and not 2 <= column <= width:
            raise BadInput(
                f"{where} has {width} columns, the first of words; got --column {column}"
            )
        sentences[-1][0].append(row[0])
        sentences[-1][1].append(row[(column or 2) - 1])
    said = f"{counted(documents, 'line')} {DOCUMENT} {'was' if documents == 1 else 'were'} left out"
    return _checked([x for x in sentences if x[0]], where, [said] if documents else [])


def _cells(line: str) -> list[str]:
    """The cells of a line: between tabs if it has one, else between spaces."""
    if not line.strip():
        return []
    return [cell.strip() for cell in line.split("\t")] if "\t" in line else line.split()


def with_slashes(lines: Sequence[str], where: str) -> TaggedText:
    """The sentences of lines of `word/TAG`.

    Example:
        >>> with_slashes(["It/PRP rains/VBZ"], "rain.txt").sentences
        [(['It', 'rains'], ['PRP', 'VBZ'])]
    """
    sentences = []
    for number, line in enumerate(lines, 1):
        for word in line.split():
            if not _TAGGED.fullmatch(word):
                raise BadInput(f"{where}, line {number}: {shown(word)} is not word/TAG")
        pairs = [word.rsplit("/", 1) for word in line.split()]
        if pairs:
            sentences.append(([word for word, _ in pairs], [tag for _, tag in pairs]))
    return _checked(sentences, where, [])


def _checked(
    sentences: list[tuple[list[str], list[str]]], where: str, notes: list[str]
) -> TaggedText:
    if not sentences:
        raise BadInput(f"{where} has no sentences; give tagged words")
    return TaggedText(sentences, tuple(notes))


def as_text(words: Sequence[str], tags: Sequence[str], form: str) -> str:
    """A tagged sentence as `"columns"`, with a blank line at its end, or with `"slashes"`.

    Example:
        >>> as_text(["It", "rains"], ["PRP", "VBZ"], "slashes")
        'It/PRP rains/VBZ'
    """
    pairs = zip(words, tags, strict=True)
    if form == "slashes":
        return " ".join(f"{word}/{tag}" for word, tag in pairs)
    return "".join(f"{word}\t{tag}\n" for word, tag in pairs) + "\n"
