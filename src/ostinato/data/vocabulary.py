"""The mapping between characters or bytes and integer symbols."""

import dataclasses

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from .artefact_checks import kept_object


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
        found, known = code_points(text), np.array(self.points, np.uint32)
        symbols = np.searchsorted(known, found)
        strange = np.flatnonzero(known[np.minimum(symbols, len(known) - 1)] != found)
        if strange.size:
            raise BadInput(
                f"the model does not know the character {chr(found[strange[0]])!r} (at position "
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
    def from_json(cls, found: dict) -> "Vocabulary":
        """The inverse of `as_json`, with validation."""
        kept_object(found, "vocabulary", ["points", "level"])
        points, level = found["points"], found["level"]
        if level == "bytes" and points == list(range(256)):
            return cls.of_bytes()
        known = isinstance(points, list) and all(
            type(x) is int and 0 <= x < 0x110000 for x in points
        )
        if level != "characters" or not known or sorted(set(points)) != points:
            raise ValueError("its vocabulary is not one of characters in order, or of bytes")
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
    found = np.asarray(symbols)
    if not found.size:
        return np.zeros(found.shape, np.int64)
    strange = found if found.dtype.kind not in "iu" else found[(found < 0) | (found >= count)]
    if strange.size:
        got = f"{strange.flat[0]!s:.40}"
        raise BadInput(f"a symbol is a whole number from 0 to {count - 1}, got {got}")
    return found.astype(np.int64)


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
