"""Vocabularies of sequences: words, characters, bytes or subwords, and a symbol for the end.

Symbol 0 ends a sequence, and starts one where a decoder needs something to read first. Symbol 1
stands for whatever is not known; a vocabulary that knows everything (bytes, subwords) never uses
it.
"""

import collections
import dataclasses
import json
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import BadInput, needing
from .artefact_checks import kept_object, kept_texts
from .vocabulary import checked_symbols

END, UNKNOWN = 0, 1
RESERVED = 2
LEVELS = ("characters", "words", "subwords", "bytes")
SUBWORDS = 8000


@dataclasses.dataclass(frozen=True)
class Tokens:
    """A mapping between texts and sequences of symbols.

    Attributes:
        level: what a symbol stands for: `"characters"`, `"words"`, `"subwords"` or `"bytes"`.
        tokens: those of the symbols from 2 on; for subwords the tokenizer as JSON, alone.
        backwards: whether the symbols are in the reverse order of the text.

    Example:
        >>> tokens = Tokens.of(["a cat", "a dog"], "words")
        >>> tokens.encode("a dog"), tokens.decode([3, 0, 2])
        ([2, 4], 'cat')
    """

    level: str
    tokens: tuple[str, ...]
    backwards: bool = False

    @classmethod
    def of(
        cls, texts: Iterable[str], level: str, *, min_count: int = 1, subwords: int = SUBWORDS
    ) -> "Tokens":
        """The vocabulary of some texts.

        Args:
            texts: one sequence each.
            level: see the class.
            min_count: how often a word or a character must occur to have a symbol of its own.
            subwords: how many subwords there are, with `"subwords"`.
        """
        if level not in LEVELS:
            raise BadInput(f"level must be one of {', '.join(LEVELS)}; got {level}")
        if level == "bytes":
            return cls(level, tuple(map(chr, range(256))))
        if level == "subwords":
            return cls(level, (_trained(texts, subwords),))
        counts: collections.Counter[str] = collections.Counter()
        for text in texts:
            counts.update(_split(text, level))
        known = tuple(sorted(x for x, n in counts.items() if n >= min_count))
        if counts and not known:
            raise BadInput(
                f"none of the {len(counts):,} {level} occurs {min_count} times; choose a smaller "
                "--min-count"
            )
        return cls(level, known)

    def __post_init__(self) -> None:
        if self.level == "subwords":
            _ = self._subwords  # what cannot be read is refused now

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {token: n for n, token in enumerate(self.tokens, RESERVED)}

    @cached_property
    def _subwords(self) -> Any:
        return _tokenizer(self.tokens[0])

    def __len__(self) -> int:
        if self.level == "subwords":
            return RESERVED + self._subwords.get_vocab_size()
        return RESERVED + len(self.tokens)

    def encode(self, text: str) -> list[int]:
        """The symbols of a text, without an end."""
        symbols = self._encoded(text)
        return symbols[::-1] if self.backwards else symbols

    def encode_all(self, texts: Iterable[str]) -> list[np.ndarray]:
        """The symbols `(T,)` of each of some texts, without ends."""
        return [np.array(self.encode(text), np.int32) for text in texts]

    def _encoded(self, text: str) -> list[int]:
        if self.level == "bytes":
            return [RESERVED + byte for byte in text.encode(errors="surrogateescape")]
        if self.level == "subwords":
            return [RESERVED + n for n in self._subwords.encode(text).ids]
        return [self._numbers.get(token, UNKNOWN) for token in _split(text, self.level)]

    def unknown(self, text: str) -> list[str]:
        """The words or characters of a text that the vocabulary does not know."""
        if self.level in ("bytes", "subwords"):
            return []
        return [token for token in _split(text, self.level) if token not in self._numbers]

    def pieces(self, symbols: Iterable[Any]) -> list[str]:
        """The token of each symbol, for pictures and lists."""
        known = checked_symbols([*symbols], len(self)).tolist()
        return [_mark(n) if n < RESERVED else self._piece(n) for n in known]

    def _piece(self, symbol: int) -> str:
        if self.level == "subwords":
            return self._subwords.decode([symbol - RESERVED])
        return self.tokens[symbol - RESERVED]

    def decode(self, symbols: Iterable[Any]) -> str:
        """The text of some symbols, up to the first end."""
        known = checked_symbols([*symbols], len(self)).tolist()
        known = known[: known.index(END)] if END in known else known
        known = known[::-1] if self.backwards else known
        if self.level == "bytes":
            return bytes(n - RESERVED for n in known if n >= RESERVED).decode(errors="replace")
        if self.level == "subwords":
            kept = [n - RESERVED for n in known if n >= RESERVED]
            return self._subwords.decode(kept).removeprefix(" ")
        joint = " " if self.level == "words" else ""
        return joint.join(self.pieces(known))

    def as_json(self) -> dict[str, Any]:
        plain = {"level": self.level, "tokens": list(self.tokens)}
        return plain | {"backwards": True} if self.backwards else plain

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> "Tokens":
        """The inverse of `as_json`, with validation."""
        kept_object(kept, "vocabulary", ["level", "tokens"], ["backwards"])
        level, tokens = kept["level"], kept_texts(kept["tokens"], "vocabulary")
        if level not in LEVELS:
            raise BadInput("its vocabulary is not one of words, characters, subwords or bytes")
        if level == "subwords" and len(tokens) != 1:
            raise BadInput("its subwords are not one tokenizer")
        if level == "bytes" and tokens != tuple(map(chr, range(256))):
            raise BadInput("its bytes are not all bytes in order")
        if type(kept.get("backwards", False)) is not bool:
            raise BadInput("its vocabulary is neither backwards nor forwards")
        return cls(level, tokens, kept.get("backwards", False))


def _split(text: str, level: str) -> list[str]:
    return text.split() if level == "words" else list(text)


def _mark(symbol: int) -> str:
    return "⟨end⟩" if symbol == END else "⟨unknown⟩"


def _tokenizer(text: str) -> Any:
    with needing("a vocabulary of subwords", "tokenizers", "translate"):
        from tokenizers import Tokenizer
    try:
        return Tokenizer.from_str(text)
    except Exception as error:
        raise BadInput(f"its subwords cannot be read: {error}") from None


def _trained(texts: Iterable[str], size: int) -> str:
    """Byte-pair encoding learned from texts, as JSON. Source: Sennrich et al. (2016)."""
    with needing("a vocabulary of subwords", "tokenizers", "translate"):
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, initial_alphabet=alphabet)
    made.train_from_iterator(texts, trainer)
    return json.dumps(json.loads(made.to_str()), sort_keys=True)
