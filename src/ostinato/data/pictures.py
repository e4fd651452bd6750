"""Read pictures and their captions from NumPy's files."""

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from .lines import in_columns
from .npz import read_named, read_npy

IMAGES, CAPTIONS = "images", "captions"
AS_TEXT = "save them as text: np.array(captions, str)"
CHANNELS = (1, 3, 4)


def read_captioned(path: str | Path) -> tuple[np.ndarray, list[str]]:
    """The pictures `(N, height, width, channels)` of an `.npz` file, uint8, and their captions.

    The arrays are `images` and `captions`; see `checked_pictures`. Several captions of a picture
    are a row of a table `(N, count)`, or have tabs between; they are given with tabs between.

    Example:
        >>> images = np.zeros((2, 8, 8, 3), np.uint8)
        >>> np.savez("pictures.npz", images=images, captions=["a black cat", "night"])
        >>> images, captions = read_captioned("pictures.npz")
        >>> images.shape, captions
        ((2, 8, 8, 3), ['a black cat', 'night'])
    """
    found = _read(path, (IMAGES, CAPTIONS))
    return checked_captioned(found[IMAGES], found[CAPTIONS], str(path))


def read_pictures(path: str | Path) -> np.ndarray:
    """The pictures of an `.npy` file, one or several, or the `images` of an `.npz` file.

    Example:
        >>> np.save("picture.npy", np.zeros((8, 8, 3), np.uint8))
        >>> read_pictures("picture.npy").shape
        (1, 8, 8, 3)
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (".npy", ".npz"):
        raise BadInput(f"pictures are read from .npy and .npz files, got {path}")
    found = read_npy(path) if suffix == ".npy" else _read(path, (IMAGES,))[IMAGES]
    return checked_pictures(found[None] if found.ndim == 3 else found, str(path))


def checked_captioned(
    images: Any, captions: Any, where: str = "the pictures"
) -> tuple[np.ndarray, list[str]]:
    """Pictures and captions that belong together; raises `BadInput` for what is wrong with them."""
    pictures = checked_pictures(images, where)
    given = np.asarray(captions)
    if given.ndim == 2 and given.dtype.kind == "U":
        given = np.array(["\t".join(some) for some in given.tolist()])
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "USO"):
        raise BadInput(
            f"{where}: {CAPTIONS} must be texts of shape (N,), got {given.dtype} of shape "
            f"{given.shape}"
        )
    if len(given) != len(pictures):
        raise BadInput(f"{where}: there are {len(pictures)} pictures and {len(given)} captions")
    texts = [_text(caption, n, where) for n, caption in enumerate(given.tolist())]
    return pictures, texts


def checked_pictures(images: Any, where: str = "the pictures") -> np.ndarray:
    """Pictures `(N, height, width, channels)` as uint8.

    Floats must be from 0 to 1; they are scaled to 0 to 255 and rounded.

    Args:
        images: 1, 3 or 4 channels; uint8 or floats.
        where: where they are from, for messages.

    Example:
        >>> checked_pictures(np.full((1, 1, 1, 3), 0.5)).ravel()
        array([128, 128, 128], dtype=uint8)
    """
    found = np.asarray(images)
    if found.ndim != 4 or found.shape[3] not in CHANNELS or 0 in found.shape[1:3]:
        raise BadInput(f"{where}: pictures must be (N, height, width, 3), got shape {found.shape}")
    if not len(found):
        raise BadInput(f"{where}: there are no pictures")
    if found.dtype == np.uint8:
        return found
    if found.dtype.kind != "f":
        raise BadInput(f"{where}: pictures must be uint8, or floats from 0 to 1, got {found.dtype}")
    good = (found >= 0) & (found <= 1)  # false for NaN
    if not good.all():
        place = np.unravel_index(int(np.argmin(good)), found.shape)
        raise BadInput(
            f"{where}: floats of a picture must be from 0 to 1, got {found[place]:g} in picture "
            f"{place[0]} at row {place[1]}, column {place[2]}"
        )
    return np.round(found * 255).astype(np.uint8)


def _text(caption: Any, number: int, where: str) -> str:
    """A caption with single spaces between its words; of several, with tabs between them."""
    if isinstance(caption, bytes):
        try:
            caption = caption.decode("utf-8")
        except UnicodeDecodeError:
            raise BadInput(f"{where}: caption {number} is not UTF-8 text") from None
    if not isinstance(caption, str):
        raise BadInput(f"{where}: caption {number} is not a text, got {caption!r:.40}")
    captions = [" ".join(one.split()) for one in in_columns(caption)]
    if not captions:
        raise BadInput(f"{where}: caption {number} is empty")
    return "\t".join(captions)


def _read(path: str | Path, wanted: tuple[str, ...]) -> dict[str, np.ndarray]:
    def named(files: list[str]) -> dict[str, str]:
        for name in wanted:
            if name not in files:
                raise BadInput(f"{path} has no array {name}; it has {', '.join(files) or 'none'}")
        return {name: name for name in wanted}

    return read_named(path, named, AS_TEXT)
