"""Tasks on sequences of random bit vectors, in which all outputs are bits.

The sequences of a batch have different numbers of items, drawn uniformly; they are padded to the
longest possible.
"""

import abc
import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ...cells import Model
from ...data import Batch
from ...errors import BadInput
from ...settings import setting
from ...weights import own_precision
from ..applying import outputs_on
from ..batches import random
from ..checks import checked_length, checked_part
from ..framing import PerStep
from ..generated import PLACES, Generated
from ..losses import BinaryCrossEntropy
from ..metrics import NOT_NEGATIVE, SHARE, Ratio, StepMean, counted, total, values_of
from ..task import Task

Draw = Callable[[np.random.Generator, int], Batch]  # draws so many sequences
FEW = 64  # longer sequences
LONGER = 3  # the place of the random numbers of longer sequences


def by_machine(**more: Any) -> Mapping[str, Any]:
    """The recipe of a task that a neural Turing machine learns, with its own settings.

    `benchmarks/turing.py learn` has measured the recipes of all five tasks.
    """
    usual = {"cell": "lstm", "units": 100, "input": "glorot", "turing": "128x20"}
    return MappingProxyType({**usual, "learner": "adam", "clip": "1", "batch": 32, **more})


@dataclasses.dataclass(frozen=True)
class BitsPerSequence(Ratio):
    """The cross-entropy of all bits of a sequence, in bits, averaged over sequences.

    Example:
        >>> batch = Batch(None, jnp.zeros((5, 2, 8)), jnp.ones((5, 2)))
        >>> metric = BitsPerSequence()
        >>> metric.value(metric.counts(jnp.zeros((5, 2, 8)), batch))  # 8 unknown bits at 5 steps
        40.0
    """

    name = "bits per sequence"
    bounds = NOT_NEGATIVE

    def counts(self, outputs: jax.Array, batch: Batch) -> Any:
        weights = jnp.asarray(batch.counted)
        nats = total(BinaryCrossEntropy().at(outputs, batch.targets) * weights)
        return nats / jnp.log(2.0), total(jnp.any(weights > 0, axis=0))


@dataclasses.dataclass(frozen=True)
class WrongBits(StepMean):
    """The share of bits that are wrong if each is the more probable one."""

    name = "share of wrong bits"
    bounds = SHARE

    def score(self, outputs: jax.Array, targets: Any) -> jax.Array:
        return jnp.mean((outputs > 0) != (jnp.asarray(targets) > 0.5), axis=-1)


BITS = PerStep(BinaryCrossEntropy(), (BitsPerSequence(), WrongBits()))


@dataclasses.dataclass(frozen=True)
class Items:
    """The settings that most of these tasks share."""

    bits: int = setting(8, "bits of a vector", min=1)
    min_items: int = setting(1, "fewest items of a sequence", min=1)
    max_items: int = setting(20, "most items of a sequence", min=1)


class BitVectors(Generated):
    """A task on sequences of random bit vectors; subclasses implement `steps` and `draw`.

    The loss is the cross-entropy of the bits at the steps with an answer. Validation and test have
    256 sequences each. `length` is the number of steps of the longest sequence.

    Attributes:
        bits: of a vector.
        min_items, max_items: how many items a sequence has.
    """

    framing = BITS
    solved = 0.01
    held_out_together = 256
    fewest: ClassVar[int] = 1

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.bits = self.settings.bits
        self.min_items, self.max_items = self.settings.min_items, self.settings.max_items
        if self.min_items > self.max_items:
            raise BadInput(
                f"the task {self.name} takes min_items from {self.fewest} up to max_items, got "
                f"min_items {self.min_items} and max_items {self.max_items}"
            )
        self.length = self.steps(self.max_items)

    @abc.abstractmethod
    def steps(self, items: int) -> int:
        """The number of steps of a sequence of so many items, at most."""

    @abc.abstractmethod
    def draw(self, rng: np.random.Generator, size: int, min_items: int, max_items: int) -> Batch:
        """Generate `size` sequences of `min_items` to `max_items` items, padded to the longest."""

    def made(self, rng: np.random.Generator, part: str, size: int, length: int) -> Batch:
        """Sequences of as many items as fit into the length."""
        largest = max(n for n in range(self.fewest, self.max_items + 1) if self.steps(n) <= length)
        return self.draw(rng, size, min(self.min_items, largest), largest)

    def checked(self, length: int | None) -> int:
        return checked_length(self, length, self.steps(self.fewest))

    def longer(self) -> dict[str, Draw]:
        """Sequences longer than those of training, by what they are."""
        return {}

    def scores(self, network: Model, part: str) -> dict[str, Any]:
        """Bits per sequence and share of wrong bits of longer sequences than in training."""
        return scores_on_longer(self, self.longer(), network, part)


def scores_on_longer(
    task: Task, longer: Mapping[str, Draw], network: Model, part: str
) -> dict[str, float | None]:
    """The metrics of a network, with noise off, on sequences longer than those of training."""
    place = LONGER, PLACES[checked_part(part)]
    scores: dict[str, float | None] = {}
    for name, draw in longer.items():
        batch = draw(random(task.seed, *place), FEW)
        with own_precision(network):
            outputs = outputs_on(network, batch.arrays)
        values = values_of(task.metrics, [counted(task.metrics, outputs, batch)])
        named = zip(task.metrics, values, strict=True)
        scores |= {f"{metric.name}, {name}": value for metric, value in named}
    return scores


def sequences(
    size: int, steps: int, inputs: int, outputs: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, targets and weights of a batch, all zero."""
    return (
        np.zeros((steps, size, inputs), np.float32),
        np.zeros((steps, size, outputs), np.float32),
        np.zeros((steps, size), np.float32),
    )


def random_bits(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Bits as floats."""
    return rng.integers(0, 2, shape).astype(np.float32)


def entropy(p: float) -> float:
    """Of a bit that is 1 with probability p, in bits."""
    return float(-p * np.log2(p) - (1 - p) * np.log2(1 - p)) if 0 < p < 1 else 0.0
