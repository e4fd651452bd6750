"""Predict the next frame of a film of balls that bounce off each other and off the walls of a box.

The box is 10 by 10, a ball has radius 1.2 and mass 1, and all balls together have a speed of ½:
‖v‖ = ½ over all coordinates. A frame shows the positions after two steps of ½. A wall turns the
velocity of a ball back; when two balls overlap, they exchange their velocities along the line
between their centres. A pixel at distance d from the centre of a ball has the value
`exp(-(d² / r²)⁴)`, summed over the balls and at most 1.

Source: the generator of Sutskever, Hinton and Taylor (2008), The recurrent temporal restricted
Boltzmann machine.
"""

import dataclasses
import functools
import itertools
from typing import Any

import numpy as np

from ...data import Batch
from ...settings import setting
from ..framing import PerStep
from ..generated import Length, Synthetic
from ..losses import BinaryCrossEntropy
from ..metrics import FrameError, NatsPerStep

MAX_BALLS = 4  # more do not fit without touching
BOX, RADIUS, SPEED = 10.0, 1.2, 0.5
STEP, STEPS_PER_FRAME = 0.5, 2
NEAREST = 2.0  # the smallest coordinate of a ball at the start


class BouncingBalls(Synthetic):
    """Read a film frame by frame, and predict each next frame.

    Three balls bounce in a box; where they go is not in a single frame, so a network has to
    remember the frame before. The loss is the cross-entropy of the pixels, whose values are from 0
    to 1, and the metric the squared error per frame, as in the literature. `chance` is that of the
    mean frame; a yardstick is the frame before, shown again.

    Validation and test have 200 films each, as in the literature; training films are new ones.

    Source: Sutskever, Hinton and Taylor (2008), The recurrent temporal restricted Boltzmann
    machine; the top of this file has the equations.

    Shapes: xs and targets `(T, B, pixels²)`.

    Example:
        >>> BouncingBalls(pixels=10, length=20).batch(0, size=4).inputs.shape
        (20, 4, 100)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(Length):
        pixels: int = setting(15, "width and height of a frame", min=2)
        balls: int = setting(3, "balls in the box", min=1, max=MAX_BALLS)

    name = "bouncing-balls"
    predicts_next = True
    framing = PerStep(BinaryCrossEntropy(), (FrameError(), NatsPerStep(BinaryCrossEntropy())))
    length = 99
    lag = 1
    held_out_together = 200

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.inputs = self.outputs = self.settings.pixels**2

    @functools.cached_property
    def chance(self) -> float:
        """The variance of all pixels together, from the validation films."""
        frames = self.whole("valid").targets.reshape(-1, self.outputs)
        return float(frames.var(axis=0, dtype=np.float64).sum())

    def draw(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        film = rendered(paths(rng, size, length + 1, self.settings.balls), self.settings.pixels)
        return Batch(film[:-1], film[1:], np.ones((length, size), np.float32))

    def yardsticks(self, part: str) -> dict[str, float]:
        every = self.whole(part)
        again = np.sum((every.inputs - every.targets) ** 2, axis=-1, dtype=np.float64)
        return {"the frame before": float(again.mean())}

    @functools.cache  # noqa: B019 - a task lives as long as its run
    def whole(self, part: str) -> Batch:
        return super().whole(part)


def paths(rng: np.random.Generator, size: int, frames: int, balls: int) -> np.ndarray:
    """The positions of all balls in each frame, `(frames, size, balls, 2)`.

    Example:
        >>> paths(np.random.default_rng(0), size=2, frames=5, balls=3).shape
        (5, 2, 3, 2)
    """
    x = _start(rng, size, balls)
    v = rng.normal(size=(size, balls, 2))
    v *= SPEED / np.linalg.norm(v, axis=(1, 2), keepdims=True)
    seen = np.empty((frames, size, balls, 2))
    for frame in range(frames):
        seen[frame] = x
        for _ in range(STEPS_PER_FRAME):
            x = x + STEP * v
            v = np.where(x < RADIUS, np.abs(v), v)
            v = np.where(x > BOX - RADIUS, -np.abs(v), v)
            for i, j in itertools.combinations(range(balls), 2):
                _collide(x, v, i, j)
    return seen


def rendered(positions: np.ndarray, pixels: int) -> np.ndarray:
    """Frames of `pixels` by `pixels`, `(frames, size, pixels²)` in float32.

    Example:
        >>> frames = rendered(paths(np.random.default_rng(0), 2, 5, 3), pixels=15)
        >>> frames.shape, bool(frames.min() >= 0), bool(frames.max() <= 1)
        ((5, 2, 225), True, True)
    """
    centres = ((np.arange(pixels) + 0.5) * BOX / pixels).astype(np.float32)
    x, y = (positions[..., axis].astype(np.float32) for axis in (0, 1))
    total = np.zeros((*positions.shape[:2], pixels, pixels), np.float32)
    for ball in range(positions.shape[2]):
        across = (centres - x[..., ball, None]) ** 2 / RADIUS**2
        down = (centres - y[..., ball, None]) ** 2 / RADIUS**2
        total += np.exp(-((down[..., :, None] + across[..., None, :]) ** 4))
    return np.minimum(total, 1).reshape(*positions.shape[:2], pixels**2)


def _start(rng: np.random.Generator, size: int, balls: int) -> np.ndarray:
    """Positions at which no ball touches a wall or another ball."""
    x = np.empty((size, balls, 2))
    missing = np.arange(size)
    while missing.size:
        tried = rng.uniform(NEAREST, BOX, (missing.size, balls, 2))
        free = (tried <= BOX - RADIUS).all(axis=(1, 2))
        for i, j in itertools.combinations(range(balls), 2):
            free &= np.linalg.norm(tried[:, i] - tried[:, j], axis=1) >= 2 * RADIUS
        x[missing[free]] = tried[free]
        missing = missing[~free]
    return x


def _collide(x: np.ndarray, v: np.ndarray, i: int, j: int) -> None:
    """Exchange the velocities of two balls along the line between them, where they overlap."""
    apart = x[:, i] - x[:, j]
    distance = np.linalg.norm(apart, axis=1, keepdims=True)
    line = apart / np.maximum(distance, 1e-12)
    exchanged = np.sum(line * (v[:, j] - v[:, i]), axis=1, keepdims=True) * line
    exchanged = np.where(distance < 2 * RADIUS, exchanged, 0)
    v[:, i] += exchanged
    v[:, j] -= exchanged
