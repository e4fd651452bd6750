"""Characters in the hands of several writers, and strings written with them."""

import dataclasses
import string

import numpy as np

from ..errors import BadInput
from ..settings import shown
from .drawn import PATHS, Writer, forms
from .strokes import POINTS, evenly, read_omniglot

LETTERS = {"Latin": string.ascii_lowercase, "Greek": "αβγδεζηθικλμνξοπρστυφχψω"}


@dataclasses.dataclass(frozen=True)
class Ink:
    """One drawing of every character by every writer.

    Attributes:
        characters: the K characters, in the order of their labels.
        points: `(writers, K, POINTS, 2)`, each character from x = 0 to the right.
        up: booleans `(writers, K, POINTS)`, whether the pen was up on the way to a point.
        gaps: `(writers,)`, the usual space between characters.
    """

    characters: str
    points: np.ndarray
    up: np.ndarray
    gaps: np.ndarray

    def of(self, writers: slice) -> "Ink":
        """Some of the writers."""
        return dataclasses.replace(
            self, points=self.points[writers], up=self.up[writers], gaps=self.gaps[writers]
        )

    def write(
        self, rng: np.random.Generator, symbols: np.ndarray, counts: np.ndarray, shake: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Strings, each in the hand of a writer that is chosen at random.

        Args:
            rng: random generator.
            symbols: `(B, L)`, characters as numbers from 0.
            counts: `(B,)`, how many of them are written.
            shake: how much a writer varies from character to character, about 0 to 1; 0 copies the
                drawings.

        Returns:
            Points `(B, L * POINTS, 2)` and booleans `(B, L * POINTS)`, as `pen_steps` takes them.
        """
        size, longest = symbols.shape
        writers = rng.integers(len(self.points), size=(size, 1))
        points, up = self.points[writers, symbols].astype(float), self.up[writers, symbols].copy()
        points = _shaken(rng, points, shake)
        left, right = points[..., 0].min(axis=-1), points[..., 0].max(axis=-1)
        gaps = self.gaps[writers] * (1 + 0.5 * shake * rng.uniform(-1, 1, (size, longest)))
        begins = np.cumsum(right - left + gaps, axis=1) - (right - left + gaps)
        points[..., 0] += (begins - left)[..., None]
        up[..., 0] = True
        # What is not written stays at the last point, with the pen down.
        last = points[np.arange(size), counts - 1, -1]
        written = np.arange(longest) < counts[:, None]
        points = np.where(written[..., None, None], points, last[:, None, None])
        up &= written[..., None]
        up[:, 0, 0] = False
        return points.reshape(size, -1, 2), up.reshape(size, -1)


def _shaken(rng: np.random.Generator, points: np.ndarray, shake: float) -> np.ndarray:
    """Each character a little turned, stretched, raised and bent, `(B, L, n, 2)`."""
    each = points.shape[:2]
    change = np.eye(2) + 0.1 * shake * rng.uniform(-1, 1, (*each, 2, 2))
    raised = 0.08 * shake * rng.uniform(-1, 1, (*each, 1, 1)) * [0, 1]
    along = np.linspace(0, 2 * np.pi, points.shape[2])
    waves = np.stack([np.sin(along), np.cos(along), np.sin(2 * along), np.cos(2 * along)])
    bends = 0.025 * shake * rng.normal(size=(*each, 2, 4))
    return points @ change + raised + np.swapaxes(bends @ waves, -1, -2)


def drawn_ink(seed: int, writers: int, characters: str | None = None) -> Ink:
    """The characters of `drawn.PATHS`, by writers whose hands are random.

    Args:
        seed: of the writers; more writers leave the first ones as they are.
        writers: how many.
        characters: some of them; by default all.

    Example:
        >>> drawn_ink(0, 3, "012").points.shape
        (3, 3, 40, 2)
    """
    characters = "".join(PATHS) if characters is None else characters
    check_characters(characters, "".join(PATHS))
    hands = [Writer.random(np.random.default_rng([seed, n])) for n in range(writers)]
    chosen = ["".join(PATHS).index(x) for x in characters]
    points = np.stack([hand.points()[chosen] for hand in hands])
    up = np.repeat(forms()[1][None, chosen], writers, axis=0)
    return _ink(characters, points, up, [hand.gap for hand in hands])


def omniglot_ink(path: str, alphabet: str) -> Ink:
    """An alphabet of Omniglot by its 20 drawers; an alphabet without names here has A, B, C, …

    The side of the square that they drew in, 105 points, is 1 here.
    """
    read = read_omniglot(path, alphabet)
    count = max(max(drawings) for drawings in read.values())
    names = LETTERS.get(alphabet, string.ascii_letters)[:count]
    for drawer, drawings in sorted(read.items()):
        for n in range(1, count + 1):
            if n not in drawings:
                raise BadInput(f"{path}: drawer {drawer} of {alphabet} lacks character {n:02}")
    drawn = [
        [evenly([x[:, :2] / 105 for x in by[n + 1]], POINTS) for n in range(count)]
        for _, by in sorted(read.items())
    ]
    points = np.array([[xy for xy, _ in each] for each in drawn])
    up = np.array([[up for _, up in each] for each in drawn])
    return _ink(names, points, up, [0.2] * len(drawn))


def _ink(characters: str, points: np.ndarray, up: np.ndarray, gaps: list[float]) -> Ink:
    """Ink with every character moved to x = 0."""
    points = points.astype(np.float32)
    points[..., 0] -= points[..., 0].min(axis=-1, keepdims=True)
    return Ink(characters, points, up, np.array(gaps))


def check_characters(characters: str, known: str) -> None:
    """Raise unless these are at least two different characters, all of them known."""
    if len(set(characters)) < 2 or len(set(characters)) < len(characters):
        raise BadInput(f"alphabet must be at least 2 different characters, got {shown(characters)}")
    for character in characters:
        if character not in known:
            raise BadInput(f"the character {character!r} cannot be drawn; there are {known}")
