"""Patterns of a text that a unit may follow: a number for each character.

    brackets     between a bracket ( [ { and the one that closes it
    quotes       between quotation marks
    line, word   how many characters of the line, or word, have been read
    regex:...    within a match of a regular expression

A network that has read an opening bracket is inside, and one that has read the closing bracket is
not. So an opening mark counts as inside and a closing one does not; all characters of a match do.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..data.lines import read_utf8
from ..errors import BadInput
from ..settings import shown

CLOSES = {")": "(", "]": "[", "}": "{"}
# Three marks may span lines, one may not. An apostrophe within a word is no quotation mark, unless
# the word is a prefix of a Python string.
QUOTED = re.compile(
    r'"""(?:\\.|.)*?"""'
    r"|'''(?:\\.|.)*?'''"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?:(?<!\w)|(?<=\b[rbufRBUF])|(?<=\b[rRfF][bB])|(?<=\b[bB][rR])|(?<=\b[fF][rR])|"
    r"(?<=\b[rR][fF]))'(?:\\.|[^'\\\n])*'(?!\w)"
    r"|“[^”]*”|„[^“]*“|«[^»]*»",
    re.DOTALL,
)
NAMES = ("brackets", "quotes", "line", "word")
FORMS = "brackets, quotes, line, word, regex:EXPRESSION, labels:FILE or labels:FILE:LABEL"


class Pattern(NamedTuple):
    """A pattern of a text.

    Attributes:
        name: as it was asked for.
        values: `(pieces,)`, booleans for what is inside or outside, numbers for a position.
    """

    name: str
    values: np.ndarray

    @property
    def binary(self) -> bool:
        return self.values.dtype == bool


def pattern(name: str, pieces: Sequence[str], whole: int | None = None) -> Pattern:
    """The values of a pattern for each piece of a text: its characters, bytes or words.

    A piece of several characters has the largest value of its characters; each byte of a character
    has the value of that character.

    Args:
        name: `brackets`, `quotes`, `line`, `word`, `regex:EXPRESSION`, or labels from a file, one
            per line: `labels:FILE` for numbers or two labels, `labels:FILE:LABEL` for one label
            against all others.
        pieces: the text.
        whole: how many pieces the text had before it was cut to these; labels may be of all of it.

    Example:
        >>> pattern("brackets", list("f(x[0]) + 1")).values.astype(int)
        array([0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0])
        >>> pattern("word", list("to be")).values
        array([1., 2., 0., 1., 2.])
    """
    kind, _, rest = name.partition(":")
    if kind == "labels" and rest:
        return _of_file(rest, len(pieces), whole)
    text = "".join(pieces)
    if kind == "regex" and rest:
        spans = _matches(rest, text)
    elif name in NAMES:
        spans = {"brackets": _brackets, "quotes": _quotes, "line": _line, "word": _word}[name](text)
    else:
        raise BadInput(f"a pattern is {FORMS}; got {shown(name)}")
    return Pattern(name, _of_pieces(spans, pieces))


def _brackets(text: str) -> np.ndarray:
    """A bracket that is never closed, or never opened, does not count."""
    change, open_ = np.zeros(len(text) + 1, int), []
    for match in re.finditer(r"[()\[\]{}]", text):
        mark, at = match[0], match.start()
        if mark not in CLOSES:
            open_.append((mark, at))
        elif any(mark_ == CLOSES[mark] for mark_, _ in open_):
            while open_[-1][0] != CLOSES[mark]:
                open_.pop()
            change[open_.pop()[1]] += 1
            change[at] -= 1
    return np.cumsum(change[:-1]) > 0


def _quotes(text: str) -> np.ndarray:
    return _inside([(m.start(), m.end() - 1) for m in QUOTED.finditer(text)], len(text))


def _matches(expression: str, text: str) -> np.ndarray:
    try:
        compiled = re.compile(expression, re.MULTILINE)
    except re.error as error:
        raise BadInput(f"{shown(expression)} is not a regular expression: {error}") from None
    return _inside([match.span() for match in compiled.finditer(text)], len(text))


def _inside(spans: list[tuple[int, int]], size: int) -> np.ndarray:
    inside = np.zeros(size, bool)
    for start, stop in spans:
        inside[start:stop] = True
    return inside


def _line(text: str) -> np.ndarray:
    return _since(np.array([c == "\n" for c in text], bool))


def _word(text: str) -> np.ndarray:
    return _since(np.array([not (c.isalnum() or c == "_") for c in text], bool))


def _since(marks: np.ndarray) -> np.ndarray:
    """How many characters have been read since the last mark."""
    places = np.arange(len(marks))
    return (places - np.maximum.accumulate(np.where(marks, places, -1))).astype(float)


def _of_pieces(values: np.ndarray, pieces: Sequence[str]) -> np.ndarray:
    if not len(values):
        return np.zeros(len(pieces), values.dtype)
    ends = np.cumsum([len(piece) for piece in pieces])
    # A byte before the last of its character is an empty piece: it belongs to the next character.
    starts = np.minimum(np.concatenate([[0], ends[:-1]]), len(values) - 1)
    return np.maximum.reduceat(values, starts)


def _of_file(given: str, count: int, whole: int | None) -> Pattern:
    file, one = given, None
    if not Path(given).exists() and ":" in given:
        file, _, one = given.rpartition(":")
    words = read_utf8(file, "file of labels, one per line")
    return labelled(words, count, one, whole=whole, source=file)


def labelled(
    words: str,
    count: int,
    one: str | None = None,
    *,
    whole: int | None = None,
    source: str = "the list",
) -> Pattern:
    """A pattern from labels, one per line: numbers or two labels, or one label against all others.

    Args:
        words: the lines.
        count: the number of pieces.
        one: the label to follow; needed if there are more than two that are not numbers.
        whole: how many pieces the text had before it was cut, if it was.
        source: where the labels are from, for messages.

    Example:
        >>> labelled("noun\\nverb\\nnoun\\n", 3).values
        array([False,  True, False])
        >>> labelled("a\\nb\\nc", 3, "a").values
        array([ True, False, False])
    """
    labels = [label.strip() for label in words.removesuffix("\n").split("\n")]
    if len(labels) not in (count, whole):
        raise BadInput(
            f"{source} has {len(labels)} labels for a text of {count} pieces; give one per piece"
        )
    labels = labels[:count]
    name = f"labels:{source}" if one is None else f"labels:{source}:{one}"
    kinds = sorted(set(labels))
    if one is not None:
        if one not in kinds:
            raise BadInput(f"{source} has no label {shown(one)}; it has {', '.join(kinds)}"[:300])
        return Pattern(name, np.array([label == one for label in labels]))
    if len(kinds) == 2:
        return Pattern(name, np.array([label == kinds[1] for label in labels]))
    try:
        values = np.array([float(label) for label in labels])
    except ValueError:
        raise BadInput(
            f"{source} has {len(kinds)} different labels; name one of them, such as {kinds[-1]}: "
            f"labels:{source}:{kinds[-1]}"[:300]
        ) from None
    if not np.all(np.isfinite(values)):
        raise BadInput(f"{source} has labels that are not finite numbers")
    return Pattern(name, values)
