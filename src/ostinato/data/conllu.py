"""Read and write CoNLL-U, the format of Universal Dependencies.

A sentence is a block of lines that ends with a blank line: comments, which start with `#`, and
tokens of ten columns separated by tabs. The id of a token is

    4       a word: 1, 2, 3, …
    4-5     a multiword token, before the words that it consists of
    4.1     an empty node, after the word 4

Every line of a file is kept as it is, so a file that is read and written is the same byte for byte.

Source: https://universaldependencies.org/format.html
"""

import dataclasses
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..errors import BadInput
from ..settings import shown
from .lines import read_utf8

COLUMNS = tuple("id form lemma upos xpos feats head deprel deps misc".split())
_ID = re.compile(r"(0|[1-9][0-9]{0,8})(?:([-.])([1-9][0-9]{0,8}))?")


@dataclasses.dataclass(frozen=True)
class Sentence:
    """A sentence of a CoNLL-U file.

    Attributes:
        lines: comments, words, multiword tokens and empty nodes, without the ends of the lines.
        line: the number of the first line in its file, from 1.
        end: what follows the last line; only at the end of a file other than a blank line.

    Example:
        >>> from ostinato.data.conllu import Sentence
        >>> sentence = Sentence.of(["It", "rains"])
        >>> sentence.replaced("upos", ["PRON", "VERB"]).column("upos")
        ['PRON', 'VERB']
    """

    lines: tuple[str, ...]
    line: int = 1
    end: str = "\n\n"

    @classmethod
    def of(cls, forms: Sequence[str], line: int = 1) -> "Sentence":
        """A sentence of words whose other columns are `_`."""
        rows = ("\t".join([str(n), form, *["_"] * 8]) for n, form in enumerate(forms, 1))
        return cls((f"# text = {' '.join(forms)}", *rows), line)

    def __str__(self) -> str:
        return "\n".join(self.lines) + self.end

    @property
    def words(self) -> list[int]:
        """Where the words are among the lines; multiword tokens and empty nodes are left out."""
        return [n for n, line in enumerate(self.lines) if line.split("\t", 1)[0].isdigit()]

    def column(self, name: str) -> list[str]:
        """One column of the words."""
        column = COLUMNS.index(name)
        return [self.lines[n].split("\t")[column] for n in self.words]

    def replaced(self, name: str, values: Sequence[str]) -> "Sentence":
        """The same sentence with other values in one column of its words."""
        column, lines = COLUMNS.index(name), list(self.lines)
        for n, value in zip(self.words, values, strict=True):
            if not value or "\t" in value or "\n" in value:
                raise BadInput(
                    f"a value of {name} is not empty and has no tabs, got {shown(value)}"
                )
            row = lines[n].split("\t")
            lines[n] = "\t".join([*row[:column], value, *row[column + 1 :]])
        return dataclasses.replace(self, lines=tuple(lines))


def read_conllu(path: str | Path) -> list[Sentence]:
    """The sentences of a CoNLL-U file, which may be compressed with gzip.

    Raises:
        BadInput: for a broken file, with the number of the line.

    Example:
        >>> from ostinato.data.conllu import Sentence, read_conllu
        >>> _ = Path("rain.conllu").write_text(str(Sentence.of(["It", "rains"])))
        >>> read_conllu("rain.conllu")[0].column("form")
        ['It', 'rains']
    """
    text = read_utf8(path, "CoNLL-U file")
    return list(sentences(io.StringIO(text, newline="\n"), str(path)))


def sentences(lines: Iterable[str], where: str) -> Iterator[Sentence]:
    """The sentences in some lines, each as soon as its blank line has been read.

    Args:
        lines: with their newlines.
        where: what is being read, for messages.
    """
    block: list[str] = []
    begin, number, newline = 1, 0, True
    for number, line in enumerate(lines, 1):
        newline, line = line.endswith("\n"), line.removesuffix("\n")
        if line.endswith("\r"):
            raise BadInput(f"{where}, line {number}: ends with CR LF; a line must end with LF")
        if line:
            block.append(line)
            continue
        if not block:
            raise BadInput(f"{where}, line {number}: an empty sentence, a blank line without words")
        yield _checked(Sentence(tuple(block), begin), where)
        block, begin = [], number + 1
    if block:
        yield _checked(Sentence(tuple(block), begin, "\n" if newline else ""), where)
    if not number:
        raise BadInput(f"{where} is empty; give CoNLL-U")


def _checked(sentence: Sentence, where: str) -> Sentence:
    """The sentence itself; raises if its columns or ids are wrong."""
    word, empty, covered = 0, 0, 0
    for number, line in enumerate(sentence.lines, sentence.line):
        if line.startswith("#"):
            if word or empty or covered:
                raise BadInput(f"{where}, line {number}: a comment after the first word")
            continue
        row = line.split("\t")
        if len(row) != len(COLUMNS):
            raise BadInput(
                f"{where}, line {number}: {len(COLUMNS)} columns separated by tabs are needed, "
                f"got {len(row)}"
            )
        if "" in row:
            name = COLUMNS[row.index("")]
            raise BadInput(f"{where}, line {number}: the column {name} is empty; write _")
        form = _ID.fullmatch(row[0])
        if form is None or row[0] == "0":
            raise BadInput(
                f"{where}, line {number}: an id is like 4, 4-5 or 4.1, got {shown(row[0])}"
            )
        kind, second = form[2], int(form[3] or 0)
        if kind is None:
            expected, word, empty = str(word + 1), word + 1, 0
        elif kind == "-":
            begin = max(word, covered) + 1
            expected, covered = f"{begin}-{max(begin, second)}", second
        else:
            expected, empty = f"{word}.{empty + 1}", empty + 1
        if row[0] != expected:
            raise BadInput(
                f"{where}, line {number}: ids out of order, got {row[0]} where {expected} is due"
            )
    if not word:
        raise BadInput(f"{where}, line {sentence.line}: an empty sentence, comments without words")
    if covered > word:
        raise BadInput(
            f"{where}, line {sentence.line}: a multiword token ends at {covered}, but the last "
            f"word is {word}"
        )
    return sentence
