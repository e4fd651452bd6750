"""What a network reads of a drawing: steps of the pen, evenly spaced along its path."""

import math

import numpy as np

from ..errors import BadInput
from .strokes import Drawing, joined

SPACING = 0.12  # of the height of the writing
FLAT = 0.25  # writing that is wider than 1 / FLAT times its height counts as higher
INPUTS = 3
POINTS = 40  # of a stored character


def pen_steps(
    points: np.ndarray, up: np.ndarray, most: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The features of some drawings: dx, dy, and the share of the step with the pen up.

    A drawing is scaled to a height of 1 and divided into equal steps of at most `SPACING` along
    its path; the way from one stroke to the next, through the air, counts as one step. dx and dy
    are in units of `SPACING`. So size and speed of the writing do not matter.

    Args:
        points: `(B, n, 2)`, each row padded by its last point.
        up: booleans `(B, n)`, whether the pen was up on the way to each point.
        most: the largest number of steps; longer drawings are divided more coarsely.

    Returns:
        Features `(T, B, 3)` in float32, zero after the end, and lengths `(B,)` in int32. T is
        `most`, or else the number of steps of the longest.

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
    counts = counts if most is None else np.minimum(counts, most)
    steps = int(counts.max()) if most is None else most
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
    most = max(len(up) for _, up in parts)
    points = np.stack([np.pad(x, ((0, most - len(x)), (0, 0)), mode="edge") for x, _ in parts])
    up = np.stack([np.pad(x, (0, most - len(x))) for _, x in parts])
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
