"""Recall stored patterns from corrupted ones."""

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...cells import Model
from ...data import Batch
from ...data.artefact_checks import kept_whole
from ...data.npz import read_npy
from ...errors import BadInput, naming
from ...settings import setting
from ...through_time import unroll
from ..abilities import OnFileTask
from ..batches import hashed, random
from ..checks import checked_length
from ..file_task import FileSettings
from ..finite import Finite
from ..framing import LastStep
from ..losses import SquaredError
from ..metrics import SHARE, StepMean
from ..task import Artefacts

# Letters of 5 by 7 pixels: the columns from left to right, the top row in the lowest bit.
LETTERS = {
    "A": "7e1111117e", "B": "7f49494936", "C": "3e41414122", "D": "7f4141221c", "E": "7f49494941",
    "F": "7f09090901", "G": "3e4149497a", "H": "7f0808087f", "I": "00417f4100", "J": "2040413f01",
    "K": "7f08142241", "L": "7f40404040", "M": "7f020c027f", "N": "7f0408107f", "O": "3e4141413e",
    "P": "7f09090906", "Q": "3e4151215e", "R": "7f09192946", "S": "4649494931", "T": "01017f0101",
    "U": "3f4040403f", "V": "1f2040201f", "W": "3f4038403f", "X": "6314081463", "Y": "0708700807",
    "Z": "6151494543",
}  # fmt: skip
COLUMNS = 5
CUES = 10  # held-out cues of each pattern
PATTERNS, NOISE = 1, 2  # places in the random numbers of the seed
PLACES = {"valid": 3, "test": 4}


@dataclasses.dataclass(frozen=True)
class BitsRight(StepMean):
    """The fraction of bits whose sign is right."""

    name = "bits right"
    higher_is_better = True
    bounds = SHARE

    def score(self, outputs: jax.Array, targets: Any) -> jax.Array:
        return jnp.mean((outputs > 0) == (jnp.asarray(targets) > 0), axis=-1, dtype=jnp.float32)


@dataclasses.dataclass(frozen=True)
class PatternsRight(StepMean):
    """The fraction of patterns of which every bit is right."""

    name = "patterns right"
    higher_is_better = True
    bounds = SHARE

    def score(self, outputs: jax.Array, targets: Any) -> jax.Array:
        right = jnp.all((outputs > 0) == (jnp.asarray(targets) > 0), axis=-1)
        return right.astype(jnp.float32)


class Recall(Finite, OnFileTask):
    """See a corrupted pattern, and answer with the one that it was made of.

    Patterns are vectors of -1 and 1: random ones, letters of 5 by 7 pixels, or the rows of a file.
    The input of the first step is a pattern with some of its bits flipped, the inputs of all
    others are zero, and the pattern is asked for at the last step. Training and held-out sequences
    have the same patterns, with other bits flipped; there are 10 held-out cues of each.

    `chance` is the best constant answer: for each bit, the more frequent of its two values.

    Source: Hopfield (1982); Lipton et al. (2015), section 3.1.

    Shapes: inputs and targets `(T, B, bits)`.

    Example:
        >>> task = Recall(patterns=3, letters=True, noise=0.0)
        >>> print(task.drawn(task.patterns[0]))
        .###.
        #...#
        #...#
        #...#
        #####
        #...#
        #...#
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(FileSettings):
        file: str | None = setting(
            None, "an .npy file with a pattern of -1 and 1 per row", of_file=True
        )
        patterns: int = setting(10, "how many random patterns or letters", min=1)
        bits: int = setting(100, "bits of a random pattern", min=1)
        letters: bool = setting(False, "letters of 5 by 7 pixels instead of random patterns")
        noise: float = setting(0.1, "fraction of the bits that are flipped", min=0, max=1)
        length: int = setting(10, "steps until the answer", min=2)

    name = "recall"
    framing = LastStep(SquaredError(), (BitsRight(), PatternsRight()))
    solved = 0.99

    def __init__(
        self,
        patterns: int | np.ndarray | None = None,
        *,
        source: str | None = None,
        **given: Any,
    ) -> None:
        """
        Args:
            patterns: an array of them, `(patterns, bits)`, or how many.
            source: where the patterns are from, for messages.
            given: `seed` of all that is random, and settings by name: `bits`, `letters`, `noise`
                and `length`; see `Settings`.
        """
        if isinstance(patterns, int | np.integer):
            given["patterns"], patterns = patterns, None
        super().__init__(**given)
        chosen, self._source = self.settings, source
        self.letters = chosen.letters and chosen.file is None
        if patterns is not None:
            self.patterns = checked_patterns(patterns)
        elif self.letters:
            self.patterns = _letters(chosen.patterns)
        else:
            shape = chosen.patterns, chosen.bits
            signs = random(self.seed, PATTERNS).integers(0, 2, shape)
            self.patterns = (2 * signs - 1).astype(np.float32)
        count, self.inputs = self.patterns.shape
        self.outputs = self.inputs
        self.length = chosen.length
        self.flipped = round(chosen.noise * self.inputs)
        share = np.mean(self.patterns > 0, axis=0)
        self.chance = float(np.mean(np.maximum(share, 1 - share)))
        self.held_out_together = CUES * count

    @classmethod
    def from_settings(cls, settings: Any, seed: int, artefacts: Artefacts = None) -> "Recall":
        patterns = None if settings.file is None else _read(settings.file)
        return cls(patterns, seed=seed, source=settings.file, settings=settings)

    @classmethod
    def on_file(cls, path: Path, settings: Any, artefacts: dict[str, Any]) -> "Recall":
        patterns, bits = _read(path), artefacts["bits"]
        if patterns.shape[1] != bits:
            raise BadInput(
                f"the patterns of {path} have {patterns.shape[1]} bits, the trained ones {bits}"
            )
        return cls(patterns, source=str(path), settings=settings)

    @property
    def source(self) -> str:
        return "the patterns are" if self._source is None else f"{self._source} is"

    @property
    def lag(self) -> int:
        return self.length - 1

    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        return self._cued(random(self.seed, NOISE, index), self.chosen(index, size), length)

    def count(self, part: str) -> int:
        return len(self.patterns) * (1 if part == "train" else CUES)

    @functools.cached_property
    def _held_out(self) -> dict[str, Batch]:
        which = np.repeat(np.arange(len(self.patterns)), CUES)
        return {part: self._cued(random(self.seed, n), which, None) for part, n in PLACES.items()}

    def together(self, part: str, which: np.ndarray) -> Batch:
        return self._held_out[part].take(which)

    def _cued(self, rng: np.random.Generator, which: np.ndarray, length: int | None) -> Batch:
        patterns = self.patterns[which]
        places = np.argsort(rng.random(patterns.shape), axis=1)[:, : self.flipped]
        cues = patterns.copy()
        np.put_along_axis(cues, places, -np.take_along_axis(cues, places, 1), 1)
        steps = checked_length(self, length, 2)
        inputs = np.zeros((steps, *patterns.shape), np.float32)
        inputs[0] = cues
        return Batch(inputs, *self.framing.asked(steps, patterns))

    def artefacts(self) -> dict[str, Any]:
        return {"bits": self.inputs}

    @classmethod
    def check_artefacts(cls, artefacts: Mapping[str, Any]) -> tuple[int | None, int | None]:
        bits = kept_whole(artefacts["bits"], "number of bits")
        return bits, bits

    def fingerprint(self) -> str:
        return hashed([self.patterns, self.batch(0, 2).inputs])

    def preview(self, network: Model, key: jax.Array) -> str | None:
        """Three cues and what the network answers, for letters."""
        if not self.letters:
            return None
        (batch, *_) = self.held_out("valid", self.held_out_together)
        some = batch.take(slice(0, 3 * CUES, CUES))
        answers, _ = unroll(network.as_layer(), jnp.asarray(some.inputs))
        pairs = zip(some.inputs[0], np.asarray(answers[-1]), strict=True)
        drawn = [self.drawn(x).splitlines() for pair in pairs for x in pair]
        gaps = [" → ", "    "] * 3
        return "\n".join(
            "".join(part for pair in zip(row, gaps, strict=True) for part in pair).rstrip()
            for row in zip(*drawn, strict=True)
        )

    def drawn(self, pattern: np.ndarray) -> str:
        """A letter as text."""
        rows = np.asarray(pattern).reshape(-1, COLUMNS) > 0
        return "\n".join("".join("#" if dot else "." for dot in row) for row in rows)


def checked_patterns(patterns: Any) -> np.ndarray:
    """Patterns `(patterns, bits)` of -1 and 1 as float32."""
    rows = np.asarray(patterns)
    if rows.ndim != 2 or not rows.size:
        raise BadInput(f"patterns are the rows of an array (patterns, bits), got {rows.shape}")
    if not np.isin(rows, (-1, 1)).all():
        strange = rows[~np.isin(rows, (-1, 1))].flat[0]
        raise BadInput(f"the bits of a pattern are -1 and 1, got {strange}")
    return rows.astype(np.float32)


def _read(path: str | Path) -> np.ndarray:
    with naming(path):
        return checked_patterns(read_npy(path))


def _letters(count: int) -> np.ndarray:
    if not 1 <= count <= len(LETTERS):
        raise BadInput(f"there are {len(LETTERS)} letters, got patterns = {count}")
    columns = np.array([[*bytes.fromhex(x)] for x in LETTERS.values()][:count])
    dots = columns[:, None, :] >> np.arange(7)[:, None] & 1
    return (2 * dots - 1).reshape(count, -1).astype(np.float32)
