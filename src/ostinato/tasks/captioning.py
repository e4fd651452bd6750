"""What a trained captioner writes, and what the nearest picture would say."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..data.pictures import read_pictures
from ..data.tokens import Tokens
from ..errors import BadInput
from ..progress import each
from ..wiring.captioner import as_size
from .applying import ApplyOptions
from .write_answers import Answer, found_answers

TOGETHER = 64  # pictures that are captioned at once
COMPARED = 256  # pictures that are compared with all others at once
LONGER = 8  # symbols that a caption may have more than the longest in training


def apply_to_file(network: Any, how: ApplyOptions) -> Iterator[dict[str, Any]]:
    """The captions of the pictures in a file; see `Task.apply`."""
    file, artefacts = how.given_file("an .npy or .npz file of pictures"), how.artefacts
    pictures = read_pictures(file)
    check_size(pictures, artefacts, str(file))
    tokens = Tokens.from_json(artefacts["tokens"])
    found = written(network, tokens, pictures, artefacts["longest"] + LONGER, how)
    for number, best in enumerate(found):
        yield {
            "number": number,
            "text": best[0].text,
            "answers": [{"text": a.text, "score": a.score, "ended": a.ended} for a in best],
        }


def check_size(pictures: np.ndarray, artefacts: Mapping[str, Any], where: str) -> None:
    """Refuse pictures of another size than in training."""
    known = artefacts["picture"]
    if [*pictures.shape[1:]] != known:
        raise BadInput(
            f"{where}: the pictures have {as_size(pictures.shape[1:])}; the model reads "
            f"{as_size(known)}"
        )


def written(
    network: Any, tokens: Tokens, pictures: np.ndarray, most: int, how: ApplyOptions
) -> Iterator[list[Answer]]:
    """The best captions of each picture.

    Args:
        network: a trained `Captioner`.
        tokens: its vocabulary.
        pictures: `(N, height, width, channels)`.
        most: the largest number of symbols of a caption, with its end.
        how: the beam, and how many captions.
    """
    together = min(TOGETHER, len(pictures))
    blocks = [pictures[begin : begin + together] for begin in range(0, len(pictures), together)]
    for block in each(blocks, how.report, "describing the pictures", len(pictures), len):
        spare = together - len(block)
        padded = np.pad(block, ((0, spare), (0, 0), (0, 0), (0, 0)))
        lengths = np.full(together, padded.shape[1], np.int32)
        found = found_answers(network, np.moveaxis(padded, 0, 1), lengths, most, tokens, how)
        yield from found[: len(block)]


def nearest(pictures: np.ndarray, among: np.ndarray) -> np.ndarray:
    """For each picture `(N, ...)`, the number of the nearest of `among` `(M, ...)`, by pixels.

    The distance is Euclidean, over all pixels and channels; of equally near ones the first.

    Example:
        >>> among = np.array([[[[0]]], [[[100]]], [[[200]]]], np.uint8)
        >>> nearest(np.array([[[[140]]], [[[160]]]], np.uint8), among)
        array([1, 2])
    """
    known = among.reshape(len(among), -1).astype(np.float32) / 255
    squares = np.sum(known**2, axis=1)
    found = []
    for begin in range(0, len(pictures), COMPARED):
        some = pictures[begin : begin + COMPARED]
        rows = some.reshape(len(some), -1).astype(np.float32) / 255
        found.append(np.argmin(squares - 2 * rows @ known.T, axis=1))
    return np.concatenate(found)


def moved(pictures: np.ndarray, down: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Pictures `(height, B, width, channels)`, each moved by so many pixels; edges are repeated.

    Example:
        >>> picture = np.arange(4).reshape(1, 1, 4, 1)
        >>> moved(picture, np.array([0]), np.array([1])).ravel()
        array([0, 0, 1, 2])
    """
    height, count, width, _ = pictures.shape
    rows = np.clip(np.arange(height)[:, None] - down, 0, height - 1)
    columns = np.clip(np.arange(width)[:, None] - right, 0, width - 1)
    return pictures[rows[:, :, None], np.arange(count)[None, :, None], columns.T[None]]
