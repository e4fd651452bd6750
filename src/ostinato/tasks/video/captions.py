"""Captions of films: learn to say in words what happens."""

import dataclasses
from typing import Any

import numpy as np

from ...data.generated.moving import draw_scenes
from ...data.pictures import checked_captioned_clips, read_captioned_clips, read_clips
from ...settings import setting
from ..pairs.captions import Captions, Part
from ..pictures import moved


class VideoCaptions(Captions):
    """Watch a clip and write what happens in it, word by word.

    It is `Captions` on clips. The network is a `VideoCaptioner`: an encoder reads the frames, by
    default the features that convolutions make of each, and a decoder writes; with attention, it
    looks at the frames. Without a file, one or two shapes move, and a caption says where each goes,
    which no single frame shows: `a circle moves up and a cross moves left`.

    Source: Venugopalan et al. (2015), Sequence to sequence - video to text; Lipton et al. (2015),
    section 5.5.

    Shapes: inputs a `Pair` of symbols `(T, B)` and frames `(S, B, height, width, channels)`, uint8.
    Targets `(T, B)`.

    Example:
        >>> task = VideoCaptions.of(np.zeros((20, 5, 8, 8)), ["nothing moves"] * 20)
        >>> batch = task.batch(0, size=4)
        >>> batch.inputs.source.shape, batch.targets[:, 0]
        ((5, 4, 8, 8, 1), array([3, 2, 0], dtype=int32))
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(Captions.Settings):
        file: str | None = setting(
            None, "an .npz file of clips and captions (moving shapes)", of_file=True
        )
        convolutions: bool = setting(True, "frames are read by convolutions, not as pixels")
        frames: int = setting(8, "frames of a drawn clip", min=2, max=10_000, of_file=True)
        pixels: int = setting(16, "width and height of drawn frames", min=6, max=512, of_file=True)

    name = "video-caption"
    unit = "clips"
    drawn_settings = ("frames", "pixels")
    kind_of_model = "video-captioner"
    read_captioned = staticmethod(read_captioned_clips)
    read_new = staticmethod(read_clips)
    checked = staticmethod(checked_captioned_clips)

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.model = {**(self.model or {}), "convolutions": self.settings.convolutions}

    @staticmethod
    def drawn(rng: np.random.Generator, count: int, part: str, settings: Any) -> Part:
        return draw_scenes(rng, count, part, settings.frames, settings.pixels)

    @staticmethod
    def moved(pictures: np.ndarray, down: np.ndarray, right: np.ndarray) -> np.ndarray:
        """All frames of a clip, moved alike."""
        turned = moved(pictures.transpose(2, 1, 3, 0, 4), down, right)
        return turned.transpose(3, 1, 0, 2, 4)
