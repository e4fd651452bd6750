"""CoNLL-U files for tests."""

import gzip
from collections.abc import Iterable
from pathlib import Path

from ostinato.data.conllu import Sentence


def write_conllu(path: str | Path, sentences: Iterable[Sentence]) -> None:
    """Write sentences to a file, compressed with gzip if its name ends with `.gz`."""
    raw = "".join(map(str, sentences)).encode()
    Path(path).write_bytes(gzip.compress(raw) if str(path).endswith(".gz") else raw)
