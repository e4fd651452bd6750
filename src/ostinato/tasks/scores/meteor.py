"""METEOR: matched words of a translation, weighed by how many chunks they form.

The words of a translation are aligned to those of the reference in two stages: equal words first,
then words that are left and have the same Porter stem (which is made for English). Each stage takes
as many pairs as it can, and among such alignments the one with the fewest crossings. With m matched
words, in c chunks of pairs that are adjacent in both texts,

    P = m / words of the translation       R = m / words of the reference
    F = 10 P R / (R + 9 P)
    score = F (1 - ½ (c / m)³)

Of a corpus, m, c and the numbers of words are summed first. The third stage of the paper, synonyms
by WordNet, is left out, so scores are a little lower than with it. Among alignments with equally
many crossings the one with the fewest chunks is taken, which the paper leaves open.

Source: Banerjee and Lavie (2005), METEOR: an automatic metric for MT evaluation with improved
correlation with human judgments.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from ...errors import BadInput
from .exact import check_pairs
from .porter import stem

BEAM = 40  # partial alignments that are kept; only words that occur repeatedly leave a choice
STAGES: tuple[Callable[[str], str], ...] = (str, stem)

Pairs = tuple[tuple[int, int], ...]


class Matches(NamedTuple):
    """What is counted: matched words, chunks, and the words of both texts."""

    matched: int
    chunks: int
    found: int
    reference: int

    @property
    def score(self) -> float:
        """The METEOR score, from 0 to 1."""
        if not self.matched:
            return 0.0
        precision, recall = self.matched / self.found, self.matched / self.reference
        mean = 10 * precision * recall / (recall + 9 * precision)
        return mean * (1 - 0.5 * (self.chunks / self.matched) ** 3)


def meteor(found: Sequence[str], references: Sequence[str]) -> float:
    """The METEOR score of texts against one reference each, from 0 to 1. Case is ignored.

    Example:
        >>> round(meteor(["on the mat sat the cat"], ["the cat sat on the mat"]), 2)
        0.5
    """
    check_pairs(found, references)
    every = [matches(*pair) for pair in zip(found, references, strict=True)]
    return Matches(*(sum(column) for column in zip(*every, strict=True))).score


def matches(text: str, reference: str) -> Matches:
    """What METEOR counts in one text.

    Example:
        >>> said = "the president spoke to the audience"
        >>> matches("the president then spoke to the audience", said)
        Matches(matched=6, chunks=2, found=7, reference=6)
    """
    if not isinstance(text, str) or not isinstance(reference, str):
        raise BadInput(f"METEOR compares texts, got {type(text).__name__}")
    one, other = _words(text), _words(reference)
    pairs = align(one, other)
    return Matches(len(pairs), _chunks(pairs), len(one), len(other))


def align(words: Sequence[str], reference: Sequence[str]) -> Pairs:
    """Pairs of positions whose words match, in the order of `words`.

    Example:
        >>> align(["cats", "and", "dogs"], ["a", "dog", "and", "a", "cat"])
        ((0, 4), (1, 2), (2, 1))
    """
    pairs: Pairs = ()
    for form in STAGES:
        pairs = _stage([form(word) for word in words], [form(word) for word in reference], pairs)
    return pairs


def _stage(words: list[str], reference: list[str], fixed: Pairs) -> Pairs:
    """Add as many pairs of equal words as possible, with the fewest crossings; a beam search."""
    ours = _places(words, {i for i, _ in fixed})
    theirs = _places(reference, {j for _, j in fixed})
    both = ours.keys() & theirs.keys()
    single = {word for word in both if len(ours[word]) == len(theirs[word]) == 1}
    fixed += tuple((ours[word][0], theirs[word][0]) for word in single)
    beam: list[tuple[int, Pairs]] = [(0, ())]
    for i in sorted(i for word in both - single for i in ours[word]):
        longer = []
        for crossings, chosen in beam:
            for j in _choices(i, words, ours[words[i]], theirs[words[i]], chosen):
                if j is None:
                    longer.append((crossings, chosen))
                else:
                    more = sum((i - a) * (j - b) < 0 for a, b in fixed + chosen)
                    longer.append((crossings + more, (*chosen, (i, j))))
        if len(longer) > 1:
            longer.sort(key=lambda state: (state[0], _chunks(tuple(sorted(fixed + state[1])))))
        beam = longer[:BEAM]
    return tuple(sorted(fixed + beam[0][1]))


def _choices(
    i: int, words: list[str], ours: list[int], theirs: list[int], chosen: Pairs
) -> list[int | None]:
    """Where word i can go, or `None` for nowhere, so that as many pairs as possible remain.

    Equal words keep their order: if two of their pairs crossed, exchanging the two would remove
    that crossing and add none.
    """
    before = [j for k, j in chosen if words[k] == words[i]]
    wanted = min(len(ours), len(theirs)) - len(before)
    if not wanted:
        return [None]
    begin = theirs.index(before[-1]) + 1 if before else 0
    found: list[int | None] = [*theirs[begin : len(theirs) - wanted + 1]]
    return [*found, None] if len(ours) - ours.index(i) > wanted else found


def _places(words: list[str], taken: set[int]) -> dict[str, list[int]]:
    """Where each word stands, without the positions that are taken."""
    found: dict[str, list[int]] = {}
    for i, word in enumerate(words):
        if i not in taken:
            found.setdefault(word, []).append(i)
    return found


def _chunks(pairs: Pairs) -> int:
    """The number of runs of pairs that are adjacent in both texts."""
    followed = sum((a + 1, b + 1) == other for (a, b), other in pairwise(pairs))
    return len(pairs) - followed


def _words(text: str) -> list[str]:
    """Words and punctuation marks in lower case."""
    return re.findall(r"\w+|[^\w\s]", text.lower())
