"""Drawn characters: a pen path for digits and capital letters, and writers who deform it.

A path is one or more strokes, separated by `;`; a stroke is one or more pieces, separated by `|`,
each a list of points `x,y` in a box of height 1. A piece that begins with `~` is a smooth curve
through its points, any other a polyline.
"""

import dataclasses
import functools
import itertools

import numpy as np

from .strokes import POINTS, Drawing, evenly

PATHS = {
    "0": "~ .3,1 .05,.8 0,.5 .05,.2 .3,0 .55,.2 .6,.5 .55,.8 .3,1",
    "1": "0,.75 .25,1 .25,0",
    "2": "~ .03,.75 .12,.95 .33,1 .55,.85 .5,.6 .25,.3 0,0 | 0,0 .6,0",
    "3": "~ .05,.88 .3,1 .55,.8 .42,.58 .2,.52 | ~ .2,.52 .5,.42 .6,.22 .35,0 0,.12",
    "4": ".4,1 0,.35 .6,.35 ; .42,.62 .42,0",
    "5": ".55,1 .1,1 .05,.55 | ~ .05,.55 .35,.62 .6,.35 .4,.03 0,.1",
    "6": "~ .5,1 .2,.8 .02,.4 .1,.08 .35,0 .58,.2 .5,.45 .25,.5 .05,.3",
    "7": "0,1 .6,1 .2,0",
    "8": "~ .52,.82 .3,1 .08,.8 .3,.55 .56,.25 .3,0 .04,.22 .3,.53 .53,.8",
    "9": "~ .55,.8 .3,1 .05,.75 .2,.5 .48,.6 .56,.9 | .56,.9 .5,0",
    "A": "0,0 .3,1 .6,0 ; .12,.38 .48,.38",
    "C": "~ .6,.85 .35,1 .06,.75 0,.4 .15,.08 .4,0 .62,.15",
    "E": ".55,1 0,1 0,0 .55,0 ; 0,.52 .45,.52",
    "F": ".55,1 0,1 0,0 ; 0,.52 .42,.52",
    "H": "0,1 0,0 ; .55,1 .55,0 ; 0,.5 .55,.5",
    "K": "0,1 0,0 ; .55,1 .02,.45 .58,0",
    "L": "0,1 0,0 .5,0",
    "M": "0,0 .08,1 .38,.3 .68,1 .76,0",
    "N": "0,0 0,1 .55,0 .55,1",
    "P": "0,0 0,1 | ~ 0,1 .4,.98 .55,.75 .35,.52 0,.5",
    "T": "0,1 .6,1 ; .3,1 .3,0",
    "U": "~ 0,1 0,.35 .12,.04 .3,0 .48,.04 .58,.35 .58,1",
    "V": "0,1 .3,0 .6,1",
    "W": "0,1 .18,0 .4,.7 .62,0 .8,1",
    "X": "0,1 .6,0 ; .6,1 0,0",
    "Y": "0,1 .3,.5 .6,1 ; .3,.5 .3,0",
}
FINE = 16  # points between two points of a path
HASTE = 8  # how many points on either side a corner may be cut by


@dataclasses.dataclass(frozen=True)
class Writer:
    """How a person writes.

    Attributes:
        slant: horizontal shift per unit of height; positive leans to the right.
        width: of the characters, 1 is that of `PATHS`.
        turn: of every character, in radians.
        haste: from 0, exact corners, to `HASTE`, corners cut short.
        waves: `(characters, 2, 2, 2)`, coefficients of a smooth deformation of each character.
        gap: space between characters.
    """

    slant: float
    width: float
    turn: float
    haste: int
    waves: np.ndarray
    gap: float

    @classmethod
    def random(cls, rng: np.random.Generator) -> "Writer":
        """Any writer. Deformations are partly the writer's, partly those of single characters."""
        common = rng.normal(scale=0.035, size=(1, 2, 2, 2))
        return cls(
            slant=float(rng.uniform(-0.3, 0.5)),
            width=float(rng.uniform(0.75, 1.3)),
            turn=float(rng.uniform(-0.1, 0.1)),
            haste=int(rng.integers(HASTE + 1)),
            waves=common + rng.normal(scale=0.0175, size=(len(PATHS), 2, 2, 2)),
            gap=float(rng.uniform(0.12, 0.4)),
        )

    def points(self) -> np.ndarray:
        """All characters in this hand, `(characters, POINTS, 2)`.

        Example:
            >>> Writer.random(np.random.default_rng(0)).points().shape
            (26, 40, 2)
        """
        exact = forms()[0][self.haste]
        sines = np.sin(np.pi * np.stack([exact, 2 * exact], axis=-2))  # (…, frequency, axis)
        x, y = np.moveaxis(exact + np.einsum("cpfa,cfak->cpk", sines, self.waves), -1, 0)
        x = self.width * x + self.slant * y
        cos, sin = np.cos(self.turn), np.sin(self.turn)
        return np.stack([cos * x - sin * y, sin * x + cos * y], axis=-1)


@functools.cache
def forms() -> tuple[np.ndarray, np.ndarray]:
    """All characters with corners cut more and more, `(HASTE + 1, characters, POINTS, 2)`.

    Returns:
        These, and `(characters, POINTS)`, whether the pen is up on the way to a point.
    """
    letters = [
        [evenly([_cut(stroke, reach) for stroke in path(x)], POINTS) for x in PATHS]
        for reach in range(HASTE + 1)
    ]
    return np.array([[xy for xy, _ in row] for row in letters]), np.array(
        [up for _, up in letters[0]]
    )


def _cut(stroke: np.ndarray, reach: int) -> np.ndarray:
    """A running mean, which rounds corners and shortens the ends a little."""
    padded = np.pad(stroke, ((reach, reach), (0, 0)), mode="edge")
    sums = np.cumsum(np.pad(padded, ((1, 0), (0, 0))), axis=0)
    size = 2 * reach + 1
    return (sums[size:] - sums[:-size]) / size


def path(character: str) -> Drawing:
    """The strokes of a character as drawn in `PATHS`, finely sampled.

    Example:
        >>> [stroke[0].tolist() for stroke in path("T")]
        [[0.0, 1.0], [0.3, 1.0]]
    """
    strokes = []
    for stroke in PATHS[character].split(";"):
        pieces = []
        for piece in stroke.split("|"):
            smooth = "~" in piece
            words = piece.replace("~", "").split()
            points = np.array([[float(x) for x in word.split(",")] for word in words])
            pieces.append(_curve(points) if smooth else _polyline(points))
        strokes.append(np.concatenate(pieces))
    return strokes


def _polyline(points: np.ndarray) -> np.ndarray:
    share = (np.arange(FINE) / FINE)[:, None]
    lines = [a + share * (b - a) for a, b in itertools.pairwise(points)]
    return np.concatenate([*lines, points[-1:]])


def _curve(points: np.ndarray) -> np.ndarray:
    """A Catmull-Rom spline: smooth, and through all points."""
    first, last = 2 * points[0] - points[1], 2 * points[-1] - points[-2]
    p = np.concatenate([first[None], points, last[None]])
    t = (np.arange(FINE) / FINE)[:, None]
    parts = [
        0.5
        * (
            2 * b
            + t * (c - a)
            + t**2 * (2 * a - 5 * b + 4 * c - d)
            + t**3 * (3 * b - 3 * c + d - a)
        )
        for a, b, c, d in zip(p[:-3], p[1:-2], p[2:-1], p[3:], strict=True)
    ]
    return np.concatenate([*parts, points[-1:]])
