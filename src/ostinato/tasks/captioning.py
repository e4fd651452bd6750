"""What a trained captioner writes, and what the nearest picture would say."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..data.pictures import read_pictures
from ..data.tokens import Tokens
from ..decoding.sequences import beam_answers
from ..errors import BadInput
from ..wiring.captioner import as_size
from .answering import Answer
from .applying import Applying

TOGETHER = 64  # pictures that are captioned at once
COMPARED = 256  # pictures that are compared with all others at once
LONGER = 8  # symbols that a caption may have more than the longest in training


def apply_to_file(
    network: Any, file: Path | None, artefacts: Mapping[str, Any], how: Applying
) -> Iterator[dict[str, Any]]:
    """The captions of the pictures in a file; see `Task.apply`."""
    if file is None or str(file) == "-":
        raise BadInput("pictures are not read from standard input; give an .npy or .npz file")
    if how.targets is not None:
        raise BadInput("captions are written, not scored; leave out --targets")
    pictures = read_pictures(file)
    check_size(pictures, artefacts, str(file))
    tokens = Tokens.from_json(artefacts["tokens"])
    found = written(network, tokens, pictures, artefacts["longest"] + LONGER, how)
    for number, best in enumerate(found):
        yield {
            "picture": number,
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
    network: Any, tokens: Tokens, pictures: np.ndarray, most: int, how: Applying
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
    for begin in range(0, len(pictures), together):
        block = pictures[begin : begin + together]
        spare = together - len(block)
        padded = np.pad(block, ((0, spare), (0, 0), (0, 0), (0, 0)))
        found = beam_answers(
            network,
            np.moveaxis(padded, 0, 1),
            np.full(together, padded.shape[1], np.int32),
            width=how.beam,
            most=most,
            count=how.n_best,
            penalty=how.penalty,
        )
        for n in range(len(block)):
            symbols, sizes = found.symbols[n], found.lengths[n]
            yield [
                Answer(
                    tokens.decode(symbols[k][: sizes[k]]),
                    float(found.scores[n, k]),
                    bool(found.ended[n, k]),
                    symbols[k][: sizes[k]],
                )
                for k in range(len(symbols))
            ]


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
