"""Read texts of one sentence per line, alone or two files side by side."""

import gzip
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from ..errors import BadInput
from .files import check_file

GZIP = b"\x1f\x8b"


def read_utf8(path: str | Path, what: str) -> str:
    """The text of a UTF-8 file, which may be compressed with gzip; an empty one is refused.

    Args:
        path: a regular file.
        what: what it should be, for messages, such as "text file".
    """
    check_file(path, what)
    try:
        raw = Path(path).read_bytes()
        raw = gzip.decompress(raw) if raw.startswith(GZIP) else raw
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if not raw:
        raise BadInput(f"{path} is empty; give a {what}")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{path}, line {line}: not UTF-8, byte 0x{raw[error.start]:02x}") from None


def read_lines(path: str | Path, what: str = "text file") -> list[str]:
    """The lines of a UTF-8 file, which may be compressed (.gz); an empty line is refused.

    Example:
        >>> read_lines("book.txt")[0][:11]
        'A statement'
    """
    text = read_utf8(path, what).removeprefix("\ufeff")
    lines = [line.strip() for line in text.split("\n")]
    if not lines[-1]:
        lines.pop()  # after the last newline
    for number, line in enumerate(lines, 1):
        if not line:
            raise BadInput(f"{path}, line {number} is empty; give a sentence per line")
    return lines


def read_pairs(source: str | Path, target: str | Path) -> tuple[list[str], list[str]]:
    """Two files whose lines belong together."""
    one, two = read_lines(source), read_lines(target)
    if len(one) != len(two):
        longer, shorter = (source, target) if len(one) > len(two) else (target, source)
        raise BadInput(
            f"{source} has {len(one)} lines and {target} {len(two)}: from line "
            f"{min(len(one), len(two)) + 1} on, {longer} has nothing beside it in {shorter}"
        )
    return one, two


def read_table_of_pairs(path: str | Path) -> tuple[list[str], list[str]]:
    """A file of `source<TAB>target` lines."""
    pairs = []
    for number, line in enumerate(read_lines(path), 1):
        pair = line.split("\t")
        if len(pair) != 2 or not all(part.strip() for part in pair):
            raise BadInput(f"{path}, line {number} is not source<TAB>target")
        pairs.append([part.strip() for part in pair])
    one, two = zip(*pairs, strict=True)
    return list(one), list(two)


def given_lines(path: Path | None) -> Iterator[str]:
    """The lines of a file as they come, or those of standard input (`None` or `-`)."""
    if path is not None and str(path) != "-":
        check_file(path)
        yield from _decoded(path)
        return
    try:
        for line in sys.stdin:
            yield line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"standard input is not UTF-8 text: {error.reason}") from None


def _decoded(path: Path) -> Iterator[str]:
    with open(path, "rb") as file:
        for number, raw in enumerate(file, 1):
            try:
                yield raw.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                raise BadInput(f"{path}, line {number}: this is not UTF-8 text") from None
