"""Vocabularies with an unknown symbol: words, or the characters that words consist of."""

import dataclasses
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

UNKNOWN = 0


@dataclasses.dataclass(frozen=True)
class Words:
    """Words by number, from 1; 0 stands for every other word.

    A character is a word of length one, so this is a vocabulary of characters too.

    Attributes:
        known: the words, the most frequent first.

    Example:
        >>> from ostinato.data.words import Words
        >>> words = Words.of("a rose is a rose is a flower".split(), least=2)
        >>> words.known, words.encode(["a", "red", "rose"])
        (('a', 'rose', 'is'), array([1, 0, 2], dtype=int32))
    """

    known: tuple[str, ...]

    @classmethod
    def of(cls, words: Iterable[str], least: int = 1) -> "Words":
        """The words that occur at least so many times; equally frequent ones as they first come."""
        return cls(tuple(word for word, n in Counter(words).most_common() if n >= least))

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
    def from_json(cls, found: Any) -> "Words":
        """The inverse of `as_json`, with validation."""
        good = isinstance(found, list) and all(isinstance(x, str) and x for x in found)
        if not good or len(set(found)) != len(found):
            raise ValueError("its vocabulary is not a list of different words")
        return cls(tuple(found))
