"""Frames side by side: in text, and as one picture."""

from collections.abc import Mapping

import numpy as np

from ..task import Picture

SHADES = " ░▒▓█"
WIDEST = 16  # columns of a frame in text
GAP = 1


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
