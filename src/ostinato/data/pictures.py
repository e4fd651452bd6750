"""Read pictures, films and their captions from NumPy's files."""

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from .lines import in_columns
from .npz import read_named, read_npy

IMAGES, CLIPS, CAPTIONS = "images", "clips", "captions"
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
    arrays = _read(path, (IMAGES, CAPTIONS))
    return checked_captioned(arrays[IMAGES], arrays[CAPTIONS], str(path))


def read_captioned_clips(path: str | Path) -> tuple[np.ndarray, list[str]]:
    """The `clips` of an `.npz` file, see `checked_clips`, and their `captions`."""
    arrays = _read(path, (CLIPS, CAPTIONS))
    return checked_captioned_clips(arrays[CLIPS], arrays[CAPTIONS], str(path))


def read_clips(path: str | Path | np.ndarray) -> np.ndarray:
    """The clips of an `.npy` file or of an array, one or several, or the `clips` of an `.npz` file.

    Example:
        >>> np.save("clip.npy", np.zeros((5, 8, 8), np.uint8))
        >>> read_clips("clip.npy").shape
        (1, 5, 8, 8, 1)
    """
    return checked_clips(*_read_either(path, CLIPS, "clips"))


def read_pictures(path: str | Path | np.ndarray) -> np.ndarray:
    """The pictures of an `.npy` file or an array, one or several, or the `images` of an `.npz`.

    Example:
        >>> np.save("picture.npy", np.zeros((8, 8, 3), np.uint8))
        >>> read_pictures("picture.npy").shape
        (1, 8, 8, 3)
    """
    return checked_pictures(*_read_either(path, IMAGES, "pictures"))


def checked_captioned(
    images: Any, captions: Any, where: str = "the pictures"
) -> tuple[np.ndarray, list[str]]:
    """Pictures and captions that belong together; raises `BadInput` for what is wrong with them."""
    pictures = checked_pictures(images, where)
    return pictures, checked_captions(captions, len(pictures), "pictures", where)


def checked_captioned_clips(
    images: Any, captions: Any, where: str = "the clips"
) -> tuple[np.ndarray, list[str]]:
    """The same for clips."""
    clips = checked_clips(images, where)
    return clips, checked_captions(captions, len(clips), "clips", where)


def checked_captions(captions: Any, count: int, of: str, where: str) -> list[str]:
    """A caption for each of `count` pictures or clips; raises for what is wrong with them."""
    given = np.asarray(captions)
    if given.ndim == 2 and given.dtype.kind == "U":
        given = np.array(["\t".join(some) for some in given.tolist()])
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "USO"):
        raise BadInput(
            f"{where}: {CAPTIONS} must be texts of shape (N,), got {given.dtype} of shape "
            f"{given.shape}"
        )
    if len(given) != count:
        raise BadInput(f"{where}: there are {count} {of} and {len(given)} captions")
    return [_text(caption, n, where) for n, caption in enumerate(given.tolist())]


def checked_clips(clips: Any, where: str = "the clips") -> np.ndarray:
    """Clips `(N, frames, height, width, channels)` as uint8; see `checked_pictures`.

    Args:
        clips: with 1, 3 or 4 channels, or without that axis; uint8, or floats from 0 to 1.
        where: where they are from, for messages.

    Example:
        >>> checked_clips(np.zeros((2, 5, 8, 8))).shape
        (2, 5, 8, 8, 1)
    """
    array = np.asarray(clips)
    array = array[..., None] if array.ndim == 4 else array
    if array.ndim != 5 or array.shape[4] not in CHANNELS or 0 in array.shape:
        raise BadInput(
            f"{where}: clips must be (N, frames, height, width) or (N, frames, height, width, 3), "
            f"got shape {np.shape(clips)}"
        )
    frames = checked_pictures(array.reshape(-1, *array.shape[2:]), where, "frame")
    return frames.reshape(array.shape)


def checked_pictures(images: Any, where: str = "the pictures", unit: str = "picture") -> np.ndarray:
    """Pictures `(N, height, width, channels)` as uint8.

    Floats must be from 0 to 1; they are scaled to 0 to 255 and rounded.

    Args:
        images: 1, 3 or 4 channels; uint8 or floats.
        where: where they are from, for messages.
        unit: what one of them is.

    Example:
        >>> checked_pictures(np.full((1, 1, 1, 3), 0.5)).ravel()
        array([128, 128, 128], dtype=uint8)
    """
    array = np.asarray(images)
    if array.ndim != 4 or array.shape[3] not in CHANNELS or 0 in array.shape[1:3]:
        raise BadInput(f"{where}: pictures must be (N, height, width, 3), got shape {array.shape}")
    if not len(array):
        raise BadInput(f"{where}: there are no pictures")
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind != "f":
        raise BadInput(f"{where}: {unit}s must be uint8, or floats from 0 to 1, got {array.dtype}")
    good = (array >= 0) & (array <= 1)  # false for NaN
    if not good.all():
        place = np.unravel_index(int(np.argmin(good)), array.shape)
        raise BadInput(
            f"{where}: floats of a {unit} must be from 0 to 1, got {array[place]:g} in {unit} "
            f"{place[0]} at row {place[1]}, column {place[2]}"
        )
    return np.round(array * 255).astype(np.uint8)


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


def _read_either(path: Any, name: str, what: str) -> tuple[np.ndarray, str]:
    """The array of an `.npy` file, or the one of this name of an `.npz` file, and where it is from.

    An array may be given in place of a path. One of three axes is a single picture or clip.
    """
    if not isinstance(path, str | Path):
        where = f"the {what}"
        try:
            array = np.asarray(path)
        except ValueError:
            raise BadInput(f"{where} must be one array; their sizes differ") from None
    else:
        where, suffix = str(path), Path(path).suffix.lower()
        if suffix not in (".npy", ".npz"):
            raise BadInput(f"{what} are read from .npy and .npz files, got {path}")
        array = read_npy(path) if suffix == ".npy" else _read(path, (name,))[name]
    return array[None] if array.ndim == 3 else array, where


def _read(path: str | Path, wanted: tuple[str, ...]) -> dict[str, np.ndarray]:
    def named(files: list[str]) -> dict[str, str]:
        for name in wanted:
            if name not in files:
                raise BadInput(f"{path} has no array {name}; it has {', '.join(files) or 'none'}")
        return {name: name for name in wanted}

    return read_named(path, named, AS_TEXT)
