"""The text of an experiment: the original if the user has it, else an open stand-in.

It is cut to the published number of characters and reduced to the published number of symbols, so
that a network has the published number of parameters. On a text of fewer symbols it has fewer.
"""

import collections
import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

from ..data.datasets import text_path
from ..data.files import check_file
from ..errors import BadInput
from ..files import write_whole

FILE = "corpus.txt"
UNKNOWN = "\N{REPLACEMENT CHARACTER}"


class Prepared(NamedTuple):
    """The task's settings for a text, and a sentence that says which text it is."""

    settings: dict[str, Any]
    words: str


@dataclasses.dataclass(frozen=True)
class Corpus:
    """The text of an experiment.

    Attributes:
        original: the published text, in words.
        stand_in: the data set that is read without `--corpus`.
        parts: characters for training, validation and test.
        symbols: the published size of the vocabulary.
        quick: characters in all with `--quick`.
    """

    original: str
    stand_in: str
    parts: tuple[int, int, int]
    symbols: int
    quick: int = 60_000

    def prepared(self, given: Path | None, folder: Path, quick: bool) -> Prepared:
        """Write the text into the folder of the experiment; `given` is the user's own file."""
        text = _read(self.stand_in, given)
        wanted = self.quick if quick else sum(self.parts)
        text = reduced(text[:wanted], self.symbols)
        if len(text) < 100:
            raise BadInput(f"the corpus has {len(text)} characters; an experiment needs 100")
        path, data = folder / FILE, text.encode()
        if not path.is_file() or path.read_bytes() != data:
            write_whole(path, data)
        split = "/".join(str(100 * part / sum(self.parts)) for part in self.parts)
        which = f"your text ({given})" if given else f"the open stand-in {self.stand_in}"
        words = (
            f"Text: {which}, {len(text):,} characters, {len(set(text))} symbols. Published: "
            f"{self.original}, {sum(self.parts):,} characters, {self.symbols} symbols."
        )
        if len(set(text)) < self.symbols:
            words += " With fewer symbols the networks have fewer parameters than published."
        return Prepared({"file": str(path), "split": split}, words)


def reduced(text: str, symbols: int) -> str:
    """The text with at most so many symbols: the most frequent ones, and one for all others.

    Example:
        >>> reduced("aaabbc", 2)
        'aaa���'
    """
    counts = collections.Counter(text)
    if len(counts) <= symbols:
        return text
    kept = {symbol for symbol, _ in counts.most_common(symbols - 1)}
    return "".join(symbol if symbol in kept else UNKNOWN for symbol in text)


def _read(stand_in: str, given: Path | None) -> str:
    if given is not None:
        check_file(given, "corpus")
    path = text_path(stand_in) if given is None else given
    assert path is not None, stand_in
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BadInput(f"cannot read the corpus {path}: {error.strerror}") from None
