"""What tasks show and how they treat pictures: tables, lines, films side by side, moved pixels."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

SHADES = " ░▒▓█"
WIDEST = 16  # columns of a frame in text
GAP = 1
COMPARED = 256  # pictures that are compared with all others at once


class Picture(NamedTuple):
    """A table of numbers from 0 to 1 with named rows and columns: where a network looks.

    Or it is a picture in the usual sense, whose rows and columns are those of its pixels.

    Attributes:
        title: what it shows, in a few words.
        columns, rows: their names, left to right and top to bottom.
        values: `values[row][column]`; with pixels, `None` is a gap.
        pixels: whether it is a picture in the usual sense.
    """

    title: str
    columns: list[str]
    rows: list[str]
    values: list[list[Any]]
    pixels: bool = False

    def as_json(self) -> dict[str, Any]:
        return {name: x for name, x in self._asdict().items() if name != "pixels" or x}


class Plot(NamedTuple):
    """Lines over a common axis, for the report.

    Attributes:
        name: of its file.
        title: what it shows, in a few words.
        x_title, y_title: of the axes.
        x: positions.
        lines: values at these positions, by name.
    """

    name: str
    title: str
    x_title: str
    y_title: str
    x: list[float]
    lines: Mapping[str, np.ndarray]


def frames_in_text(rows: np.ndarray) -> str:
    """Rows of frames `(rows, frames, height, width, channels)` from 0 to 1, drawn in shades.

    A character stands for a block of pixels, twice as high as wide.

    Example:
        >>> print(frames_in_text(np.linspace(0, 1, 4).reshape(1, 1, 1, 4, 1)))
        | ░▓█|
    """
    grey = rows.mean(axis=-1)
    wide = -(-grey.shape[3] // WIDEST)
    small = _means(_means(grey, 2, min(2 * wide, grey.shape[2])), 3, wide)
    shades = np.array([*SHADES])[np.round(small * (len(SHADES) - 1)).astype(int)]
    return "\n".join(
        "|" + "|".join("".join(frame[y]) for frame in row) + "|"
        for row in shades
        for y in range(row.shape[1])
    )


def _means(values: np.ndarray, axis: int, size: int) -> np.ndarray:
    """Means of so many neighbours along an axis; the last block may have fewer."""
    begins = np.arange(0, values.shape[axis], size)
    counts = np.diff(np.append(begins, values.shape[axis]))
    shape = [1] * values.ndim
    shape[axis] = -1
    return np.add.reduceat(values, begins, axis) / counts.reshape(shape)


def strip(title: str, rows: Mapping[str, np.ndarray]) -> Picture:
    """Named rows of frames `(frames, height, width, channels)` from 0 to 1 as one grey picture.

    Example:
        >>> film = strip("nothing", {"true": np.ones((3, 4, 5, 1)), "drawn": np.ones((2, 4, 5, 1))})
        >>> len(film.rows), len(film.columns), film.rows[0], film.columns[-1]
        (9, 17, 'true', '3')
    """
    most = max(map(len, rows.values()))
    edges, bands, names = ((0, GAP), (0, GAP)), [], []
    for name, row in rows.items():
        grey = np.pad(row.mean(axis=-1), ((0, 0), *edges), constant_values=np.nan)
        grey = np.pad(grey, ((0, most - len(row)), (0, 0), (0, 0)), constant_values=np.nan)
        bands.append(np.concatenate([*grey], axis=1)[:, :-GAP])
        names += [name] * row.shape[1] + [""] * GAP
    wide = row.shape[2]
    columns = [x for n in range(1, most + 1) for x in [str(n)] * wide + [""] * GAP]
    values = np.round(np.concatenate(bands)[:-GAP], 3).astype(object)
    values[values != values] = None
    return Picture(title, columns[:-GAP], names[:-GAP], values.tolist(), pixels=True)


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
    nearest = []
    for begin in range(0, len(pictures), COMPARED):
        some = pictures[begin : begin + COMPARED]
        rows = some.reshape(len(some), -1).astype(np.float32) / 255
        nearest.append(np.argmin(squares - 2 * rows @ known.T, axis=1))
    return np.concatenate(nearest)


def moved(pictures: np.ndarray, down: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Pictures `(height, B, width, ...)`, each moved by so many pixels; edges are repeated.

    Example:
        >>> picture = np.arange(4).reshape(1, 1, 4, 1)
        >>> moved(picture, np.array([0]), np.array([1])).ravel()
        array([0, 0, 1, 2])
    """
    height, count, width = pictures.shape[:3]
    rows = np.clip(np.arange(height)[:, None] - down, 0, height - 1)
    columns = np.clip(np.arange(width)[:, None] - right, 0, width - 1)
    return pictures[rows[:, :, None], np.arange(count)[None, :, None], columns.T[None]]
