"""Balls that bounce off each other and off the walls of a box, as short films.

The box is 10 by 10, a ball has radius 1.2 and mass 1, and all balls together have a speed of ½:
‖v‖ = ½ over all coordinates. A frame shows the positions after two steps of ½. A wall turns the
velocity of a ball back; when two balls overlap, they exchange their velocities along the line
between their centres. A pixel at distance d from the centre of a ball has the value
`exp(-(d² / r²)⁴)`, summed over the balls and at most 1.

Source: the generator of Sutskever, Hinton and Taylor (2008), The recurrent temporal restricted
Boltzmann machine.
"""

import itertools

import numpy as np

BOX, RADIUS, SPEED = 10.0, 1.2, 0.5
STEP, STEPS_PER_FRAME = 0.5, 2
NEAREST = 2.0  # the smallest coordinate of a ball at the start


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
