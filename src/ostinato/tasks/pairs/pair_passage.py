"""Pairs as a passage to look at from inside: the decoder while it writes each target."""

from collections.abc import Sequence

import numpy as np

from ...data import Batch
from ...data.padding import columns, multiple_above
from ...data.tokens import END, Tokens
from ..framing import Written
from ..text.passages import UNKNOWN, SeparatePassage

ROUND = 16  # steps by which padded sequences grow, so that there are few compilations


class PairPassage(SeparatePassage):
    """Sources, each before its target, of which a decoder predicts the next symbol.

    The first piece of a pair is the whole source, which the encoder reads; then come the symbols of
    the target and its end, a newline. States are those of the decoder after it has read a piece; it
    does not read the end.

    Example:
        >>> from ostinato.tasks import Pairs
        >>> task = Pairs.of_texts(["one two", "two"] * 20, ["eins zwei", "zwei"] * 20)
        >>> task.passage("test").pieces[:4]
        ['one two → ', 'eins ', 'zwei ', '\\n']
    """

    ahead = 1

    def __init__(
        self,
        texts: Sequence[str],
        sources: Sequence[np.ndarray],
        targets: Sequence[np.ndarray],
        tokens: Tokens,
    ):
        """
        Args:
            texts: the sources, to be shown.
            sources: their symbols, with ends.
            targets: symbols with ends.
            tokens: those of the targets.
        """
        self.texts, self.sources, self.written, self.tokens = texts, sources, targets, tokens
        self.names = tokens.pieces(range(len(tokens)))
        self.unit = "symbol" if tokens.level == "subwords" else tokens.level.removesuffix("s")
        joint = " " if tokens.level == "words" else ""
        self.pieces = [
            piece
            for text, symbols in zip(texts, targets, strict=True)
            for piece in (
                f"{text} → ",
                *("\n" if n == END else f"{self.names[n]}{joint}" for n in symbols),
            )
        ]
        self.targets = np.concatenate([np.append(UNKNOWN, symbols) for symbols in targets])
        self.ends = np.cumsum([len(symbols) + 1 for symbols in targets])

    def only(self, count: int) -> "PairPassage":
        some = slice(count)
        return PairPassage(self.texts[some], self.sources[some], self.written[some], self.tokens)

    def batch(self, start: int, stop: int) -> Batch:
        sources, targets = self.sources[start:stop], self.written[start:stop]
        read, steps = (multiple_above(max(map(len, x)), ROUND) for x in (sources, targets))
        return Written.batch(*columns(sources, read), targets, steps)
