"""Decode symbols into text while they are being generated."""

import codecs
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..data import Vocabulary
from ..data.vocabulary import checked_symbols
from ..errors import BadInput
from ..settings import checked_kind


def opening(vocabulary: Vocabulary) -> np.ndarray:
    """A prompt for text without one: a newline, else a space, else symbol 0."""
    for point in map(ord, "\n "):
        if point in vocabulary.points:
            return np.array([vocabulary.points.index(point)])
    return np.array([0])


class Decoder:
    """Symbols as text, piece by piece; a character of several bytes comes with its last byte.

    Example:
        >>> from ostinato.decoding.text import Decoder
        >>> from ostinato.data import Vocabulary
        >>> decoder = Decoder(Vocabulary.of_bytes())
        >>> decoder.push(np.array([195])), decoder.push(np.array([164])), decoder.end()
        ('', 'ä', '')
    """

    def __init__(self, vocabulary: Vocabulary):
        self.vocabulary = vocabulary
        self._bytes = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, symbols: npt.ArrayLike) -> str:
        """The text of some more symbols."""
        if self.vocabulary.level == "characters":
            return self.vocabulary.decode(symbols)
        checked = checked_symbols(symbols, len(self.vocabulary))
        return self._bytes.decode(checked.astype(np.uint8).tobytes())

    def end(self) -> str:
        """What is left of an incomplete character."""
        return self._bytes.decode(b"", final=True)


class Stop:
    """Holds back the end of a text for as long as it may be the beginning of a text to stop at.

    Attributes:
        reached: whether one of the texts to stop at has come.

    Example:
        >>> from ostinato.decoding.text import Stop
        >>> stop = Stop(["end"])
        >>> stop.push("to the e"), stop.push("nd."), stop.reached
        ('to the ', '', True)
    """

    def __init__(self, stops: Sequence[str]):
        self.stops, self.reached, self._held = stops, False, ""

    def push(self, text: str) -> str:
        """What of the text can be given out."""
        held = self._held + text
        ends = [held.index(stop) for stop in self.stops if stop in held]
        if ends:
            self.reached, self._held = True, ""
            return held[: min(ends)]
        waits = [
            next(n for n in range(len(stop) - 1, -1, -1) if held.endswith(stop[:n]))
            for stop in self.stops
        ]
        cut = len(held) - max(waits, default=0)
        self._held = held[cut:]
        return held[:cut]

    def end(self) -> str:
        """What was held back."""
        held, self._held = self._held, ""
        return held


def as_text(pieces: Iterable[np.ndarray], vocabulary: Vocabulary) -> Iterator[str]:
    """Decode pieces of symbols; see `Decoder`."""
    decoder = Decoder(vocabulary)
    yield from map(decoder.push, pieces)
    if vocabulary.level == "bytes":
        yield decoder.end()


def checked_stop(stop: str | None) -> str | None:
    """A text to stop at, or none."""
    if stop is not None and not checked_kind("stop", stop, str, "a text to stop at"):
        raise BadInput("stop must be a text to stop at; got an empty one")
    return stop


def until(texts: Iterable[str], stop: str | None) -> Iterator[str]:
    """The text up to the first `stop`, if any; it may span pieces and is not part of the result."""
    held = Stop([] if stop is None else [stop])
    for text in texts:
        yield held.push(text)
        if held.reached:
            return
    if stop is not None:
        yield held.end()
