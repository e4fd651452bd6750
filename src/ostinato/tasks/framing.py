"""What a batch asks at which step, and how the answers are judged.

    PerStep       an answer at every step that counts
    LastStep      an answer at the last step alone
    Written       the symbols that a decoder writes, each after reading the one before
    Transcript    labels without places, learned by CTC

A framing has the loss, the metrics and the chance level of its task, and makes targets and weights.
For classes and numbers of a user's own data it is a `TargetCodec`; an answer per sequence of its
own length is made by `data.examples.Examples.batch`.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..data import Batch
from ..data.padding import padded_columns
from ..data.tokens import END
from ..wiring.encoder_decoder import Pair
from .ctc import CTC, LabelErrorRate, WordAccuracy, check_transcripts
from .losses import Loss
from .metrics import Metric


class Framing(Protocol):
    """How the answers of a network are judged; see `Task` for the three."""

    @property
    def loss(self) -> Loss: ...
    @property
    def metrics(self) -> tuple[Metric, ...]: ...
    @property
    def chance(self) -> float: ...


@dataclasses.dataclass(frozen=True)
class PerStep:
    """An answer at every step that counts.

    Attributes:
        loss: what training minimises.
        metrics: what evaluations report.
        chance: the first metric of the best answer that ignores the input; a task that computes it
            has it as its own attribute.
    """

    loss: Loss
    metrics: tuple[Metric, ...]
    chance: float = math.nan


class LastStep(PerStep):
    """An answer at the last step alone."""

    def asked(self, length: int, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Targets `(T, B, ...)` and weights `(T, B)`, both zero before the last step.

        Args:
            length: T, the number of steps.
            targets: those of the last step, `(B,)` symbols or `(B, outputs)`.
        """
        everywhere = np.zeros((length, *targets.shape), targets.dtype)
        everywhere[-1] = targets
        weights = np.zeros((length, len(targets)), np.float32)
        weights[-1] = 1
        return everywhere, weights


class Written(PerStep):
    """The symbols that a decoder writes, each after reading the one before."""

    @staticmethod
    def batch(
        source: np.ndarray, lengths: np.ndarray, targets: Sequence[np.ndarray], steps: int
    ) -> Batch:
        """A batch in which a decoder reads each symbol of a target before it writes the next.

        Args:
            source: `(S, B, ...)`, what the encoder reads.
            lengths: `(B,)`, the steps of each source.
            targets: symbols with their ends; sources without a target count nothing.
            steps: T, to which the targets are padded.

        Example:
            >>> from ostinato.tasks.framing import Written
            >>> source, lengths = np.array([[5, 6]]), np.array([1, 1])
            >>> batch = Written.batch(source, lengths, [np.array([3, 4, 0]), np.array([3, 0])], 3)
            >>> batch.inputs.target[:, 0].tolist(), batch.targets[:, 0].tolist()
            ([0, 3, 4], [3, 4, 0])
            >>> batch.weights[:, 1]
            array([1., 1., 0.], dtype=float32)
        """
        wanted, sizes = padded_columns(targets, steps, len(lengths))
        read = np.concatenate([np.full_like(wanted[:1], END), wanted[:-1]])
        weights = (np.arange(steps)[:, None] < sizes).astype(np.float32)
        weights[:, len(targets) :] = 0
        return Batch(Pair(read, source, lengths[None]), wanted, weights, lengths=sizes)


class Transcript(PerStep):
    """Labels without places, learned by CTC; `chance` is that of an empty transcript.

    Transcripts that are words are also judged as a whole.
    """

    def __init__(self, words: bool = False) -> None:
        super().__init__(CTC(), (LabelErrorRate(), *([WordAccuracy()] if words else [])), 1.0)

    @staticmethod
    def batch(
        inputs: np.ndarray, lengths: np.ndarray, labels: np.ndarray, counts: np.ndarray, known: int
    ) -> Batch:
        """A batch of sequences with their transcripts.

        Args:
            inputs: `(T, B, inputs)`.
            lengths: `(B,)`, the valid steps of each.
            labels: `(B, L)`, from 0.
            counts: `(B,)`, how many of them each transcript has.
            known: the number of different labels.
        """
        counted = np.arange(labels.shape[1])[:, None] < counts
        targets = np.where(counted, labels.T + 1, 0).astype(np.int32)
        return check_transcripts(Batch(inputs, targets, counted.astype(np.float32), lengths), known)
