"""Pictures of coloured shapes with captions: `a small red circle above a large blue square`.

A picture has one thing or two. A thing has a size, a colour and a shape; the one that is above or
left of the other is named first, so every picture has one right caption. Place, radius, brightness
and background are random. A caption belongs to one part alone (see `part_of`), so what is held out
are combinations that training never shows.
"""

import itertools
from functools import cache

import numpy as np

from ..splits import check_part, part_of

SIDE = 32
RADII = {"small": (3.5, 4.5), "large": (6.5, 7.0)}
COLOURS = {
    "red": (220, 40, 40),
    "green": (40, 180, 60),
    "blue": (50, 90, 230),
    "yellow": (235, 215, 50),
    "purple": (160, 60, 200),
}
SHAPES = ("circle", "square", "triangle", "cross")
RELATIONS = ("above", "left of")
THINGS = tuple(itertools.product(RADII, COLOURS, SHAPES))
TOGETHER = 256
ALONE = 0.1  # share of the pictures with one thing

Thing = tuple[str, str, str]
Scene = tuple[Thing, str, Thing] | tuple[Thing]


def caption_of(scene: Scene) -> str:
    """The caption of a thing, or of two things and their relation.

    Example:
        >>> caption_of((("small", "red", "circle"), "above", ("large", "blue", "square")))
        'a small red circle above a large blue square'
    """
    words = [part if isinstance(part, str) else " ".join(("a", *part)) for part in scene]
    return " ".join(words)


def draw_shapes(
    rng: np.random.Generator, count: int, part: str = "train"
) -> tuple[np.ndarray, list[str]]:
    """Random pictures of the part, `(count, 32, 32, 3)` of uint8, and their captions.

    Example:
        >>> pictures, captions = draw_shapes(np.random.default_rng(0), 2)
        >>> pictures.shape, captions[0]
        ((2, 32, 32, 3), 'a small red square left of a small green square')
    """
    check_part(part)
    alone, pairs = _scenes(part)
    single = rng.random(count) < ALONE
    places = rng.random(count)
    scenes = [
        (alone if one else pairs)[int(place * len(alone if one else pairs))]
        for one, place in zip(single, places, strict=True)
    ]
    # A few at a time, which stay in the processor's cache.
    blocks = [scenes[begin : begin + TOGETHER] for begin in range(0, count, TOGETHER)]
    pictures = [np.zeros((0, SIDE, SIDE, 3), np.uint8), *(_drawn(rng, block) for block in blocks)]
    return np.concatenate(pictures), [caption_of(scene) for scene in scenes]


@cache
def _scenes(part: str) -> tuple[list[Scene], list[Scene]]:
    """The scenes of a part: those of one thing, and those of two."""
    alone: list[Scene] = [(thing,) for thing in THINGS]
    pairs: list[Scene] = list(itertools.product(THINGS, RELATIONS, THINGS))

    def here(scenes: list[Scene]) -> list[Scene]:
        return [scene for scene in scenes if part_of(caption_of(scene)) == part]

    return here(alone), here(pairs)


def _drawn(rng: np.random.Generator, scenes: list[Scene]) -> np.ndarray:
    """A picture of each scene."""
    count = len(scenes)
    things = [(scene[0], scene[-1]) for scene in scenes]
    low, high = (
        np.array([[RADII[thing[0]][end] for thing in pair] for pair in things]).reshape(count, 2)
        for end in (0, 1)
    )
    radii = rng.uniform(low, high)
    paired = np.array([len(scene) > 1 for scene in scenes])
    down = np.array([len(scene) > 1 and scene[1] == "above" for scene in scenes])
    along, across = _places(rng, radii, paired)
    rows = np.where(down[:, None], along, across)
    columns = np.where(down[:, None], across, along)
    ground = rng.uniform(0, 40, (count, 1, 1, 1)).astype(np.float32)
    pictures = np.broadcast_to(ground, (count, SIDE, SIDE, 3))
    bright = rng.uniform(0.8, 1.0, (count, 2, 1)).astype(np.float32)
    for n in (1, 0):
        colours = np.array([COLOURS[pair[n][1]] for pair in things], np.float32)
        shapes = np.array([pair[n][2] for pair in things])
        mask = _mask(shapes, rows[:, n], columns[:, n], radii[:, n])
        if n == 1:
            mask &= paired[:, None, None]
        pictures = np.where(mask[..., None], (bright[:, n] * colours)[:, None, None], pictures)
    noise = 5 * rng.standard_normal(pictures.shape, np.float32)
    return np.clip(np.round(pictures + noise), 0, 255).astype(np.uint8)


def _places(
    rng: np.random.Generator, radii: np.ndarray, paired: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Centres along and across the relation, `(N, 2)` each; two things never touch.

    Across, they differ by at most half of what they differ by along, so the relation is clear.
    """
    one, two = radii.T
    last = SIDE - 1
    gap = one + two + 1.5
    first = rng.uniform(one, np.where(paired, last - two - gap, last - one))
    second = rng.uniform(first + gap, np.maximum(last - two, first + gap))
    beside = rng.uniform(one, last - one)
    reach = (second - first) / 2
    low, high = np.maximum(two, beside - reach), np.minimum(last - two, beside + reach)
    other = rng.uniform(low, np.maximum(low, high))
    return np.stack([first, second], 1), np.stack([beside, other], 1)


def _mask(
    shapes: np.ndarray, rows: np.ndarray, columns: np.ndarray, radii: np.ndarray
) -> np.ndarray:
    """`(N, 32, 32)`, true inside of each shape."""
    place = np.arange(SIDE, dtype=np.float32)
    rows, columns, r = (x.astype(np.float32)[:, None, None] for x in (rows, columns, radii))
    y, x = place[:, None] - rows, np.abs(place - columns)
    inside = {
        "circle": x**2 + y**2 <= r**2,
        "square": np.maximum(x, np.abs(y)) <= 0.9 * r,
        "triangle": (x <= (y + r) / 2) & (y <= r),
        "cross": (np.minimum(x, np.abs(y)) <= r / 3.5) & (np.maximum(x, np.abs(y)) <= r),
    }
    return np.select([(shapes == name)[:, None, None] for name in inside], [*inside.values()])
