"""Read a film, then draw it again, draw what comes next, or both."""

import dataclasses
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import jax
import numpy as np

from ...cells import Model
from ...data import Batch
from ...data.artefact_checks import kept_picture
from ...data.generated.moving import MovingClips, shape_sprites, smaller
from ...data.pictures import checked_clips, read_clips
from ...data.splits import divided_at_random, in_percent, shares
from ...errors import BadInput
from ...settings import setting
from ...weights import own_precision
from ...wiring.encoder_decoder import Pair
from ...wiring.video import LEARNED
from ..abilities import AnsweringTask, PicturedTask
from ..applying import ApplyOptions, outputs_on
from ..batches import Own, hashed, random
from ..checks import checked_length, checked_seed
from ..downloaded import digits_by_part
from ..file_task import FileSettings, FileTask, Reading
from ..finite import Finite
from ..framing import PerStep
from ..losses import BinaryCrossEntropy
from ..metrics import FrameError, NatsPerStep, OfSteps
from ..pairs.captions import check_size
from ..pictures import Picture, frames_in_text, strip
from ..task import Artefacts

LOSS = BinaryCrossEntropy()
HELD_OUT = {"valid": 200, "test": 1000}  # drawn clips
SPLIT, MADE = 1, 2  # places in the random numbers of the seed; 0 is the order
SHADED, DRAWN = 4, 10  # frames in a preview, and in a picture
SHOWN = 3  # clips in a report
TOGETHER = 64  # clips that are predicted at once
SAMPLED = 500  # training clips from which chance is computed
AHEAD = (1, 2, 5, 10, 20, 50, 100)  # frames ahead whose errors an evaluation tells
DIGIT_SIDES = (28, 14, 7)


class Video(Finite, FileTask, AnsweringTask, PicturedTask):
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
            "80/10/10",
            "percent for training, validation, test",
            read=shares,
            write=in_percent,
            of_file=True,
        )

    name = "video"
    apply_options = ("steps", "pictures", "save")
    save_as = ".npy"
    unit, plural = "clips", True
    drawn_settings = ("shows", "things", "pixels", "clips")
    pictured = "What the network draws"

    def __init__(
        self,
        parts: Mapping[str, np.ndarray | MovingClips],
        *,
        drawn: bool = False,
        where: str = "the clips",
        artefacts: Artefacts = None,
        **given: Any,
    ):
        """
        Args:
            parts: clips `(N, T, height, width, channels)`, uint8, of `"train"`, `"valid"` and
                `"test"`.
            drawn: whether the clips are drawn when they are asked for.
            where: where the clips are from, for messages.
            artefacts: of a trained model, which reads frames of one size alone.
            given: `seed` of the order, and settings by name: `learn`, `frames`, `ahead`,
                `conditional` and `convolutions`; see `Settings`.
        """
        super().__init__(source=where, **given)
        chosen, self.drawn = self.settings, drawn
        self.again = 0 if chosen.learn == "predict" else chosen.frames
        self.ahead = 0 if chosen.learn == "reconstruct" else chosen.ahead
        self.length = self.again + self.ahead
        self.parts = {x: _cut(parts[x], chosen.frames + self.ahead, where) for x in parts}
        if artefacts is not None:
            check_size(self.parts["train"], artefacts, where)
        self.picture = [*map(int, self.parts["train"].shape[2:])]
        self.inputs = self.outputs = math.prod(self.picture)
        ranges = ("predicted", self.again, self.length), ("reconstructed", 0, self.again)
        metrics = [
            OfSteps(metric, f"{name} per {what} frame", begin, end)
            for what, begin, end in ranges
            if begin < end
            for name, metric in (("squared error", FrameError()), ("nats", NatsPerStep(LOSS)))
        ]
        self.framing = PerStep(LOSS, tuple(metrics))
        self.model = {
            "kind": "video",
            "picture": self.picture,
            "learn": chosen.learn,
            "conditional": chosen.conditional,
            "convolutions": chosen.convolutions,
        }

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
        parts = {part: every[which] for part, which in chosen.items()}
        return cls(parts, seed=seed, where=where, **options)

    @classmethod
    def read(cls, given: Reading) -> "Video":
        """The task of a file, or of moving shapes or digits."""
        file, settings, seed, _ = given
        if file is not None:
            split = shares(settings.split)
            return cls.of(read_clips(file), split=split, where=file, **given.arguments)
        ahead = 0 if settings.learn == "reconstruct" else settings.ahead
        size = settings.frames + ahead, settings.pixels, settings.things
        parts = {
            part: MovingClips(random(seed, MADE, n), _sprites(settings, part), count, *size)
            for n, (part, count) in enumerate({"train": settings.clips, **HELD_OUT}.items())
        }
        return cls(parts, drawn=True, where=f"the moving {settings.shows}", **given.arguments)

    # Batches

    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        return self.batch_of(slice, index, size, length)[0]

    def batch_of(
        self, own: Own, index: int, size: int, length: int | None = None
    ) -> tuple[Batch, int]:
        checked_length(self, length, self.length, self.length, ": the frames that are drawn")
        which = self.chosen(index, size)
        batch = self.together("train", which[own(len(which))])
        return batch, batch.steps * len(which)

    def together(self, part: str, which: np.ndarray) -> Batch:
        clips, frames = np.moveaxis(self.parts[part][which], 0, 1), self.settings.frames
        wanted = np.concatenate([clips[:frames][::-1][: self.again], clips[frames:]])
        pixels = wanted.reshape(self.length, len(which), -1).astype(np.float32) / 255
        return asked(clips[:frames], self.length)._replace(targets=pixels)

    # What is measured

    @cached_property
    def chance(self) -> float:
        """The variance of all pixels together, of what the first metric looks at."""
        some = self.together("train", np.arange(min(SAMPLED, self.count("train"))))
        judged = some.targets[-self.ahead :].reshape(-1, self.outputs)
        return float(judged.var(axis=0, dtype=np.float64).sum())

    def yardsticks(self, part: str) -> dict[str, float]:
        again = self._errors(part, _last_again)
        return {"the last frame again": float(again.mean())} if again.size else {}

    def scores(self, network: Model, part: str) -> dict[str, Any]:
        """The error of a frame by how far ahead it is, beside that of the last frame again."""
        errors = self._errors(part, lambda batch: drawn_by(network, batch)[self.again :])
        again, scores = self._errors(part, _last_again), {}
        for n in (n for n in AHEAD if n <= len(errors)):
            scores[f"squared error {n} ahead"] = float(errors[n - 1])
            scores[f"squared error {n} ahead, the last frame again"] = float(again[n - 1])
        return scores

    def _errors(self, part: str, drawn: Callable[[Batch], np.ndarray]) -> np.ndarray:
        """The squared error of what is drawn, for each of the frames ahead, if there are any."""
        if not self.ahead or not self.count(part):
            return np.zeros(0)
        total = np.zeros(self.ahead)
        for batch in self.evaluated(part):
            apart = drawn(batch) - batch.targets[self.again :]
            total += np.sum(apart**2, axis=(1, 2), dtype=np.float64)
        return total / self.count(part)

    # What is shown and kept

    def preview(self, network: Model, key: jax.Array) -> str | None:
        """Some frames of a validation clip, and below them what the network draws."""
        (_, true, drawn), *_ = self._examples(network, 1)
        some = np.unique(np.linspace(0, len(true) - 1, SHADED).round().astype(int))
        numbers = ", ".join(map(str, some + 1))
        what = f"{numbers} frames ahead" if self.ahead else f"frames {numbers} from the last"
        return f"true and drawn, {what}:\n{frames_in_text(np.stack([true[some], drawn[some]]))}"

    def pictures(self, network: Model) -> list[Picture]:
        """Some validation clips: the frames read, what is true, and what the network draws."""
        true = "next" if self.ahead else "backwards"
        return [
            strip(f"Clip {n}", {"read": x[-DRAWN:], true: y[:DRAWN], "drawn": z[:DRAWN]})
            for n, (x, y, z) in enumerate(self._examples(network, SHOWN), 1)
        ]

    def _examples(self, network: Model, count: int) -> list[tuple[np.ndarray, ...]]:
        """Of some validation clips, frames `(steps, *picture)` that are read, true and drawn."""
        part = "valid" if self.count("valid") else "train"
        batch = self.together(part, np.arange(min(count, self.count(part))))
        all_three = batch.inputs.source / 255, batch.targets, drawn_by(network, batch)
        read, true, drawn = (x.reshape(*x.shape[:2], *self.picture) for x in all_three)
        return [
            (read[:, n], true[-self.ahead :, n], drawn[-self.ahead :, n])
            for n in range(batch.sequences)
        ]

    @classmethod
    def saved(cls, answers: Iterable[dict[str, Any]]) -> tuple[bytes, str]:
        drawn, array = [np.array(answer["frames"], np.uint8) for answer in answers], io.BytesIO()
        np.save(array, np.stack(drawn))
        return array.getvalue(), f"{len(drawn)} clips of {len(drawn[0])} frames"

    @classmethod
    def apply(cls, network: Model, how: ApplyOptions) -> Iterator[dict[str, Any]]:
        """The frames that follow each given clip; of an autoencoder, those read, again."""
        chosen, predicts = how.settings, how.settings.learn != "reconstruct"
        clips = read_clips(how.file_or_data("an .npy or .npz file of clips"))
        check_size(clips, how.artefacts, how.where)
        if clips.shape[1] < chosen.frames:
            raise BadInput(
                f"{how.where}: the clips have {clips.shape[1]} frames; the model reads "
                f"{chosen.frames}"
            )
        if how.steps is not None and not predicts:
            raise BadInput("--steps is of predicted frames; this run draws again what it reads")
        ahead = (how.steps or chosen.ahead) if predicts else chosen.frames
        first = chosen.frames if chosen.learn == "both" else 0
        for begin in range(0, len(clips), TOGETHER):
            seen = np.moveaxis(clips[begin : begin + TOGETHER, -chosen.frames :], 0, 1)
            with own_precision(network):
                drawn = drawn_by(network, asked(seen, first + ahead))[first:]
            how.report(begin + seen.shape[1], len(clips), "drawing the frames")
            for n in range(seen.shape[1]):
                frames = drawn[:: 1 if predicts else -1, n].reshape(ahead, *clips.shape[2:])
                some = np.linspace(0, ahead - 1, min(SHADED, ahead)).round().astype(int)
                answer = {
                    "number": begin + n,
                    "text": frames_in_text(frames[None, some]),
                    "frames": np.round(255 * frames).astype(int).tolist(),
                }
                if how.pictures:
                    rows = {"read": seen[-DRAWN:, n] / 255, "drawn": frames[:DRAWN]}
                    answer["picture"] = strip(f"Clip {begin + n}", rows).as_json()
                yield answer

    def artefacts(self) -> dict[str, Any]:
        return {"picture": self.picture}

    @classmethod
    def check_artefacts(cls, artefacts: Mapping[str, Any]) -> tuple[int | None, int | None]:
        pixels = math.prod(kept_picture(artefacts["picture"]))
        return pixels, pixels

    def fingerprint(self) -> str:
        return super().fingerprint() if self.drawn else hashed([*self.parts.values()])


def asked(seen: np.ndarray, steps: int) -> Batch:
    """A batch without targets: frames `(S, B, ...)` to read, and so many to draw."""
    count = seen.shape[1]
    ones = np.ones((steps, count, 1), np.float32)
    return Batch(Pair(ones, seen, np.full((1, count), len(seen), np.int32)), None, ones[..., 0])


def drawn_by(network: Model, batch: Batch) -> np.ndarray:
    """The frames `(T, B, pixels)` that a network draws, from 0 to 1."""
    return np.asarray(jax.nn.sigmoid(outputs_on(network, batch.arrays)))


def _last_again(batch: Batch) -> np.ndarray:
    """The last frame that was read, `(1, B, pixels)`."""
    last = batch.inputs.source[-1:]
    return last.reshape(1, last.shape[1], -1).astype(np.float32) / 255


def _cut(clips: Any, steps: int, where: str) -> Any:
    """Clips of so many frames, one after another from each longer one."""
    count, length = clips.shape[:2]
    if length < steps:
        raise BadInput(f"{where}: the clips have {length} frames; {steps} are needed")
    if length == steps:
        return clips
    each = length // steps
    return clips[:, : each * steps].reshape(count * each, steps, *clips.shape[2:])


def _sprites(settings: Any, part: str) -> np.ndarray:
    """What moves in the drawn clips of a part."""
    if settings.shows == "shapes":
        return shape_sprites(settings.pixels // 2 - 1)
    side = next((side for side in DIGIT_SIDES if 2 * side <= settings.pixels), 0)
    if not side:
        least = 2 * DIGIT_SIDES[-1]
        raise BadInput(f"digits need pixels of at least {least}, got {settings.pixels}")
    return smaller(digits_by_part()[part][0].reshape(-1, 28, 28), side)
