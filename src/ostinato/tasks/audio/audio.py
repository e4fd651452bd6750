"""An audio effect of your own: learn it from a recording before it and one after it."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import jax
import numpy as np

from ...cells import Model
from ...data import Batch
from ...data.artefact_checks import kept_whole
from ...data.generated.effects import RATE, effect_pair
from ...data.splits import PARTS, divided, in_percent, shares
from ...data.wav import Sound, read_wav, wav_bytes
from ...errors import BadInput
from ...settings import checked_int, setting
from ..abilities import AnsweringTask, PicturedTask
from ..applying import ApplyOptions, outputs_on, outputs_through
from ..batches import hashed
from ..checks import checked_part
from ..file_task import FileSettings, FileTask, Reading
from ..framing import PerStep
from ..interface import Interface
from ..pictures import Plot
from ..series.sparklines import WIDEST, sparkline
from ..task import Artefacts
from ..windows import Stream, Streamed, in_windows
from .esr import ErrorToSignal, ErrorToSignalRatio

PIECE = 1 << 15  # samples of one compiled call where a sound is rendered; the state is carried
SHOWN = 0.012  # seconds that are drawn


class Audio(Streamed, FileTask, AnsweringTask, PicturedTask):
    """Learn what an effect does to a sound; without files, what an overdrive does to strings.

    At each step a sample of the dry sound comes in, and the sample of the wet sound is to be
    predicted. Samples are read as they are, with full scale from -1 to 1, so that a plug-in needs
    no scaling. With `residual` the network's output is added to the dry sample.

    The parts follow one another in time. A training batch is a window of contiguous streams, and
    the next one goes on where it ended; after each beginning `washout` samples do not count.

    The loss is the error-to-signal ratio with pre-emphasis; see `esr`. `chance` is the ratio of the
    best constant, and the baseline `dry` that of the sound as it came, at its best volume.

    Shapes: inputs and targets `(T, B, 1)`.

    Example:
        >>> dry = np.sin(np.arange(5000) / 9)
        >>> task = Audio(dry, np.tanh(3 * dry), length=200, washout=50)
        >>> task.batch(0, size=4).inputs.shape
        (200, 4, 1)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(FileSettings):
        file: str | None = setting(
            None, "a WAV file with the dry sound left and the wet sound right", of_file=True
        )
        source: str | None = setting(None, "the dry sound, a WAV file", of_file=True)
        target: str | None = setting(None, "the wet sound, a WAV file", of_file=True)
        mix: bool = setting(False, "mix the channels of a stereo file into one", of_file=True)
        residual: bool = setting(False, "add the dry sound to the network's output")
        length: int = setting(1000, "samples of a window", min=2)
        washout: int = setting(
            500, "samples after a beginning that do not count, for the state to settle", min=0
        )
        carry: bool = setting(
            True, "contiguous streams with carried state, or independent sequences"
        )
        split: str = setting(
            "80/10/10", "percent for training, validation, test", read=shares, write=in_percent
        )
        paths: ClassVar[tuple[str, ...]] = ("file", "source", "target")

        def __post_init__(self) -> None:
            super().__post_init__()
            if (self.source is None) != (self.target is None):
                raise BadInput("an effect is learned from a pair of WAV files: source and target")
            if self.file is not None and self.source is not None:
                raise BadInput(f"{self.file} is a pair of sounds; leave out source and target")

    name, inputs, outputs = "audio", 1, 1
    apply_options: ClassVar[tuple[str, ...]] = ("save",)
    save_as = ".wav"
    plural = True
    pictured = "What the network makes of the sound"
    recipe = MappingProxyType({"cell": "lstm", "units": 16, "rate": 0.01, "steps": 1000})

    def __init__(
        self,
        dry: Any,
        wet: Any,
        rate: int = RATE,
        *,
        source: str = "the sounds",
        notes: tuple[str, ...] = (),
        artefacts: Artefacts = None,
        **given: Any,
    ):
        """
        Args:
            dry, wet: the sound before and after the effect, `(T,)`, from -1 to 1.
            rate: samples per second.
            source: where the sounds are from, for messages.
            notes: what was done to them, a sentence each.
            artefacts: of a trained model, which knows one rate alone.
            given: `seed` of all that is random, and settings by name: `residual`, `length`,
                `washout`, `carry` and `split`; see `Settings`.
        """
        super().__init__(source=source, **given)
        chosen = self.settings
        self.rate = checked_int("rate", rate)
        check_rate(self.rate, artefacts or {}, source)
        x, y = (
            _samples(sound, f"{source}: {name}") for name, sound in (("dry", dry), ("wet", wet))
        )
        if len(x) != len(y):
            raise BadInput(
                f"{source}: the dry sound has {len(x):,} samples and the wet one {len(y):,}; give "
                "recordings that begin and end together"
            )
        self.length, self.washout, self.carry = chosen.length, chosen.washout, chosen.carry
        self.notes = notes
        if self.washout >= self.length:
            raise BadInput(f"washout must be below length, {self.length}, got {self.washout}")
        targets = y - x if chosen.residual else y
        self.parts = {}
        for part, some in divided(len(x), shares(chosen.split), "samples").items():
            self.parts[part] = self._stream(part, x[some], targets[some], y[some], some.start)
        esr = ErrorToSignalRatio(chosen.residual), ErrorToSignalRatio(chosen.residual, True)
        self.framing = PerStep(ErrorToSignal(chosen.residual), esr)

    def _stream(
        self, part: str, x: np.ndarray, targets: np.ndarray, y: np.ndarray, begin: int
    ) -> Stream:
        """The samples of a part, if there is something to hear in them."""
        if 0 < len(x) <= self.washout:
            raise BadInput(
                f"the part {part} of {self.where} has {len(x):,} samples, no more than the washout "
                f"of {self.washout:,}; give longer sounds, or a smaller washout"
            )
        place = f"{begin / self.rate:.2f} to {(begin + len(x)) / self.rate:.2f} s"
        for name, sound in (("dry", x), ("wet", y)):
            if len(sound) and not np.any(sound[self.washout :]):
                raise BadInput(f"{self.where}: the {name} sound is silent from {place} ({part})")
        steps = np.arange(len(x))
        return Stream(x[:, None], targets[:, None], steps >= self.washout, steps == 0)

    def stream_of(self, part: str) -> Stream:
        return self.parts[part]

    def evaluated(self, part: str) -> Iterator[Batch]:
        return in_windows(self.parts[checked_part(part)], 1, PIECE)

    @cached_property
    def chance(self) -> float:
        y = self._wet("train")
        return float(y.var() / np.mean(y**2))

    def _wet(self, part: str) -> np.ndarray:
        """The wet samples of a part that count, `(T,)`, in float64."""
        x, y, there, _ = self.parts[part]
        wet = y.astype(float) + x if self.settings.residual else y.astype(float)
        return wet[there, 0]

    def yardsticks(self, part: str) -> dict[str, float]:
        x, y = self.parts[part].inputs[self.parts[part].there, 0].astype(float), self._wet(part)
        if not len(y):
            return {}
        volume = x @ y / (x @ x)
        return {"dry": float(np.sum((y - volume * x) ** 2) / (y @ y))}

    # What is shown and kept

    def _drawn(self, network: Model) -> dict[str, np.ndarray]:
        """The dry and wet sound and the network's, around a loud sample early in a part."""
        part = next(part for part in ("valid", "train") if self.parts[part].steps)
        stream, count = self.parts[part], round(SHOWN * self.rate)
        stream = Stream(*(values[: max(4 * self.length, count)] for values in stream))
        (batch,) = in_windows(stream, 1, stream.steps)
        outputs = np.asarray(outputs_on(network, batch.arrays))[:, 0, 0]
        dry, wet = batch.inputs[:, 0, 0], batch.targets[:, 0, 0]
        if self.settings.residual:
            outputs, wet = outputs + dry, wet + dry
        loudest = self.washout + int(np.argmax(np.abs(wet[self.washout :])))
        begin = max(min(loudest - count // 2, stream.steps - count), 0)
        some = slice(begin, begin + count)
        return {"dry": dry[some], "wet": wet[some], "network": outputs[some]}

    def preview(self, network: Model, key: jax.Array) -> str | None:
        """A hundredth of a second of the dry and wet sound, and what the network makes of it."""
        lines = self._drawn(network)
        low, high = min(lines["wet"].min(), -1e-9), max(lines["wet"].max(), 1e-9)
        step = max(len(lines["wet"]) // WIDEST, 1)
        return "\n".join(
            f"{name:<10}{sparkline(row[::step][:WIDEST], low, high)}" for name, row in lines.items()
        )

    def plots(self, network: Model) -> list[Plot]:
        lines = self._drawn(network)
        times = (1000 * np.arange(len(lines["wet"])) / self.rate).tolist()
        title = "The sound before the effect, after it, and from the network"
        return [Plot("waves", title, "milliseconds", "sample", times, lines)]

    def artefacts(self) -> dict[str, Any]:
        return {"rate": self.rate}

    @classmethod
    def check_artefacts(cls, artefacts: Mapping[str, Any]) -> tuple[int | None, int | None]:
        kept_whole(artefacts["rate"], "sample rate")
        return 1, 1

    @classmethod
    def interface(cls, settings: Any, artefacts: Mapping[str, Any]) -> Interface:
        return Interface("audio", {"rate": artefacts["rate"], "residual": settings.residual})

    def fingerprint(self) -> str:
        return hashed([x for part in PARTS for x in self.parts[part]])

    # Files

    @classmethod
    def read(cls, given: Reading) -> "Audio":
        one, two = given.settings.source, given.settings.target
        if given.file is not None:
            sound = read_wav(given.file)
            if sound.samples.shape[1] != 2:
                raise BadInput(
                    f"{given.file} has {sound.samples.shape[1]} channels; give two, the dry sound "
                    "left and the wet sound right, or two files as source and target"
                )
            dry, wet, where = sound.samples[:, 0], sound.samples[:, 1], given.file
            rate, notes = sound.rate, _heard({where: sound})
        elif one is None:
            (dry, wet), where = effect_pair(given.seed), "the plucked strings"
            rate, notes = RATE, ()
        else:
            sounds, where = {path: read_wav(path) for path in (one, two)}, f"{one} and {two}"
            rate, notes = sounds[one].rate, _heard(sounds)
            if rate != sounds[two].rate:
                rates = " and ".join(f"{path} {x.rate:,} Hz" for path, x in sounds.items())
                raise BadInput(f"the two files need one sample rate; {rates}")
            several = [path for path, x in sounds.items() if x.samples.shape[1] > 1]
            if several and not given.settings.mix:
                raise BadInput(
                    f"{several[0]} has {sounds[several[0]].samples.shape[1]} channels; save one of "
                    "them, or add --mix to mix them into one"
                )
            notes += tuple(f"the channels of {path} are mixed into one" for path in several)
            dry, wet = (sounds[path].samples.mean(axis=1) for path in (one, two))
        return cls(dry, wet, rate, source=where, notes=notes, **given.arguments)

    @classmethod
    def verb(cls, artefacts: Mapping[str, Any]) -> str:
        return "render"

    @classmethod
    def apply(cls, network: Model, how: ApplyOptions) -> Iterator[dict[str, Any]]:
        """The given sound through the effect, each channel by itself."""
        if how.in_memory:
            sound = Sound(how.artefacts["rate"], _samples(how.given, "the sound", channels=True))
        else:
            sound = read_wav(how.given_file("a WAV file"))
        check_rate(sound.rate, how.artefacts, how.where)
        made = np.concatenate([*_rendered(network, sound.samples, how)])[: len(sound.samples)]
        if how.settings.residual:
            made = made + sound.samples
        peak = float(np.abs(made).max())
        answer = {
            "number": 0,
            "text": f"{sound.seconds:.2f} s at {sound.rate:,} Hz, peak {peak:.3f}",
            "rate": sound.rate,
            "bits": sound.bits,
            "floats": sound.floats,
            "samples": made if how.save else made.tolist(),
        }
        if peak > 1 and not sound.floats:
            answer["notes"] = ["the sound goes beyond full scale and is clipped there"]
        yield answer

    @classmethod
    def saved(cls, answers: Iterable[dict[str, Any]]) -> tuple[bytes, str]:
        (one,) = answers
        sound = Sound(one["rate"], one["samples"], one["bits"], one["floats"])
        return wav_bytes(sound), one["text"]


def check_rate(rate: int, artefacts: Mapping[str, Any], where: str) -> None:
    """Refuse another sample rate than that of a trained network."""
    if artefacts and rate != artefacts["rate"]:
        raise BadInput(
            f"{where} has {rate:,} samples per second; the network has learned "
            f"{artefacts['rate']:,}: convert it first"
        )


def _heard(sounds: Mapping[str, Sound]) -> tuple[str, ...]:
    """What is worth a word about some files."""
    return tuple(
        f"{path} is at full scale for several samples in a row; was it clipped?"
        for path, sound in sounds.items()
        if sound.clipped
    )


def _samples(sound: Any, what: str, channels: bool = False) -> np.ndarray:
    """Samples `(T,)` as float32, or with channels `(T, channels)`; refuses anything else."""
    try:
        samples = np.asarray(sound)
        good = samples.dtype.kind == "f" and samples.size and np.isfinite(samples).all()
    except ValueError:
        good = False
    if not good or samples.ndim not in ((1, 2) if channels else (1,)):
        shape = "(T,) or (T, channels)" if channels else "(T,)"
        raise BadInput(f"{what} must be finite floats {shape}, at least one")
    samples = samples.astype(np.float32)
    return samples.reshape(len(samples), -1) if channels else samples


def _rendered(network: Model, samples: np.ndarray, how: ApplyOptions) -> Iterator[np.ndarray]:
    """The outputs `(T, channels)` of a network on a sound, piece by piece."""
    size = PIECE if network.can_step and len(samples) > PIECE else len(samples)

    def pieces() -> Iterator[Batch]:
        for begin in range(0, len(samples), size):
            piece = samples[begin : begin + size]
            piece = np.pad(piece, ((0, size - len(piece)), (0, 0)))[..., None]
            yield Batch(piece, None, np.ones(piece.shape[:2], np.float32), first=begin == 0)

    for n, (outputs, _) in enumerate(outputs_through(network, pieces()), 1):
        how.report(min(n * size, len(samples)), len(samples), "rendering the sound")
        yield np.asarray(outputs, np.float32)[..., 0]
