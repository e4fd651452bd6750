"""Read a text file as symbols."""

import codecs
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..errors import BadInput
from ..settings import shown
from .files import check_file
from .vocabulary import Vocabulary, code_points

PIECE = 1 << 24
DOMAIN_NAMES = ("idna", "punycode")


def read_symbols(
    path: str | Path,
    level: str = "characters",
    encoding: str = "utf-8",
    vocabulary: Vocabulary | None = None,
) -> tuple[np.ndarray, Vocabulary]:
    """The symbols of a text file, and their vocabulary.

    The file is decoded in pieces, twice if the vocabulary is not given, so memory use stays near
    the size of the result.

    Args:
        path: a regular file.
        level: "characters" or "bytes".
        encoding: a text encoding known to Python.
        vocabulary: that of a trained network, which must contain every character of the file; by
            default the characters of the file.

    Returns:
        The symbols as an array of the smallest unsigned integer type, and the vocabulary.

    Example:
        >>> symbols, vocabulary = read_symbols("book.txt")
        >>> vocabulary.decode(symbols[:11])
        'A statement'
    """
    path = Path(path)
    before = check_file(path)
    if before.st_size == 0:
        raise BadInput(f"{path} is empty; give a text file")
    try:
        if level == "bytes":
            symbols, vocabulary = np.fromfile(path, np.uint8), vocabulary or Vocabulary.of_bytes()
        else:
            symbols, vocabulary = _characters(path, encoding, vocabulary)
        after = path.stat()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise BadInput(f"{path} changed while it was being read; try again when it is complete")
    return symbols, vocabulary


def _characters(
    path: Path, encoding: str, known: Vocabulary | None
) -> tuple[np.ndarray, Vocabulary]:
    vocabulary = known
    if vocabulary is None:
        points: set[int] = set()
        for piece in _pieces(path, encoding, advise=True):
            points.update(np.unique(code_points(piece)).tolist())
        if halves := points.intersection(range(0xD800, 0xE000)):
            raise BadInput(
                f"{path} holds U+{min(halves):04X} as {encoding}, which is half of a character; "
                "give another --encoding, or --level bytes"
            )
        vocabulary = Vocabulary(tuple(sorted(points)))
    symbols: list[np.ndarray] = [np.zeros(0, vocabulary.dtype)]
    done = 0
    for piece in _pieces(path, encoding, advise=known is None):
        try:
            symbols.append(vocabulary.encode(piece, done))
        except BadInput as error:
            if known is None:
                raise BadInput(f"{path} changed while it was being read") from None
            raise BadInput(f"{path}: {error}") from None
        done += len(piece)
    return np.concatenate(symbols), vocabulary


def _pieces(path: Path, encoding: str, advise: bool) -> Iterator[str]:
    """The text of a file in pieces. With `advise`, errors name the options of `ostinato train`."""
    decoder = _decoder(encoding)
    done = 0
    with open(path, "rb") as file:
        while True:
            raw = file.read(PIECE)
            try:
                text = decoder.decode(raw, final=not raw)
            except UnicodeError as error:
                tip = "; give its --encoding (for example latin-1), or --level bytes"
                where = _place(error, done, len(raw))
                raise BadInput(
                    f"{path} is not {encoding.strip()} text: {where}{tip if advise else ''}"
                ) from None
            if "\0" in text:
                tip = "; use --level bytes for binary files, or give the --encoding of a text"
                raise BadInput(
                    f"{path} holds zero bytes, so it is not a text{tip if advise else ''}"
                )
            if text:
                yield text
            if not raw:
                return
            done += len(raw)


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    try:
        "".encode(encoding)  # raises for codecs that are not text encodings, such as base64
        codec = codecs.lookup(encoding)
        if codec.name in DOMAIN_NAMES:
            raise BadInput(f"the encoding {encoding} is for domain names; try utf-8 or latin-1")
        return codecs.getincrementaldecoder(encoding)()
    except BadInput:
        raise
    except (LookupError, ValueError):  # "undefined" and malformed names raise ValueError
        raise BadInput(f"there is no encoding {shown(encoding)}; try utf-8 or latin-1") from None


def _place(error: UnicodeError, done: int, size: int) -> str:
    if not isinstance(error, UnicodeDecodeError):
        return str(error)  # for example that UTF-16 does not start with a byte-order mark
    place = done + error.start - (len(error.object) - size)
    byte = error.object[error.start : error.start + 1].hex()
    return f"byte 0x{byte} at position {place}"
