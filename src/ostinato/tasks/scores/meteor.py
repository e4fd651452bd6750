"""METEOR: matched words of a translation, weighed by how many chunks they form.

The words of a translation are aligned to those of the reference in three stages: equal words first,
then words that are left and have the same Porter stem (which is made for English), then words that
a user's list calls synonyms. Each stage takes as many pairs as it can, and among such alignments
the one with the fewest crossings. With m matched words, in c chunks of pairs that are adjacent in
both texts,

    P = m / words of the translation       R = m / words of the reference
    F = P R / (α P + (1 - α) R)            M = γ (c / m)^β
    score = (1 - M) F

Banerjee and Lavie (2005) have α = 0.9, β = 3 and γ = 0.5, which are the defaults; Lipton et al.
(2015), section 5.2, leave α free, and have M proportional to c / m: β = 1. Of several references
the one with the best score counts. Of a corpus, m, c and the numbers of words are summed first.
The paper takes its synonyms from WordNet, and so do published scores; without a list, that stage
does nothing and scores are a little lower. Among alignments with equally many crossings the one
with the fewest chunks is taken, which the paper leaves open.

Source: Banerjee and Lavie (2005), METEOR: an automatic metric for MT evaluation with improved
correlation with human judgments; Lipton et al. (2015), section 5.2.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ...data.lines import read_lines
from ...errors import BadInput, naming
from ...files import checked_path
from ...settings import checked_float, checked_kind
from .exact import each_with_several
from .porter import stem

BEAM = 40  # partial alignments that are kept; only words that occur repeatedly leave a choice
STAGES: tuple[Callable[[str], str], ...] = (str, stem)

Pairs = tuple[tuple[int, int], ...]
Synonyms = Mapping[str, frozenset[int]]  # of a word, the numbers of the sets that have it


class Matches(NamedTuple):
    """What is counted: matched words, chunks, and the words of both texts."""

    matched: int
    chunks: int
    text: int
    reference: int

    def score(self, alpha: float = 0.9, beta: float = 3.0, gamma: float = 0.5) -> float:
        """The METEOR score, from 0 to 1."""
        if not self.matched:
            return 0.0
        precision, recall = self.matched / self.text, self.matched / self.reference
        mean = precision * recall / (alpha * precision + (1 - alpha) * recall)
        return mean * (1 - gamma * (self.chunks / self.matched) ** beta)


def meteor(
    texts: Sequence[str],
    references: Sequence[str | Sequence[str]],
    *,
    alpha: float = 0.9,
    beta: float = 3.0,
    gamma: float = 0.5,
    stems: bool = True,
    synonyms: Synonyms | None = None,
) -> float:
    """The METEOR score of texts against one reference each, or several. Case is ignored.

    Args:
        texts: the texts.
        references: a text for each, or a list of texts, of which the best one counts.
        alpha: from 0, where F is the precision, to 1, where it is the recall.
        beta, gamma: of the penalty `γ (c / m)^β` for words in many chunks.
        stems: whether words with the same stem match.
        synonyms: sets of words that match; see `read_synonyms` and `synonym_sets`.

    Example:
        >>> round(meteor(["on the mat sat the cat"], ["the cat sat on the mat"]), 2)
        0.5
        >>> known = synonym_sets([["cat", "puss"], ["sat", "rested"]])
        >>> round(meteor(["the puss rested"], [["a dog", "the cat sat"]], synonyms=known), 2)
        0.98
    """
    checked_float("alpha", alpha, min=0, max=1)
    checked_float("beta", beta, min=0)
    checked_float("gamma", gamma, min=0, max=1)
    if synonyms is not None:
        checked_kind("synonyms", synonyms, dict, "what synonym_sets or read_synonyms returns")
    every = []
    for text, several in zip(texts, each_with_several(texts, references), strict=True):
        counts = [matches(text, one, stems, synonyms) for one in several]
        every.append(max(counts, key=lambda one: one.score(alpha, beta, gamma)))
    whole = Matches(*(sum(column) for column in zip(*every, strict=True)))
    return whole.score(alpha, beta, gamma)


def synonym_sets(sets: Sequence[Sequence[str]]) -> Synonyms:
    """Sets of words that mean the same, for `meteor`; a word may be in several.

    Two words match if one set has both. Case is ignored.

    Example:
        >>> known = synonym_sets([["bank", "shore"], ["bank", "lender"]])
        >>> sorted(known["bank"]), known["shore"] & known["lender"]
        ([0, 1], frozenset())
    """
    known: dict[str, frozenset[int]] = {}
    for number, words in enumerate(checked_kind("sets", sets, list, "a list of lists of words")):
        for word in checked_kind("each of sets", words, list, "a list of words"):
            if not isinstance(word, str) or _words(word) != [word.lower()]:
                raise BadInput(f"a synonym is a single word, got {word!r:.40}")
            known[word.lower()] = known.get(word.lower(), frozenset()) | {number}
    return known


def read_synonyms(path: str | Path) -> Synonyms:
    """The synonyms of a UTF-8 file: on each line words that mean the same, with spaces between."""
    lines = [line.split() for line in read_lines(checked_path("path", path), "file of synonyms")]
    for number, words in enumerate(lines, 1):
        if len(words) < 2:
            raise BadInput(f"{path}, line {number} has one word; give words that mean the same")
    with naming(path):
        return synonym_sets(lines)


def matches(
    text: str, reference: str, stems: bool = True, synonyms: Synonyms | None = None
) -> Matches:
    """What METEOR counts in one text.

    Example:
        >>> said = "the president spoke to the audience"
        >>> matches("the president then spoke to the audience", said)
        Matches(matched=6, chunks=2, text=7, reference=6)
    """
    one, other = _words(text), _words(reference)
    pairs = align(one, other, stems, synonyms)
    return Matches(len(pairs), _chunks(pairs), len(one), len(other))


def align(
    words: Sequence[str],
    reference: Sequence[str],
    stems: bool = True,
    synonyms: Synonyms | None = None,
) -> Pairs:
    """Pairs of positions whose words match, in the order of `words`.

    Example:
        >>> align(["cats", "and", "dogs"], ["a", "dog", "and", "a", "cat"])
        ((0, 4), (1, 2), (2, 1))
    """
    pairs: Pairs = ()
    for form in STAGES if stems else STAGES[:1]:
        pairs = _stage([form(word) for word in words], [form(word) for word in reference], pairs)
    return pairs if synonyms is None else _related(words, reference, pairs, synonyms)


def _related(
    words: Sequence[str], reference: Sequence[str], fixed: Pairs, synonyms: Synonyms
) -> Pairs:
    """Add as many pairs of synonyms as possible, with the fewest crossings.

    Unlike equality this relation is not transitive, so whether as many pairs as possible remain is
    asked of a maximum matching.
    """
    free = [j for j in range(len(reference)) if j not in {j for _, j in fixed}]
    choices: dict[int, list[int]] = {}
    for i in sorted({*range(len(words))} - {i for i, _ in fixed}):
        sets = synonyms.get(words[i], frozenset())
        if fitting := [j for j in free if sets & synonyms.get(reference[j], frozenset())]:
            choices[i] = fitting
    most = _most_pairs(choices)

    def places(i: int, chosen: Pairs) -> Iterator[int | None]:
        taken = {j for _, j in chosen}
        later = {a: fitting for a, fitting in choices.items() if a > i}
        for j in (*(j for j in choices[i] if j not in taken), None):
            left = {a: [b for b in fitting if b not in {*taken, j}] for a, fitting in later.items()}
            if len(chosen) + (j is not None) + _most_pairs(left) == most:
                yield j

    return _search(fixed, choices, places)


def _search(
    fixed: Pairs, free: Iterable[int], places: Callable[[int, Pairs], Iterable[int | None]]
) -> Pairs:
    """Add pairs of positions, with the fewest crossings; a beam search.

    Args:
        fixed: the pairs that are there.
        free: the positions of words that may get one, in their order.
        places: where such a word can go after the pairs chosen so far; `None` for nowhere.
    """
    beam: list[tuple[int, Pairs]] = [(0, ())]
    for i in free:
        longer = []
        for crossings, chosen in beam:
            for j in places(i, chosen):
                if j is None:
                    longer.append((crossings, chosen))
                else:
                    more = sum((i - a) * (j - b) < 0 for a, b in fixed + chosen)
                    longer.append((crossings + more, (*chosen, (i, j))))
        if len(longer) > 1:
            longer.sort(key=lambda state: (state[0], _chunks(tuple(sorted(fixed + state[1])))))
        beam = longer[:BEAM]
    return tuple(sorted(fixed + beam[0][1]))


def _most_pairs(choices: Mapping[int, Sequence[int]]) -> int:
    """The size of a maximum matching, by augmenting paths."""
    owners: dict[int, int] = {}

    def place(i: int, seen: set[int]) -> bool:
        for j in choices[i]:
            if j not in seen:
                seen.add(j)
                if j not in owners or place(owners[j], seen):
                    owners[j] = i
                    return True
        return False

    return sum(place(i, set()) for i in choices)


def _stage(words: list[str], reference: list[str], fixed: Pairs) -> Pairs:
    """Add as many pairs of equal words as possible, with the fewest crossings."""
    ours = _places(words, {i for i, _ in fixed})
    theirs = _places(reference, {j for _, j in fixed})
    both = ours.keys() & theirs.keys()
    single = {word for word in both if len(ours[word]) == len(theirs[word]) == 1}
    fixed += tuple((ours[word][0], theirs[word][0]) for word in single)
    return _search(
        fixed,
        sorted(i for word in both - single for i in ours[word]),
        lambda i, chosen: _choices(i, words, ours[words[i]], theirs[words[i]], chosen),
    )


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
    places: list[int | None] = [*theirs[begin : len(theirs) - wanted + 1]]
    return [*places, None] if len(ours) - ours.index(i) > wanted else places


def _places(words: list[str], taken: set[int]) -> dict[str, list[int]]:
    """Where each word stands, without the positions that are taken."""
    places: dict[str, list[int]] = {}
    for i, word in enumerate(words):
        if i not in taken:
            places.setdefault(word, []).append(i)
    return places


def _chunks(pairs: Pairs) -> int:
    """The number of runs of pairs that are adjacent in both texts."""
    followed = sum((a + 1, b + 1) == other for (a, b), other in pairwise(pairs))
    return len(pairs) - followed


def _words(text: str) -> list[str]:
    """Words and punctuation marks in lower case."""
    return re.findall(r"\w+|[^\w\s]", text.lower())
