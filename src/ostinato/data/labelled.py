"""Read texts with a label each: a file of lines `label<TAB>text`."""

import gzip
import io
import zlib
from collections.abc import Iterable
from pathlib import Path

from ..errors import BadInput
from .files import check_file

GZIP = b"\x1f\x8b"


def read_labelled(path: str | Path) -> tuple[list[str], list[str]]:
    """The texts and the labels of a file, which may be compressed with gzip.

    Example:
        >>> from pathlib import Path
        >>> from ostinato.data.labelled import read_labelled
        >>> _ = Path("moods.tsv").write_text("good\\tWhat a day\\nbad\\tOh no\\n")
        >>> read_labelled("moods.tsv")
        (['What a day', 'Oh no'], ['good', 'bad'])
    """
    check_file(path, "file of lines label<TAB>text")
    try:
        raw = Path(path).read_bytes()
        raw = gzip.decompress(raw) if raw.startswith(GZIP) else raw
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"cannot read {path}: {error}") from None
    if not raw:
        raise BadInput(f"{path} is empty; give lines label<TAB>text")
    try:
        return labelled(io.StringIO(raw.decode("utf-8")), str(path))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{path}, line {line}: not UTF-8, byte 0x{raw[error.start]:02x}") from None


def labelled(lines: Iterable[str], where: str) -> tuple[list[str], list[str]]:
    """The texts and the labels of some lines."""
    texts, labels = [], []
    for number, line in enumerate(lines, 1):
        label, tab, text = line.rstrip("\r\n").partition("\t")
        if not tab:
            what = "an empty line" if not label.strip() else "no tab"
            raise BadInput(f"{where}, line {number}: {what}; a line is label<TAB>text")
        if not label.strip() or not text.strip():
            what = "text" if label.strip() else "label"
            raise BadInput(f"{where}, line {number}: the {what} is empty")
        labels.append(label.strip())
        texts.append(text)
    return texts, labels
