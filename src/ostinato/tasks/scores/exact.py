"""Scores that compare texts token by token.

A text is any sequence of tokens: a string of characters, a list of words, an array of symbols.
"""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import BadInput


def exact_match(texts: Sequence[Any], references: Sequence[Any]) -> float:
    """The fraction of texts that equal their reference.

    Example:
        >>> exact_match(["168", "7"], ["168", "9"])
        0.5
    """
    check_pairs(texts, references)
    return sum(map(_equal, texts, references)) / len(references)


def any_match(texts: Sequence[str], references: Sequence[str | Sequence[str]]) -> float:
    """The fraction of texts that equal one of their references.

    Example:
        >>> any_match(["a cat", "a dog"], [["the cat", "a cat"], ["the dog"]])
        0.5
    """
    several = each_with_several(texts, references)
    return sum(map(operator.contains, several, texts)) / len(texts)


def token_accuracy(texts: Sequence[Any], references: Sequence[Any]) -> float:
    """The fraction of positions at which a text has the token of its reference.

    Texts of unequal length are compared up to the end of the longer one: a token that is missing
    and a token too many are wrong.

    Example:
        >>> token_accuracy(["168", "7"], ["169", "75"])  # 3 of 5 positions
        0.6
    """
    check_pairs(texts, references)
    pairs = list(zip(texts, references, strict=True))
    positions = sum(max(len(text), len(reference)) for text, reference in pairs)
    right = sum(a == b for text, reference in pairs for a, b in zip(text, reference, strict=False))
    return float(right / positions) if positions else 1.0


def edit_distance(text: Sequence[Any], reference: Sequence[Any]) -> int:
    """The least number of insertions, deletions and substitutions that turn one into the other.

    With `d[i, j]` the distance between the first i tokens of one and the first j of the other,

        d[i, j] = min(d[i-1, j] + 1, d[i, j-1] + 1, d[i-1, j-1] + (0 if tokens are equal else 1))

    Source: Levenshtein (1966), Binary codes capable of correcting deletions, insertions, and
    reversals.

    Example:
        >>> edit_distance("kitten", "sitting"), edit_distance("the cat".split(), ["cat"])
        (3, 1)
    """
    numbers: dict[Any, int] = {}
    one, other = (
        np.array([numbers.setdefault(token, len(numbers)) for token in _tokens(x)], int)
        for x in (text, reference)
    )
    across = np.arange(len(other) + 1)
    row = across
    for i, token in enumerate(one, 1):
        without = np.minimum(row[1:] + 1, row[:-1] + (other != token))
        # d[j] = min over k ≤ j of the value at k plus j - k insertions
        row = across + np.minimum.accumulate(np.concatenate([[i], without]) - across)
    return int(row[-1])


def error_rate(texts: Sequence[Any], references: Sequence[Any]) -> float:
    """The sum of all edit distances, divided by the number of tokens of all references.

    Of characters it is the character error rate, of words the word error rate, and of labels the
    label error rate of Graves et al. (2006). It can exceed 1.

    Example:
        >>> error_rate(["kitten"], ["sitting"]) == 3 / 7
        True
    """
    check_pairs(texts, references)
    tokens = sum(map(len, references))
    if not tokens:
        raise BadInput("an error rate needs references that are not all empty")
    return sum(map(edit_distance, texts, references)) / tokens


def check_pairs(texts: Sequence[Any], references: Sequence[Any]) -> None:
    """Refuse an unequal number of texts and references, and none at all."""
    if isinstance(texts, str) or isinstance(references, str):
        raise BadInput("a score needs lists of texts, got one text; put it in a list")
    for what, given in (("texts", texts), ("references", references)):
        try:
            len(given)
        except TypeError:
            raise BadInput(f"a score needs a list of {what}, got {given!r:.40}") from None
    if len(texts) != len(references):
        raise BadInput(f"there are {len(texts)} texts and {len(references)} references")
    if not len(references):
        raise BadInput("there are no texts to score")


def each_with_several(
    texts: Sequence[str], references: Sequence[str | Sequence[str]]
) -> list[list[str]]:
    """The references of each text as a list: one text stands for a list of one.

    Example:
        >>> each_with_several(["a", "b"], ["a", ["b", "B"]])
        [['a'], ['b', 'B']]
    """
    check_pairs(texts, references)
    several: list[list[Any]] = [
        [*one] if isinstance(one, list | tuple) else [one] for one in references
    ]
    for number, (text, some) in enumerate(zip(texts, several, strict=True), 1):
        if not some:
            raise BadInput(f"text {number} has no reference")
        for one in (text, *some):
            if not isinstance(one, str):
                raise BadInput(
                    f"text {number} and its references must be texts, got {type(one).__name__}"
                )
    return several


def _equal(text: Any, reference: Any) -> bool:
    return _tokens(text) == _tokens(reference)


def _tokens(text: Any) -> list:
    return text.tolist() if isinstance(text, np.ndarray) else list(text)
