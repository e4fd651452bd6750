"""Read a film, then draw it again, draw what comes next, or both."""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import jax
import numpy as np

from ...cells import Model
from ...data import Batch
from ...data.generated.moving import moving, shape_sprites, smaller
from ...data.kept import kept_picture
from ...data.pictures import checked_clips, read_clips
from ...data.splits import divided_at_random, shares
from ...errors import BadInput
from ...settings import setting
from ...weights import own_precision
from ...wiring.encoder_decoder import Pair
from ...wiring.video import LEARNED
from ..abilities import AnsweringTask
from ..applying import ApplyOptions, outputs_on
from ..downloaded.mnist import VALID, read_digits
from ..file_task import FileSettings, FileTask, Reading
from ..finite import Finite
from ..framing import PerStep
from ..losses import BinaryCrossEntropy
from ..metrics import FrameError, Metric, NatsPerStep, OfSteps
from ..pairs.captions import check_size
from ..task import Artefacts, Picture, checked_length, checked_seed, hashed, random
from .strip import frames_in_text, strip

HELD_OUT = {"valid": 200, "test": 1000}  # drawn clips
SPLIT, MADE = 1, 2  # places in the random numbers of the seed; 0 is the order
SHADED, DRAWN = 4, 10  # frames in a preview, and in a picture
SHOWN = 3  # clips in a report
TOGETHER = 64  # clips that are predicted at once
SAMPLED = 2000  # training clips from which chance is computed
AHEAD = (1, 2, 5, 10, 20, 50, 100)  # frames ahead whose errors an evaluation tells
DIGIT_SIDES = (28, 14, 7)


class Video(Finite, FileTask, AnsweringTask):
    """Read the frames of a clip; draw them again backwards, draw the next ones, or both.

    The network is a `VideoModel`. The loss is the cross-entropy of the pixels, whose values are
    from 0 to 1, per frame. The first metric is the squared error per frame, of the predicted
    frames if there are any. No decoder is ever shown a frame that it should draw, so what is
    measured is what a trained network does on its own. `chance` is that of the mean frame; a
    yardstick is the last frame that was read, shown again.

    Without a file, shapes or handwritten digits move and bounce (`data/generated/moving.py`).
    Clips of a file that are longer than `frames + ahead` are cut into several.

    Source: Srivastava, Mansimov and Salakhutdinov (2015), Unsupervised learning of video
    representations using LSTMs; Lipton et al. (2015), section 5.5.

    Shapes: inputs a `Pair` of ones `(T, B, 1)` and frames `(frames, B, height, width, channels)`,
    uint8; targets `(T, B, pixels)`: the frames backwards, then the next ones.

    Example:
        >>> task = Video.of(np.zeros((20, 7, 8, 8)), frames=4, ahead=3)
        >>> batch = task.batch(0, size=2)
        >>> batch.inputs.source.shape, batch.targets.shape
        ((4, 2, 8, 8, 1), (7, 2, 64))
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(FileSettings):
        file: str | None = setting(
            None, "an .npy or .npz file of clips (moving shapes)", of_file=True
        )
        learn: str = setting("both", "draw the next frames, those read, or both", among=LEARNED)
        frames: int = setting(10, "frames that the network reads", min=1, max=10_000)
        ahead: int = setting(10, "frames that it predicts", min=1, max=10_000)
        conditional: bool = setting(False, "a decoder reads the frame that it drew last")
        convolutions: bool = setting(False, "frames are read by convolutions, not as pixels")
        shows: str = setting(
            "shapes", "what moves in drawn clips", among=("shapes", "digits"), of_file=True
        )
        things: int = setting(2, "how many things move", min=1, max=100, of_file=True)
        pixels: int = setting(16, "width and height of drawn frames", min=6, max=512, of_file=True)
        clips: int = setting(10_000, "drawn clips to learn from", min=1, of_file=True)
        split: str = setting(
            "80/10/10", "percent for training, validation, test", read=shares, of_file=True
        )

    name = "video"
    apply_options = ("steps", "pictures", "save")
    unit, plural = "clips", True
    pictured = "What the network draws"

    def __init__(
        self,
        parts: Mapping[str, np.ndarray],
        *,
        where: str = "the clips",
        artefacts: Artefacts = None,
        **given: Any,
    ):
        """
        Args:
            parts: clips `(N, T, height, width, channels)`, uint8, of `"train"`, `"valid"` and
                `"test"`.
            where: where the clips are from, for messages.
            artefacts: of a trained model, which reads frames of one size alone.
            given: `seed` of the order, and settings by name: `learn`, `frames`, `ahead`,
                `conditional` and `convolutions`; see `Settings`.
        """
        super().__init__(source=where, **given)
        chosen = self.settings
        self.read_frames = chosen.frames
        self.ahead = 0 if chosen.learn == "reconstruct" else chosen.ahead
        self.again = 0 if chosen.learn == "predict" else chosen.frames
        self.length = self.again + self.ahead
        self.parts = {
            name: _cut(clips, self.read_frames + self.ahead, where) for name, clips in parts.items()
        }
        if not len(self.parts["train"]):
            raise BadInput(f"{where}: there is no clip to learn from")
        if artefacts is not None:
            check_size(self.parts["train"], artefacts, where)
        self.picture = [*map(int, self.parts["train"].shape[2:])]
        self.inputs = self.outputs = math.prod(self.picture)
        self.framing = PerStep(BinaryCrossEntropy(), self._metrics())
        self.model = {
            "kind": "video",
            "picture": self.picture,
            "learn": chosen.learn,
            "conditional": chosen.conditional,
            "convolutions": chosen.convolutions,
        }

    def _metrics(self) -> tuple[Metric, ...]:
        """Errors of the predicted frames, if there are any, and then of those drawn again."""
        metrics: list[Metric] = []
        for what, begin, end in (
            ("predicted", self.again, None),
            ("reconstructed", 0, self.again),
        ):
            if begin < (self.length if end is None else end):
                nats = NatsPerStep(BinaryCrossEntropy())
                metrics += [
                    OfSteps(FrameError(), f"squared error per {what} frame", begin, end),
                    OfSteps(nats, f"nats per {what} frame", begin, end),
                ]
        return tuple(metrics)

    @classmethod
    def of(
        cls,
        clips: Any,
        *,
        split: tuple[float, float, float] = (0.8, 0.1, 0.1),
        seed: int = 0,
        where: str = "the clips",
        **options: Any,
    ) -> "Video":
        """The task of an array in memory, divided into parts at random.

        Args:
            clips: `(N, T, height, width)`, or with channels; see `data.pictures.checked_clips`.
            split: shares for training, validation and test.
            seed, where, options: see the class.
        """
        every = checked_clips(clips, where)
        chosen = divided_at_random(len(every), split, "clips", random(checked_seed(seed), SPLIT))
        return cls(
            {part: every[n] for part, n in chosen.items()}, seed=seed, where=where, **options
        )

    @classmethod
    def read(cls, given: Reading) -> "Video":
        """The task of a file, or of moving shapes or digits."""
        file, settings, seed, _ = given
        if file is not None:
            split = shares(settings.split)
            return cls.of(read_clips(file), split=split, where=file, **given.arguments)
        steps = settings.frames + (0 if settings.learn == "reconstruct" else settings.ahead)
        counts = {"train": settings.clips, **HELD_OUT}
        parts = {}
        for n, (part, count) in enumerate(counts.items()):
            rng, sprites = random(seed, MADE, n), _sprites(settings.shows, settings.pixels, part)
            clips = moving(rng, sprites, count, steps, settings.pixels, settings.things)
            parts[part] = clips[..., None]
        return cls(parts, where=f"the moving {settings.shows}", **given.arguments)

    # Batches

    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        checked_length(self, length, self.length, self.length, ": the frames that are drawn")
        return self.together("train", self.chosen(index, size))

    def together(self, part: str, which: np.ndarray) -> Batch:
        clips = np.moveaxis(self.parts[part][which], 0, 1)
        seen, later = clips[: self.read_frames], clips[self.read_frames :]
        wanted = np.concatenate([seen[::-1][: self.again], later[: self.ahead]])
        pixels = wanted.reshape(self.length, len(which), -1).astype(np.float32) / 255
        return asked(seen, self.length)._replace(targets=pixels)

    # What is measured

    @cached_property
    def chance(self) -> float:
        """The variance of all pixels together, of what the first metric looks at."""
        some = self.parts["train"][:SAMPLED]
        judged = some[:, self.read_frames :] if self.ahead else some[:, : self.read_frames]
        pixels = judged.reshape(-1, self.outputs).astype(np.float32) / 255
        return float(pixels.var(axis=0, dtype=np.float64).sum())

    def yardsticks(self, part: str) -> dict[str, float]:
        errors = self._last_again(part)
        return {"the last frame again": float(errors.mean())} if errors.size else {}

    def baselines(self) -> dict[str, float]:
        return {"chance": self.chance, **self.yardsticks("valid")}

    def _last_again(self, part: str) -> np.ndarray:
        """The squared error of the last frame that was read, `(clips, frames ahead)`."""
        clips = self.parts[part].astype(np.float32) / 255
        last, later = clips[:, self.read_frames - 1, None], clips[:, self.read_frames :]
        return np.sum((later - last) ** 2, axis=(2, 3, 4))

    def scores(self, network: Model, part: str) -> dict[str, Any]:
        """The error of a frame by how far ahead it is, beside that of the last frame again."""
        if not self.ahead or not len(self.parts[part]):
            return {}
        total, again = np.zeros(self.ahead), self._last_again(part).mean(axis=0)
        for batch in self.evaluated(part):
            drawn = _sigmoid(outputs_on(network, batch.arrays)[self.again :])
            total += np.sum((drawn - batch.targets[self.again :]) ** 2, axis=(1, 2))
        errors = total / len(self.parts[part])
        scores = {}
        for n in (n for n in AHEAD if n <= self.ahead):
            scores[f"squared error {n} ahead"] = float(errors[n - 1])
            scores[f"squared error {n} ahead, the last frame again"] = float(again[n - 1])
        return scores

    # What is shown and kept

    def preview(self, network: Model, key: jax.Array) -> str | None:
        """Some frames of a validation clip, and below them what the network draws."""
        ((right, drawn),) = self._drawn(network, 1)
        some = np.unique(np.linspace(0, len(right) - 1, SHADED).round().astype(int))
        what = f"{_numbers(some + 1)} frames ahead" if self.ahead else "frames, backwards"
        text = frames_in_text(np.stack([right[some], drawn[some]]))
        return f"true and drawn, {what}:\n{text}"

    def pictures(self, network: Model) -> list[Picture]:
        """The true frames of some validation clips, and below them what the network draws."""
        what = "frames ahead" if self.ahead else "frames that were read, backwards"
        return [
            strip(f"Clip {n}, {what}", {"true": true[:DRAWN], "drawn": drawn[:DRAWN]})
            for n, (true, drawn) in enumerate(self._drawn(network, SHOWN), 1)
        ]

    def _drawn(self, network: Model, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """True and drawn frames `(steps, height, width, channels)` of some validation clips."""
        part = "valid" if len(self.parts["valid"]) else "train"
        batch = self.together(part, np.arange(min(count, self.count(part))))
        outputs = _sigmoid(outputs_on(network, batch.arrays))
        first = self.again if self.ahead else 0
        return [
            (batch.targets[first:, n].reshape(-1, *self.picture), one.reshape(-1, *self.picture))
            for n, one in enumerate(np.moveaxis(outputs[first:], 1, 0))
        ]

    @classmethod
    def apply(cls, network: Model, how: ApplyOptions) -> Iterator[dict[str, Any]]:
        return draw_frames(network, how)

    def artefacts(self) -> dict[str, Any]:
        return {"picture": self.picture}

    @classmethod
    def check_artefacts(cls, found: Mapping[str, Any]) -> tuple[int | None, int | None]:
        pixels = math.prod(kept_picture(found["picture"]))
        return pixels, pixels

    def fingerprint(self) -> str:
        return hashed([*self.parts.values()])


def asked(seen: np.ndarray, steps: int) -> Batch:
    """A batch without targets: frames `(S, B, ...)` to read, and so many to draw."""
    count = seen.shape[1]
    ones = np.ones((steps, count, 1), np.float32)
    return Batch(Pair(ones, seen, np.full((1, count), len(seen), np.int32)), None, ones[..., 0])


def draw_frames(network: Model, how: ApplyOptions) -> Iterator[dict[str, Any]]:
    """The frames that follow each clip of a file, or those read, drawn again; see `Task.apply`."""
    file, settings = how.given_file("an .npy or .npz file of clips"), how.settings
    clips = read_clips(file)
    check_size(clips, how.artefacts, str(file))
    if clips.shape[1] < settings.frames:
        raise BadInput(
            f"{file}: the clips have {clips.shape[1]} frames; the model reads {settings.frames}"
        )
    predicts = settings.learn != "reconstruct"
    if how.steps is not None and not predicts:
        raise BadInput("--steps is of predicted frames; this run draws again what it reads")
    first = settings.frames if settings.learn == "both" else 0
    ahead = (settings.ahead if how.steps is None else how.steps) if predicts else settings.frames
    for begin in range(0, len(clips), TOGETHER):
        seen = np.moveaxis(clips[begin : begin + TOGETHER, -settings.frames :], 0, 1)
        with own_precision(network):
            drawn = _sigmoid(outputs_on(network, asked(seen, first + ahead).arrays))[first:]
        drawn = drawn if predicts else drawn[::-1]
        how.report(begin + seen.shape[1], len(clips), "drawing the frames")
        for n in range(seen.shape[1]):
            frames = np.round(255 * drawn[:, n]).astype(np.uint8).reshape(-1, *clips.shape[2:])
            some = np.linspace(0, ahead - 1, min(SHADED, ahead)).round().astype(int)
            answer = {
                "number": begin + n,
                "text": frames_in_text(frames[None, some] / 255),
                "frames": frames.tolist(),
            }
            if how.pictures:
                rows = {"read": seen[-DRAWN:, n] / 255, "drawn": frames[:DRAWN] / 255}
                answer["picture"] = strip(f"Clip {begin + n}", rows).as_json()
            yield answer


def _cut(clips: np.ndarray, steps: int, where: str) -> np.ndarray:
    """Clips of so many frames, one after another from each."""
    count, length = clips.shape[:2]
    if length < steps:
        raise BadInput(f"{where}: the clips have {length} frames; {steps} are needed")
    each = length // steps
    return clips[:, : each * steps].reshape(count * each, steps, *clips.shape[2:])


def _sprites(shows: str, pixels: int, part: str) -> np.ndarray:
    """What moves in the drawn clips of a part."""
    if shows == "shapes":
        return shape_sprites(pixels // 2 - 1)
    side = next((side for side in DIGIT_SIDES if 2 * side <= pixels), None)
    if side is None:
        raise BadInput(f"digits need pixels of at least {2 * DIGIT_SIDES[-1]}, got {pixels}")
    if part == "test":
        images, _ = read_digits("t10k", more_than=0)
    else:
        images, _ = read_digits("train", more_than=VALID)
        images = images[:-VALID] if part == "train" else images[-VALID:]
    return smaller(images.reshape(-1, 28, 28), side)


def _sigmoid(outputs: jax.Array) -> np.ndarray:
    return np.asarray(jax.nn.sigmoid(outputs))


def _numbers(values: np.ndarray) -> str:
    return ", ".join(map(str, values))
