"""Word vectors that the network of a task starts from: settings, and how they are read."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..data.word_vectors import StartVectors
from ..errors import BadInput
from ..settings import setting
from .file_task import FileSettings

VECTORS = "word vectors to start from: a text file of GloVe, word2vec or ostinato vectors"
FREEZE = "do not train the given word vectors"


@dataclasses.dataclass(frozen=True)
class VectorSettings(FileSettings):
    """The settings of a task on a file whose words may have vectors."""

    vectors: str | None = setting(None, VECTORS)
    freeze_vectors: bool = setting(False, FREEZE)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_freeze(self.freeze_vectors, self.vectors)


def check_freeze(freeze: bool, *paths: str | None) -> None:
    """Refuse to freeze vectors that are not given."""
    if freeze and not any(paths):
        raise BadInput("freeze_vectors needs vectors: only given ones are left as they are")


def read_start(
    path: str | None, level: str, words: Sequence[str], first: int
) -> StartVectors | None:
    """The vectors of a file for the words of a vocabulary; `None` without a file.

    Args:
        path: the file.
        level: what a symbol is, which must be words.
        words: the vocabulary.
        first: the symbol of its first word.
    """
    if path is None:
        return None
    if level != "words":
        raise BadInput(f"vectors are of words, and the symbols are {level}; give --level words")
    return StartVectors.read(path, words, first)


def model_numbers(start: StartVectors | None, size: int, settings: Any) -> dict[str, Any]:
    """The numbers of `Task.model` for an embedding that is of this size without given vectors."""
    if start is None:
        return {"embedding": size}
    fixed = {"fixed": True} if settings.freeze_vectors else {}
    return {"embedding": start.vectors.shape[1], **fixed}
