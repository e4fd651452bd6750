"""Read a text as symbols: a file, which may be compressed with gzip, or all texts of a folder."""

import codecs
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..errors import BadInput
from ..names import counted
from ..settings import shown
from .files import check_file, opened, unpacked
from .vocabulary import Vocabulary, code_points

PIECE = 1 << 24
DOMAIN_NAMES = ("idna", "punycode")
TEXTS = (".txt", ".text", ".md", ".markdown", ".rst", ".tex")  # what is read of a folder
INVISIBLE = {
    0xFEFF: "a byte-order mark",
    0x200B: "a zero-width space",
    0x0D: "a carriage return (CR)",
}


def read_symbols(
    path: str | Path,
    level: str = "characters",
    encoding: str = "utf-8",
    vocabulary: Vocabulary | None = None,
) -> tuple[np.ndarray, Vocabulary]:
    """The symbols of a text, and their vocabulary.

    A file is decoded in pieces, twice if the vocabulary is not given, so memory use stays near
    the size of the result. The files of a folder follow each other by name, with a newline after
    one that does not end with it.

    Args:
        path: a regular file, or a folder; see `texts_of`.
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
    files = texts_of(path)[0] if os.path.isdir(path) else [path]
    before = [check_file(file) for file in files]
    if not sum(one.st_size for one in before):
        raise BadInput(f"{path} is empty; give a text file")
    try:
        if level == "bytes":
            symbols, vocabulary = _bytes(files), vocabulary or Vocabulary.of_bytes()
        else:
            symbols, vocabulary = _characters(path, files, encoding, vocabulary)
        after = [file.stat() for file in files]
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror or error}") from None
    if [(x.st_size, x.st_mtime_ns) for x in before] != [(x.st_size, x.st_mtime_ns) for x in after]:
        raise BadInput(f"{path} changed while it was being read; try again when it is complete")
    return symbols, vocabulary


def texts_of(folder: Path) -> tuple[list[Path], int]:
    """The text files in a folder and in those within it, by name, and how many others there are.

    Hidden files are others. A text may be compressed: `one.txt.gz`.

    Example:
        >>> _ = [Path("books").mkdir(), Path("books/one.txt").write_text("Once")]
        >>> texts_of(Path("books"))
        ([PosixPath('books/one.txt')], 0)
    """
    every = sorted(Path(where) / name for where, _, names in os.walk(folder) for name in names)
    hidden = {x for x in every if any(part.startswith(".") for part in x.relative_to(folder).parts)}
    texts = [
        x for x in every if x not in hidden and x.name.lower().removesuffix(".gz").endswith(TEXTS)
    ]
    if not texts:
        raise BadInput(f"{folder} has no text files; they are called {', '.join(TEXTS)}")
    if broken := [x for x in texts if len(str(x.relative_to(folder)).splitlines()) > 1]:
        raise BadInput(f"{folder}: a file is called {shown(broken[0].name)}; rename it in one line")
    return texts, len(every) - len(texts)


def notes_on(path: str | Path, vocabulary: Vocabulary) -> tuple[str, ...]:
    """What a reader should know about a text, in sentences: its files, and invisible characters."""
    notes = []
    if os.path.isdir(folder := Path(path)):
        texts, others = texts_of(folder)
        one = f"the one text of {folder} is read"
        many = f"{len(texts):,} files of {folder} are read one after the other, by name"
        notes.append(one if len(texts) == 1 else many)
        if others:
            verb = "is" if others == 1 else "are"
            notes.append(f"{counted(others, 'other file')} there {verb} left out")
    if vocabulary.level == "characters":
        points = {*vocabulary.points}
        notes += [
            f"{words} is read as a character" for n, words in INVISIBLE.items() if n in points
        ]
    return tuple(notes)


def _bytes(files: Sequence[Path]) -> np.ndarray:
    *before, last = map(unpacked, files)
    ended = [x if x.endswith(b"\n") else x + b"\n" for x in before]
    return np.frombuffer(b"".join([*ended, last]), np.uint8)


def _characters(
    path: Path, files: Sequence[Path], encoding: str, known: Vocabulary | None
) -> tuple[np.ndarray, Vocabulary]:
    vocabulary = known
    if vocabulary is None:
        points: set[int] = set()
        for piece in _pieces(files, encoding, advise=True):
            points.update(np.unique(code_points(piece)).tolist())
        if halves := points.intersection(range(0xD800, 0xE000)):
            raise BadInput(
                f"{path} holds U+{min(halves):04X} as {encoding}, which is half of a character; "
                "give another --encoding, or --level bytes"
            )
        vocabulary = Vocabulary(tuple(sorted(points)))
    symbols: list[np.ndarray] = [np.zeros(0, vocabulary.dtype)]
    done = 0
    for piece in _pieces(files, encoding, advise=known is None):
        try:
            symbols.append(vocabulary.encode(piece, done))
        except BadInput as error:
            if known is None:
                raise BadInput(f"{path} changed while it was being read") from None
            raise BadInput(f"{path}: {error}") from None
        done += len(piece)
    return np.concatenate(symbols), vocabulary


def _pieces(files: Sequence[Path], encoding: str, advise: bool) -> Iterator[str]:
    """The text of some files in pieces, each file with a newline at its end but for the last."""
    for n, path in enumerate(files):
        piece = ""
        with opened(path) as file:
            for piece in decoded(file, path, encoding, advise):
                yield piece
        if n + 1 < len(files) and piece and not piece.endswith("\n"):
            yield "\n"


def decoded(file: BinaryIO, where: str | Path, encoding: str, advise: bool) -> Iterator[str]:
    """The text of a file in pieces. With `advise`, errors name the options of `ostinato train`."""
    decoder = _decoder(encoding)
    done = 0
    while True:
        raw = file.read(PIECE)
        try:
            text = decoder.decode(raw, final=not raw)
        except UnicodeError as error:
            tip = "; give its --encoding (for example latin-1), or --level bytes"
            place = _place(error, done, len(raw))
            raise BadInput(
                f"{where} is not {encoding.strip()} text: {place}{tip if advise else ''}"
            ) from None
        if "\0" in text:
            tip = "; use --level bytes for binary files, or give the --encoding of a text"
            raise BadInput(f"{where} holds zero bytes, so it is not a text{tip if advise else ''}")
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
