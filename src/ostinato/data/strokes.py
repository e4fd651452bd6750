"""Pen strokes: drawings as lists of strokes, and the files that hold them.

A drawing is a list of strokes, and a stroke an array `(n, 2)` of x and y, or `(n, 3)` with the time
as well; y points up. Between two strokes the pen is lifted. A network reads the steps of the pen,
evenly spaced along its path (`pen_steps`).
"""

import json
import math
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from ..settings import shown
from .files import check_file, check_unpacked
from .lines import read_utf8
from .npz import NUMBERS, read_named

Drawing = list[np.ndarray]
SPACING = 0.12  # of the height of the writing
FLAT = 0.25  # writing that is wider than 1 / FLAT times its height counts as higher
INPUTS = 3
POINTS = 40  # of a stored character
FARTHEST = 1e100  # a coordinate; squares of larger ones overflow


def checked_drawing(strokes: Any, where: str = "the drawing") -> Drawing:
    """A drawing in float64; raises unless it is a list of strokes of finite numbers.

    Example:
        >>> [stroke.shape for stroke in checked_drawing([[[0, 0], [1, 1]], [[0, 1], [1, 0]]])]
        [(2, 2), (2, 2)]
    """
    if not isinstance(strokes, list | tuple) or not len(strokes):
        raise BadInput(f"{where} must be a list of at least one stroke, got {shown(strokes)}")
    checked = []
    for n, stroke in enumerate(strokes):
        try:
            points = np.asarray(stroke)
        except (TypeError, ValueError):
            points = np.asarray(None)
        if points.size and points.dtype.kind not in NUMBERS:
            raise BadInput(f"{where}: stroke {n} is not a list of points [x, y]")
        if points.ndim != 2 or points.shape[1] not in (2, 3) or not len(points):
            raise BadInput(
                f"{where}: stroke {n} must be (n, 2), x and y, or (n, 3), x, y and time, with at "
                f"least one point; got shape {points.shape}"
            )
        points = points.astype(float)
        near = (np.abs(points) <= FARTHEST).all(axis=1)  # false for NaN
        if not near.all():
            step = int(np.argmin(near))
            what = "is not finite" if not np.isfinite(points[step]).all() else "is too far away"
            raise BadInput(f"{where}: point {step} of stroke {n} {what}")
        checked.append(points)
    if sum(map(len, checked)) < 2:
        raise BadInput(f"{where} has one point only; it takes at least two")
    if not np.ptp(np.concatenate([points[:, :2] for points in checked]), axis=0).any():
        raise BadInput(f"{where} is a single point")
    return checked


def joined(drawing: Drawing) -> tuple[np.ndarray, np.ndarray]:
    """The points `(n, 2)` of all strokes, and `(n,)` whether the pen was up on the way to each.

    Example:
        >>> points, up = joined([np.zeros((2, 2)), np.ones((3, 2))])
        >>> up.tolist()
        [False, False, True, False, False]
    """
    up = np.concatenate([np.arange(len(stroke)) == 0 for stroke in drawing])
    up[0] = False
    return np.concatenate([stroke[:, :2] for stroke in drawing]).astype(float), up


def read_drawings(path: str | Path | Sequence[Any]) -> list[Drawing]:
    """The drawings in a file, or those of a list, checked.

        .jsonl    a drawing per line, `[[[x, y], ...], ...]` or `{"strokes": [...]}`
        .npz      `strokes` `(N, T, 3)`: x, y, and 1 where a new stroke begins; and perhaps
                  `lengths` `(N,)`, the valid points of each

    Example:
        >>> _ = Path("cross.jsonl").write_text("[[[0, 0], [1, 1]], [[0, 1], [1, 0]]]\\n")
        >>> [len(drawing) for drawing in read_drawings("cross.jsonl")]
        [2]
    """
    if not isinstance(path, str | Path):
        if not isinstance(path, Sequence) or not path:
            raise BadInput(f"drawings must be a list of at least one drawing, got {shown(path)}")
        return [checked_drawing(one, f"drawing {n}") for n, one in enumerate(path)]
    path = Path(path)
    check_file(path, "file of strokes")
    drawings = _from_npz(path) if path.suffix.lower() == ".npz" else _from_lines(path)
    if not drawings:
        raise BadInput(f"{path} has no drawings")
    return drawings


def _from_lines(path: Path) -> list[Drawing]:
    drawings = []
    lines = read_utf8(path, "file of strokes, a line of JSON per drawing").removesuffix("\n")
    for number, line in enumerate(lines.split("\n"), 1):
        where = f"{path}, line {number}"
        try:
            words = json.loads(line)
        except (ValueError, RecursionError):
            raise BadInput(f"{where} is not JSON: {shown(line)}") from None
        drawings.append(
            checked_drawing(words.get("strokes") if isinstance(words, dict) else words, where)
        )
    return drawings


def _from_npz(path: Path) -> list[Drawing]:
    arrays = read_named(
        path, lambda files: {name: name for name in ("strokes", "lengths") if name in files}
    )
    strokes = arrays.get("strokes", np.zeros(0))
    if strokes.ndim != 3 or strokes.shape[2] != 3 or strokes.dtype.kind not in NUMBERS:
        raise BadInput(
            f"{path} must have an array strokes (N, T, 3) of x, y and 1 where a stroke begins, "
            f"got {strokes.dtype} of shape {strokes.shape}"
        )
    count, steps = strokes.shape[:2]
    lengths = arrays.get("lengths", np.full(count, steps))
    wrong = lengths.shape != (count,) or lengths.dtype.kind not in "iu"
    if wrong or (count and not 1 <= lengths.min() <= lengths.max() <= steps):
        raise BadInput(f"{path}: lengths must be {count} whole numbers from 1 to {steps}")
    drawings = []
    for n, (points, length) in enumerate(zip(strokes, lengths, strict=True)):
        begins = np.flatnonzero(points[:length, 2] > 0)
        pieces = np.split(points[:length, :2], begins[begins > 0])
        drawings.append(checked_drawing(pieces, f"{path}, drawing {n}"))
    return drawings


def read_omniglot(path: str | Path, alphabet: str) -> dict[int, dict[int, Drawing]]:
    """The drawings of an alphabet in a stroke archive of Omniglot.

    The archive has a file `.../ALPHABET/characterNN/ID_DD.txt` for each character NN and drawer
    DD: lines `x,y,t`, and BREAK after each stroke.

    Source: Lake, Salakhutdinov and Tenenbaum (2015), Human-level concept learning through
    probabilistic program induction.

    Args:
        path: for example `strokes_background_small1.zip`.
        alphabet: for example `"Latin"`.

    Returns:
        By drawer and by character, both from 1; strokes `(n, 3)` of x, y and milliseconds.
    """
    check_file(path, "zip archive of strokes")
    drawings: dict[int, dict[int, Drawing]] = {}
    alphabets: set[str] = set()
    try:
        with zipfile.ZipFile(path) as archive:
            check_unpacked(path, sum(entry.file_size for entry in archive.infolist()))
            for name in sorted(archive.namelist()):
                parts = name.split("/")
                if len(parts) != 4 or parts[0] == "__MACOSX" or not name.endswith(".txt"):
                    continue
                alphabets.add(parts[1])
                if parts[1] == alphabet:
                    text = archive.read(name).decode("ascii", "replace")
                    character = int(parts[2].removeprefix("character"))
                    drawer = int(parts[3].removesuffix(".txt").split("_")[1])
                    drawing = _strokes(text, f"{path}: {name}")
                    drawings.setdefault(drawer, {})[character] = drawing
    except BadInput:
        raise
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError) as error:
        raise BadInput(f"{path} cannot be unpacked ({error}); get it again") from None
    except (ValueError, IndexError):
        raise BadInput(f"{path}: {name} is not named ALPHABET/characterNN/ID_DD.txt") from None
    if not drawings:
        known = ", ".join(sorted(alphabets)) or "none"
        raise BadInput(f"{path} has no alphabet {shown(alphabet)}; it has {known}")
    return drawings


def _strokes(text: str, where: str) -> Drawing:
    """The strokes of one file of Omniglot."""
    strokes: list[list[list[float]]] = [[]]
    for number, line in enumerate(text.split("\n"), 1):
        if line == "BREAK":
            strokes.append([])
        elif line and line != "START":
            try:
                x, y, time = map(float, line.split(","))
            except ValueError:
                raise BadInput(f"{where}, line {number} is not x,y,t: {shown(line)}") from None
            strokes[-1].append([x, y, time])
    return checked_drawing([stroke for stroke in strokes if stroke], where)


def pen_steps(
    points: np.ndarray, up: np.ndarray, max_steps: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The features of some drawings: dx, dy, and the share of the step with the pen up.

    A drawing is scaled to a height of 1 and divided into equal steps of at most `SPACING` along
    its path; the way from one stroke to the next, through the air, counts as one step. dx and dy
    are in units of `SPACING`. So size and speed of the writing do not matter.

    Args:
        points: `(B, n, 2)`, each row padded by its last point.
        up: booleans `(B, n)`, whether the pen was up on the way to each point.
        max_steps: the largest number of steps; longer drawings are divided more coarsely.

    Returns:
        Features `(T, B, 3)` in float32, zero after the end, and lengths `(B,)` in int32. T is
        `max_steps`, or else the number of steps of the longest.

    Example:
        >>> xs, lengths = pen_steps(np.array([[[0, 0], [0, 0.6], [0, 0]]]), np.zeros((1, 3), bool))
        >>> xs.shape, lengths.tolist(), bool(np.isclose(xs[0, 0, 1], 2 / 17 / SPACING))
        ((17, 1, 3), [17], True)
    """
    low, high = points.min(axis=1), points.max(axis=1)
    width, height = (high - low).T
    scale = np.maximum(height, FLAT * width)
    if not (scale > 0).all():
        raise BadInput(f"drawing {int(np.argmin(scale > 0))} is a single point")
    points = (points - low[:, None]) / scale[:, None, None]
    moved = np.linalg.norm(np.diff(points, axis=1), axis=-1)
    air = up[:, 1:]
    along = _added(np.where(air, SPACING, moved))
    lifted = _added(np.where(air, SPACING, 0.0))
    total = along[:, -1]
    counts = np.maximum(np.ceil(total / SPACING - 1e-9), 1).astype(int)
    counts = counts if max_steps is None else np.minimum(counts, max_steps)
    steps = int(counts.max()) if max_steps is None else max_steps
    places = np.minimum(np.arange(steps + 1), counts[:, None]) * (total / counts)[:, None]
    # All rows are interpolated at once, one after the other on a common axis.
    begins = np.arange(len(points))[:, None] * (total.max() + 1)
    sampled = [
        np.interp((places + begins).ravel(), (along + begins).ravel(), values.ravel())
        for values in (points[..., 0], points[..., 1], lifted)
    ]
    dx, dy, lift = (np.diff(x.reshape(places.shape), axis=1) for x in sampled)
    pace = (total / counts)[:, None]
    features = np.stack([dx / SPACING, dy / SPACING, lift / pace], axis=-1)
    features *= (np.arange(steps) < counts[:, None])[..., None]
    return np.swapaxes(features, 0, 1).astype(np.float32), counts.astype(np.int32)


def steps_of_drawings(drawings: list[Drawing]) -> tuple[np.ndarray, np.ndarray]:
    """`pen_steps` of drawings with different numbers of points.

    Example:
        >>> xs, lengths = steps_of_drawings([[np.array([[0, 0], [1, 1]])]])
        >>> xs.shape, lengths.tolist()
        ((12, 1, 3), [12])
    """
    parts = [joined(drawing) for drawing in drawings]
    max_steps = max(len(up) for _, up in parts)
    points = np.stack([np.pad(x, ((0, max_steps - len(x)), (0, 0)), mode="edge") for x, _ in parts])
    up = np.stack([np.pad(x, (0, max_steps - len(x))) for _, x in parts])
    return pen_steps(points, up)


def evenly(drawing: Drawing, count: int) -> tuple[np.ndarray, np.ndarray]:
    """A drawing as `count` points: every stroke is divided evenly, long ones into more points.

    Returns:
        Points `(count, 2)` and booleans `(count,)`, whether the pen was up on the way to each.

    Example:
        >>> points, up = evenly([np.array([[0, 0], [4, 0]]), np.array([[0, 1], [0, 2]])], 8)
        >>> points[:, 0].tolist()
        [0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0]
    """
    if count < 2 * len(drawing):
        raise BadInput(f"a drawing of {len(drawing)} strokes needs more than {count} points")
    lengths = [
        max(float(np.linalg.norm(np.diff(x[:, :2], axis=0), axis=1).sum()), 1e-9) for x in drawing
    ]
    spare = count - 2 * len(drawing)
    ends = np.round(np.cumsum(lengths) / math.fsum(lengths) * spare).astype(int)
    sizes = 2 + np.diff(ends, prepend=0)
    strokes = []
    for stroke, size in zip(drawing, sizes, strict=True):
        xy = stroke[:, :2].astype(float)
        along = _added(np.linalg.norm(np.diff(xy, axis=0), axis=1)[None])[0]
        places = np.linspace(0, along[-1], size)
        strokes.append(np.stack([np.interp(places, along, xy[:, k]) for k in (0, 1)], axis=1))
    return joined(strokes)


def _added(lengths: np.ndarray) -> np.ndarray:
    """Running sums along the last axis, from 0."""
    return np.pad(np.cumsum(lengths, axis=-1), ((0, 0), (1, 0)))
