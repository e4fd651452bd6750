"""Sentences with a tag for each word: from files, in parts, and as numbers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..data.conllu import read_conllu
from ..data.examples import Examples
from ..data.splits import PARTS, divided_at_random
from ..data.words import Words
from ..errors import BadInput
from .tag_code import TagCode

Tagged = tuple[list[str], list[str]]  # words, and as many tags
MISSING = "_"
RARE_LETTER = 2  # a character that occurs less often is unknown


def read_tagged(path: str | Path, column: str) -> list[Tagged]:
    """The words of a CoNLL-U file and their values in a column."""
    found = [(x.column("form"), x.column(column)) for x in read_conllu(path)]
    if all(tag == MISSING for _, tags in found for tag in tags):
        raise BadInput(f"{path}: the column {column} is _ everywhere; choose another --column")
    return found


def in_parts(
    given: Mapping[str, Sequence[Tagged] | None],
    split: tuple[float, float, float],
    rng: np.random.Generator,
) -> dict[str, list[Tagged]]:
    """The sentences of each part, in the order in which they were given.

    Args:
        given: the sentences by part. A held-out part that is `None` is taken from `"train"`.
        split: the shares of the parts.
        rng: says which of them.
    """
    found = {name: [_checked(x) for x in some] for name, some in given.items() if some is not None}
    shares = [
        0.0 if name != "train" and name in found else share
        for name, share in zip(PARTS, split, strict=True)
    ]
    first, second, third = (share / sum(shares) for share in shares)
    everything = found["train"]
    parts = divided_at_random(len(everything), (first, second, third), "sentences", rng)
    for name, some in parts.items():
        if name == "train" or name not in found:
            found[name] = [everything[n] for n in some]
    return {name: found[name] for name in PARTS}


def _checked(sentence: Any) -> Tagged:
    words, tags = ([*map(str, some)] for some in sentence)
    if not words or "" in words:
        raise BadInput(f"a sentence has at least one word, and no word is empty; got {words!r:.60}")
    if len(words) != len(tags):
        raise BadInput(f"a sentence of {len(words)} words has {len(tags)} tags: {words!r:.60}")
    return words, tags


def code_of(parts: Mapping[str, list[Tagged]], min_count: int, column: str) -> TagCode:
    """The words and characters of the training part, and the tags of all parts."""
    words = [word for some, _ in parts["train"] for word in some]
    tags = {tag for part in parts.values() for _, some in part for tag in some}
    if column != "feats":  # there it means that a word has no features
        tags -= {MISSING}
    return TagCode(
        Words.of((word.lower() for word in words), min_count),
        Words.of("".join(words), RARE_LETTER),
        tuple(sorted(tags)),
        column,
    )


def encoded(
    part: Sequence[Tagged], distinct: Mapping[str, int], tags: Sequence[str], source: str
) -> Examples:
    """Sentences as examples, whose inputs are the numbers of their words.

    Args:
        part: the sentences.
        distinct: the number of each word.
        tags: those that are known. Any other tag is refused; a missing one does not count.
        source: where the sentences are from, for messages.
    """
    known = {tag: n for n, tag in enumerate(tags)}
    lengths = np.array([len(words) for words, _ in part], np.int32)
    said = [tag for _, some in part for tag in some]
    for tag in said:
        if tag not in known and tag != MISSING:
            raise BadInput(
                f"{source}: the tag {tag!r:.40} was never seen in training; the model has "
                f"{', '.join(tags[:20])}"
            )
    return Examples(
        np.array([distinct[word] for words, _ in part for word in words], np.int32),
        lengths,
        np.array([known.get(tag, 0) for tag in said], np.int32),
        np.array([tag in known for tag in said], bool),
    )
