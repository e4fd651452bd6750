"""Vocabularies with an unknown symbol: words, or the characters that words consist of.

A word occurs many times in a batch, and is read character by character only once (`Spellings`).
Short words share rows, which are marked where a word begins:

    t h e c a t .        letters `(L, R)`: R rows of L characters
    1 0 0 1 0 0 1        begins `(L, R)`

So the character cell takes L steps over few rows, without padding each word to the longest one.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput

UNKNOWN = 0
ROW = 32  # L; a longer word keeps its first and its last half of so many characters
PER_WORD = (3, 4, 6, 8, 12, 16, 24, ROW)  # characters per step, to which R is rounded up


@dataclasses.dataclass(frozen=True)
class Words:
    """Words by number, from 1; 0 stands for every other word.

    A character is a word of length one, so this is a vocabulary of characters too.

    Attributes:
        known: the words, the most frequent first.

    Example:
        >>> from ostinato.data.words import Words
        >>> words = Words.of("a rose is a rose is a flower".split(), min_count=2)
        >>> words.known, words.encode(["a", "red", "rose"])
        (('a', 'rose', 'is'), array([1, 0, 2], dtype=int32))
    """

    known: tuple[str, ...]

    @classmethod
    def of(cls, words: Iterable[str], min_count: int = 1) -> "Words":
        """The words that occur at least so many times; equally frequent ones as they first come."""
        return cls(tuple(word for word, n in Counter(words).most_common() if n >= min_count))

    def __len__(self) -> int:
        """The number of symbols, with the unknown one."""
        return len(self.known) + 1

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: n for n, word in enumerate(self.known, 1)}

    def encode(self, words: Iterable[str]) -> np.ndarray:
        """The symbols `(N,)` of some words."""
        return np.array([self._numbers.get(word, UNKNOWN) for word in words], np.int32)

    def as_json(self) -> list[str]:
        return list(self.known)

    @classmethod
    def from_json(cls, kept: Any) -> "Words":
        """The inverse of `as_json`, with validation."""
        good = isinstance(kept, list) and all(isinstance(x, str) and x for x in kept)
        if not good or len(set(kept)) != len(kept):
            raise BadInput("its vocabulary is not a list of different words")
        return cls(tuple(kept))


class SpelledWords(NamedTuple):
    """B sentences of up to T words.

    The letters are the same for all sentences; they are repeated so that every array has the
    sentences on its second axis, and any part of a batch is a batch.

    Attributes:
        words: `(T, B)`, the symbol of each word.
        first, last: `(T, B)`, the places `l R + r` of its first and of its last character.
        letters: `(L, B, R)`, symbols of characters.
        begins: `(L, B, R)`, true where a word begins.
    """

    words: np.ndarray
    first: np.ndarray
    last: np.ndarray
    letters: np.ndarray
    begins: np.ndarray


@dataclasses.dataclass(frozen=True)
class Spellings:
    """How some words are spelled.

    Attributes:
        letters: the characters of all words, one after the other.
        begins, sizes: where each word begins among them, and how many characters it has.

    Example:
        >>> from ostinato.data.words import Spellings
        >>> from ostinato.data.words import Words
        >>> spellings = Spellings.of(["the", "cat"], Words.of("the cat"))
        >>> which = np.array([[0, 1], [1, 1]])  # "the cat" and "cat cat", side by side
        >>> batch = spellings.batch(np.zeros((2, 2), np.int32), which)
        >>> batch.letters.shape, batch.first.tolist(), batch.last.tolist()
        ((32, 2, 1), [[0, 3], [3, 3]], [[2, 5], [5, 5]])
    """

    letters: np.ndarray
    begins: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, words: Iterable[str], letters: Words) -> "Spellings":
        """The spellings of words, none of which is empty."""
        cut = [_cut(word) for word in words]
        sizes = np.array([len(word) for word in cut], np.int32)
        begins = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
        symbols = letters.encode("".join(cut))
        return cls(symbols.astype(np.min_scalar_type(len(letters) - 1)), begins, sizes)

    def batch(self, words: np.ndarray, which: np.ndarray) -> SpelledWords:
        """A batch of words.

        Args:
            words: `(T, B)`, the symbol of each word.
            which: `(T, B)`, its number among the spellings.
        """
        distinct, inverse = np.unique(which, return_inverse=True)
        sizes = self.sizes[distinct]
        places, rows, ends = _in_rows(sizes)
        count = next(
            room
            for room in (-(-which.size * size // ROW) for size in PER_WORD)
            if room >= len(ends)
        )
        letters = np.zeros((ROW, count), self.letters.dtype)
        begins = np.zeros((ROW, count), bool)
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        letters[np.repeat(places, sizes) + within, np.repeat(rows, sizes)] = self.letters[
            np.repeat(self.begins[distinct], sizes) + within
        ]
        begins[places, rows] = True
        short = np.flatnonzero(ends < ROW)
        begins[ends[short], short] = True  # the padding of a row does not belong to its last word
        inverse = inverse.reshape(which.shape)
        first = (places * count + rows).astype(np.int32)
        last = (first + (sizes - 1) * count).astype(np.int32)
        shape = (ROW, which.shape[1], count)
        letters, begins = (np.broadcast_to(x[:, None], shape) for x in (letters, begins))
        return SpelledWords(words, first[inverse], last[inverse], letters, begins)


def _in_rows(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words of these sizes in rows of `ROW` characters, the longest first, each where it fits best.

    Returns:
        The place in its row and the row of each word, and the used places of each row.
    """
    places, rows = np.zeros(len(sizes), np.int32), np.zeros(len(sizes), np.int32)
    ends: list[int] = []
    with_space: list[list[int]] = [[] for _ in range(ROW + 1)]  # the rows, by their free places
    for word in np.argsort(-sizes, kind="stable").tolist():
        size = int(sizes[word])
        space = next((n for n in range(size, ROW) if with_space[n]), ROW)
        if space == ROW:
            row, end = len(ends), 0
            ends.append(0)
        else:
            row, end = with_space[space].pop(), ROW - space
        places[word], rows[word], ends[row] = end, row, end + size
        with_space[space - size].append(row)
    return places, rows, np.array(ends, np.int32)


def _cut(word: str) -> str:
    return word if len(word) <= ROW else word[: ROW // 2] + word[-ROW // 2 :]
