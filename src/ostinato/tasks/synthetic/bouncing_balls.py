"""Predict the next frame of a film of bouncing balls."""

import dataclasses
import functools
from typing import Any

import numpy as np

from ...data import Batch
from ...data.generated.balls import paths, rendered
from ...settings import setting
from ..framing import PerStep
from ..generated import Length, Synthetic
from ..losses import BinaryCrossEntropy
from ..metrics import FrameError, NatsPerStep

MAX_BALLS = 4  # more do not fit without touching


class BouncingBalls(Synthetic):
    """Read a film frame by frame, and predict each next frame.

    Three balls bounce in a box; where they go is not in a single frame, so a network has to
    remember the frame before. The loss is the cross-entropy of the pixels, whose values are from 0
    to 1, and the metric the squared error per frame, as in the literature. `chance` is that of the
    mean frame; a yardstick is the frame before, shown again.

    Validation and test have 200 films each, as in the literature; training films are new ones.

    Source: Sutskever, Hinton and Taylor (2008), The recurrent temporal restricted Boltzmann
    machine; `data/generated/balls.py` has the equations.

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
    min_length = 1
    held_out_together = 200

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.inputs = self.outputs = self.settings.pixels**2

    @functools.cached_property
    def chance(self) -> float:
        """The variance of all pixels together, from the validation films."""
        frames = self.whole("valid").targets.reshape(-1, self.outputs)
        return float(frames.var(axis=0, dtype=np.float64).sum())

    @property
    def lag(self) -> int:
        return 1

    def draw(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        film = rendered(paths(rng, size, length + 1, self.settings.balls), self.settings.pixels)
        return Batch(film[:-1], film[1:], np.ones((length, size), np.float32))

    def yardsticks(self, part: str) -> dict[str, float]:
        every = self.whole(part)
        again = np.sum((every.inputs - every.targets) ** 2, axis=-1, dtype=np.float64)
        return {"the frame before": float(again.mean())}

    def baselines(self) -> dict[str, float]:
        return {**super().baselines(), **self.yardsticks("valid")}

    @functools.cache  # noqa: B019 - a task lives as long as its run
    def whole(self, part: str) -> Batch:
        return super().whole(part)
