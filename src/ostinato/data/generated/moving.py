"""Films of shapes that move in a straight line and bounce off the edges, with captions.

Each thing goes by a tenth of its room per frame, in a random direction, and turns back where it
would leave the frame. Where things overlap, the brighter one is seen.

Source: the generator of moving digits of Srivastava et al. (2015), Unsupervised learning of video
representations using LSTMs.
"""

import itertools
from functools import cache
from typing import Any

import numpy as np

from ..splits import check_part, part_of

STEP = 0.1  # of the room that a thing has
SHAPES = ("circle", "square", "triangle", "cross")
DIRECTIONS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
FINER = 8  # times as fine as the pixels, where a shape is drawn
TOGETHER = 512


def shape_sprites(side: int) -> np.ndarray:
    """The four shapes in grey, `(4, side, side)` of uint8.

    Example:
        >>> shape_sprites(7).shape
        (4, 7, 7)
    """
    fine = (np.arange(side * FINER) + 0.5) / (side * FINER) * 2 - 1
    y, x = fine[:, None], np.abs(fine)
    masks = (
        x**2 + y**2 <= 1,
        np.maximum(x, np.abs(y)) <= 0.86,
        x <= (y + 1) / 2,
        np.minimum(x, np.abs(y)) <= 0.3,
    )
    return np.stack([smaller(255 * mask, side) for mask in masks])


def smaller(picture: np.ndarray, side: int) -> np.ndarray:
    """Square pictures `(..., n side, n side)` as `(..., side, side)`: means of n by n pixels."""
    n = picture.shape[-1] // side
    blocks = picture.reshape(*picture.shape[:-2], side, n, side, n)
    return np.round(blocks.mean(axis=(-3, -1))).astype(np.uint8)


class MovingClips:
    """Clips of random sprites that bounce; they are drawn when they are asked for.

    Shapes: `clips[which]` is `(N, frames, pixels, pixels, 1)` of uint8.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> clips = MovingClips(rng, shape_sprites(5), 3, frames=10, pixels=16, things=2)
        >>> len(clips), clips[np.array([2, 0])].shape
        (3, (2, 10, 16, 16, 1))
    """

    ndim = 5

    def __init__(
        self,
        rng: np.random.Generator,
        sprites: np.ndarray,
        count: int,
        frames: int,
        pixels: int,
        things: int,
    ):
        """
        Args:
            rng: draws which sprites there are, where they start and where they go.
            sprites: `(sprites, side, side)`.
            count, frames: how many clips, and frames of each.
            pixels: width and height of a frame.
            things: how many sprites a clip shows.
        """
        self.sprites, self.shape = sprites, (count, frames, pixels, pixels, 1)
        self.shown = rng.integers(0, len(sprites), (count, things))
        angle = rng.uniform(0, 2 * np.pi, (count, 1, things, 1))
        self.start = rng.uniform(0, 1, (count, 1, things, 2))
        self.velocity = STEP * np.concatenate([np.sin(angle), np.cos(angle)], -1)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, which: Any) -> np.ndarray:
        _, frames, pixels, _, _ = self.shape
        steps = np.arange(frames)[:, None, None]
        straight = self.start[which] + steps * self.velocity[which]
        places = np.abs((straight + 1) % 2 - 1)  # folded into 0 to 1
        return drawn(self.sprites[self.shown[which]], places, pixels)


def drawn(shown: np.ndarray, places: np.ndarray, pixels: int) -> np.ndarray:
    """Clips of sprites `(N, things, side, side)` at places `(N, frames, things, 2)` from 0 to 1."""
    count, frames, things, _ = places.shape
    side = shown.shape[-1]
    corner = np.round(places * (pixels - side)).astype(int)
    films = np.zeros((count, frames, pixels, pixels), np.uint8)
    inside = np.arange(side)
    for begin in range(0, count, TOGETHER):  # a few at a time, which stay in the cache
        some = slice(begin, begin + TOGETHER)
        block = films[some]
        film = np.arange(len(block))[:, None, None, None]
        frame = np.arange(frames)[:, None, None]
        for n in range(things):
            rows, columns = (corner[some, :, n, axis, None] + inside for axis in (0, 1))
            at = film, frame, rows[..., :, None], columns[..., None, :]
            block[at] = np.maximum(block[at], shown[some, n][:, None])
    return films[..., None]


def draw_scenes(
    rng: np.random.Generator, count: int, part: str, frames: int, pixels: int
) -> tuple[np.ndarray, list[str]]:
    """Films of one or two shapes, `(count, frames, pixels, pixels, 1)`, and their captions.

    A caption says where each shape goes, which no single frame shows. It belongs to one part alone
    (see `part_of`).

    Example:
        >>> films, captions = draw_scenes(np.random.default_rng(0), 2, "train", 8, 16)
        >>> films.shape, captions[0]
        ((2, 8, 16, 16, 1), 'a square moves right and a cross moves right')
    """
    check_part(part)
    scenes = _scenes(part)
    chosen = [scenes[n] for n in rng.integers(0, len(scenes), count)]
    sprites = np.concatenate(
        [shape_sprites(pixels // 2 - 1), np.zeros((1, *[pixels // 2 - 1] * 2))]
    )
    pairs = [(*scene, (len(SHAPES), "up"))[:2] for scene in chosen]  # the second may be nothing
    shown = sprites[[[shape for shape, _ in pair] for pair in pairs]].astype(np.uint8)
    way = np.array([[DIRECTIONS[direction] for _, direction in pair] for pair in pairs])
    far = rng.uniform(0.5, 1, (count, 2, 1))  # of the room, from the first frame to the last
    start = rng.uniform(0, 1, way.shape)
    start = np.where(way > 0, start * (1 - far), np.where(way < 0, far + start * (1 - far), start))
    share = np.linspace(0, 1, frames)[:, None, None]
    places = start[:, None] + share * (way * far)[:, None]
    return drawn(shown, places, pixels), [_caption(scene) for scene in chosen]


def _caption(scene: tuple[tuple[int, str], ...]) -> str:
    return " and ".join(f"a {SHAPES[shape]} moves {way}" for shape, way in scene)


@cache
def _scenes(part: str) -> list[tuple[tuple[int, str], ...]]:
    """The scenes of a part: one or two different shapes, each with its direction."""
    alone = [(thing,) for thing in itertools.product(range(len(SHAPES)), DIRECTIONS)]
    pairs = [(a[0], b[0]) for a, b in itertools.product(alone, alone) if a[0][0] < b[0][0]]
    return [scene for scene in (*alone, *pairs) if part_of(_caption(scene)) == part]
