"""The mapping between characters or bytes and integer symbols."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..settings import shown
from .artefact_checks import kept_object
from .frames import is_frame


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """The distinct characters of a text, sorted by code point, or the 256 byte values.

    Example:
        >>> v = Vocabulary.of_text("abba")
        >>> v.encode("ab"), v.decode([1, 0])
        (array([0, 1], dtype=uint8), 'ba')
    """

    points: tuple[int, ...]
    level: str = "characters"

    @classmethod
    def of_text(cls, text: str) -> "Vocabulary":
        return cls(tuple(np.unique(code_points(text)).tolist()))

    @classmethod
    def of_bytes(cls) -> "Vocabulary":
        return cls(tuple(range(256)), "bytes")

    @property
    def dtype(self) -> np.dtype:
        """The smallest unsigned integer type that holds every symbol."""
        return np.min_scalar_type(max(len(self) - 1, 0))

    def __len__(self) -> int:
        return len(self.points)

    def encode(self, text: str | bytes, begin: int = 0) -> np.ndarray:
        """The symbols of a text; raises `BadInput` at the first unknown character.

        Args:
            text: the text, or a piece of one.
            begin: the position of its first character in the whole text, for the error message.
        """
        if self.level == "bytes" and isinstance(text, bytes | bytearray | memoryview):
            return np.frombuffer(text, np.uint8)
        if not isinstance(text, str):
            raise BadInput(f"a text must be of type str, got {type(text).__name__}")
        if self.level == "bytes":
            return np.frombuffer(_bytes(text), np.uint8)
        points, known = code_points(text), np.array(self.points, np.uint32)
        symbols = np.searchsorted(known, points)
        strange = np.flatnonzero(known[np.minimum(symbols, len(known) - 1)] != points)
        if strange.size:
            raise BadInput(
                f"the model does not know the character {chr(points[strange[0]])!r} (at position "
                f"{begin + strange[0]}); it knows the {len(self)} characters of its training text"
            )
        return symbols.astype(self.dtype)

    def decode(self, symbols: npt.ArrayLike) -> str:
        """The text for some symbols; bytes that are not UTF-8 become U+FFFD."""
        points = np.array(self.points, np.uint32)[checked_symbols(symbols, len(self))]
        if self.level == "bytes":
            return points.astype(np.uint8).tobytes().decode(errors="replace")
        return points.astype("<u4").tobytes().decode("utf-32-le", errors="surrogatepass")

    def as_json(self) -> dict:
        return {"level": self.level, "points": list(self.points)}

    @classmethod
    def from_json(cls, kept: dict) -> "Vocabulary":
        """The inverse of `as_json`, with validation."""
        kept_object(kept, "vocabulary", ["points", "level"])
        points, level = kept["points"], kept["level"]
        if level == "bytes" and points == list(range(256)):
            return cls.of_bytes()
        known = isinstance(points, list) and all(
            type(x) is int and 0 <= x < 0x110000 for x in points
        )
        if level != "characters" or not known or sorted(set(points)) != points:
            raise BadInput("its vocabulary is not one of characters in order, or of bytes")
        return cls(tuple(points), level)


def checked_symbols(symbols: npt.ArrayLike, count: int) -> np.ndarray:
    """Symbols as whole numbers below `count`; raises for any other.

    Example:
        >>> checked_symbols([0, 4], 5)
        array([0, 4])
        >>> checked_symbols([0, -1], 5)
        Traceback (most recent call last):
        ostinato.errors.BadInput: a symbol is a whole number from 0 to 4, got -1
    """
    array = np.asarray(symbols)
    if not array.size:
        return np.zeros(array.shape, np.int64)
    strange = array if array.dtype.kind not in "iu" else array[(array < 0) | (array >= count)]
    if strange.size:
        got = f"{strange.flat[0]!s:.40}"
        raise BadInput(f"a symbol is a whole number from 0 to {count - 1}, got {got}")
    return array.astype(np.int64)


def checked_texts(given: Any, what: str, kinds: Any = str) -> list[str]:
    """Several texts; raises for a single one, and for what is no text.

    Example:
        >>> checked_texts("one", "sources")
        Traceback (most recent call last):
        ostinato.errors.BadInput: sources must be a list of texts, got 'one'
    """
    listed = given.tolist() if isinstance(given, np.ndarray) else given
    if is_frame(given):  # a column of pandas, Polars or Arrow
        cells = np.asarray(given, object)
        if cells.ndim > 1:
            raise BadInput(
                f"{what} must be a list of texts, got a table of {cells.shape[1]} columns; give "
                "the column with the texts"
            )
        listed = cells.tolist()
    if not isinstance(listed, Sequence) or isinstance(listed, str | bytes):
        raise BadInput(f"{what} must be a list of texts, got {shown(given)}")
    for n, one in enumerate(listed):
        if not isinstance(one, kinds):
            raise BadInput(f"{what} must be a list of texts, got {shown(one)} at place {n}")
    return [*map(str, listed)]


def _bytes(text: str) -> bytes:
    """Encode as UTF-8, keeping bytes that Python decoded with `surrogateescape`."""
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError as error:
        half = ord(text[error.start])
        raise BadInput(
            f"U+{half:04X} (at position {error.start}) is half of a character, which has no bytes"
        ) from None


def code_points(text: str) -> np.ndarray:
    """The code point of every character."""
    return np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), "<u4")
