"""Decode symbols into text while they are being generated."""

import codecs
from collections.abc import Iterable, Iterator

import numpy as np

from ..data import Vocabulary
from ..data.vocabulary import checked_symbols


def opening(vocabulary: Vocabulary) -> np.ndarray:
    """A prompt for text without one: a newline, else a space, else symbol 0."""
    for point in map(ord, "\n "):
        if point in vocabulary.points:
            return np.array([vocabulary.points.index(point)])
    return np.array([0])


def as_text(pieces: Iterable[np.ndarray], vocabulary: Vocabulary) -> Iterator[str]:
    """Decode pieces of symbols; a character of several bytes comes out with its last byte."""
    if vocabulary.level == "characters":
        yield from map(vocabulary.decode, pieces)
        return
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for piece in pieces:
        symbols = checked_symbols(piece, len(vocabulary))
        yield decoder.decode(symbols.astype(np.uint8).tobytes())
    yield decoder.decode(b"", final=True)


def until(texts: Iterable[str], stop: str | None) -> Iterator[str]:
    """The text up to the first `stop`, if any; it may span pieces and is not part of the result."""
    if stop is None:
        yield from texts
        return
    held = ""
    for text in texts:
        held += text
        if stop in held:
            yield held[: held.index(stop)]
            return
        # Hold back what may be the beginning of the stop text.
        wait = next(n for n in range(len(stop) - 1, -1, -1) if held.endswith(stop[:n]))
        yield held[: len(held) - wait]
        held = held[len(held) - wait :]
    yield held
