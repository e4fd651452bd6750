"""Tasks on sequences of random bit vectors, in which all outputs are bits.

The sequences of a batch have different numbers of items, drawn uniformly; they are padded to the
longest possible.
"""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Model
from ..data import Batch
from ..errors import BadInput
from ..settings import setting
from ..weights import own_precision
from ..wiring import outputs_of
from .losses import BinaryCrossEntropy
from .metrics import Metric, counted, total, values_of
from .synthetic import PLACES, Generated
from .task import checked_length, checked_part, random

FEW = 64  # longer sequences
LONGER = 3  # the place of the random numbers of longer sequences


@dataclasses.dataclass(frozen=True)
class BitsPerSequence(Metric):
    """The cross-entropy of all bits of a sequence, in bits, averaged over sequences.

    Example:
        >>> batch = Batch(None, jnp.zeros((5, 2, 8)), jnp.ones((5, 2)))
        >>> metric = BitsPerSequence()
        >>> metric.value(metric.counts(jnp.zeros((5, 2, 8)), batch))  # 8 unknown bits at 5 steps
        40.0
    """

    name = "bits per sequence"

    def counts(self, outputs: jax.Array, batch: Batch) -> Any:
        weights = jnp.asarray(batch.counted)
        nats = total(BinaryCrossEntropy().at(outputs, batch.targets) * weights)
        return nats / jnp.log(2.0), total(jnp.any(weights > 0, axis=0))

    def value(self, counts: Any) -> float | None:
        bits, sequences = counts
        return float(bits / sequences) if sequences else None


@dataclasses.dataclass(frozen=True)
class WrongBits(Metric):
    """The share of bits that are wrong if each is the more probable one."""

    name = "share of wrong bits"

    def counts(self, outputs: jax.Array, batch: Batch) -> Any:
        wrong = (outputs > 0) != (jnp.asarray(batch.targets) > 0.5)
        weights = jnp.asarray(batch.counted)
        return total(jnp.mean(wrong, axis=-1) * weights), total(weights)

    def value(self, counts: Any) -> float | None:
        wrong, weight = counts
        return float(wrong / weight) if weight else None


@dataclasses.dataclass(frozen=True)
class Items:
    """The settings that most of these tasks share."""

    bits: int = setting(8, "bits of a vector", min=1)
    least: int = setting(1, "fewest items of a sequence", min=1)
    most: int = setting(20, "most items of a sequence", min=1)


class BitVectors(Generated):
    """A task on sequences of random bit vectors; subclasses implement `steps` and `draw`.

    The loss is the cross-entropy of the bits at the steps with an answer. Validation and test have
    256 sequences each. `length` is the number of steps of the longest sequence.

    Attributes:
        bits: of a vector.
        least, most: how many items a sequence has.
    """

    loss = BinaryCrossEntropy()
    metrics = (BitsPerSequence(), WrongBits())
    solved = 0.01
    held_out_together = 256
    fewest: ClassVar[int] = 1

    def __init__(self, *, seed: int = 0, **given: Any) -> None:
        super().__init__(seed=seed, **given)
        self.bits = self.settings.bits
        self.least, self.most = self.settings.least, self.settings.most
        if self.least > self.most:
            raise BadInput(
                f"the task {self.name} takes least from {self.fewest} up to most, got least "
                f"{self.least} and most {self.most}"
            )
        self.length = self.steps(self.most)

    @abc.abstractmethod
    def steps(self, items: int) -> int:
        """The number of steps of a sequence of so many items, at most."""

    @abc.abstractmethod
    def draw(self, rng: np.random.Generator, size: int, least: int, most: int) -> Batch:
        """Generate `size` sequences of `least` to `most` items, padded to `steps(most)`."""

    def made(self, rng: np.random.Generator, part: str, size: int, length: int) -> Batch:
        """Sequences of as many items as fit into the length."""
        most = max(n for n in range(self.fewest, self.most + 1) if self.steps(n) <= length)
        return self.draw(rng, size, min(self.least, most), most)

    def checked(self, length: int | None) -> int:
        return checked_length(self, length, self.steps(self.fewest))

    def longer(self) -> dict[str, Callable[[np.random.Generator, int], Batch]]:
        """Sequences longer than those of training, by what they are."""
        return {}

    def scores(self, network: Model, part: str) -> dict[str, Any]:
        """Bits per sequence and share of wrong bits of longer sequences than in training."""
        place = LONGER, PLACES[checked_part(part)]
        return scores_on(
            {name: draw(random(self.seed, *place), FEW) for name, draw in self.longer().items()},
            self.metrics,
            network,
        )


def scores_on(
    batches: dict[str, Batch], metrics: tuple[Metric, ...], network: Model
) -> dict[str, float | None]:
    """The metrics of a network, with noise off, on some batches by name."""
    network = eqx.nn.inference_mode(network)
    found: dict[str, float | None] = {}
    for name, batch in batches.items():
        with own_precision(network):
            outputs, _ = _outputs(network, batch.arrays)
        values = values_of(metrics, [counted(metrics, outputs, batch)])
        found |= {f"{m.name}, {name}": value for m, value in zip(metrics, values, strict=True)}
    return found


@eqx.filter_jit
def _outputs(network: Model, batch: Batch) -> Any:
    return outputs_of(network, batch)


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
