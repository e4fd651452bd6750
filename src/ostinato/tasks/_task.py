"""The contract of a task: batches by number, a loss, a metric, all from one seed."""

import abc
import operator
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import BadInput
from ..settings import NoSettings, options
from .losses import Loss

MOST_SEED = 2**32 - 1


class Batch(NamedTuple):
    """Some sequences, time first.

    Attributes:
        xs: the inputs: symbols `(T, B)`, or vectors `(T, B, inputs)` in float32.
        targets: symbols `(T, B)` for `Softmax`, else `(T, B, outputs)` in float32.
        weights: `(T, B)` in float32, one where the loss stands and zero elsewhere.
        first: whether the sequences begin here; if not, they go on where the batch before ended.
    """

    xs: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    first: bool = True


class Task(abc.ABC):
    """Something to learn.

    A batch is a function of the task's seed and the batch's number alone, so a run that is
    resumed sees the same batches without keeping a position in the data.

    Attributes:
        name: as on the command line.
        inputs: size of an input vector, or the number of input symbols.
        symbolic: whether inputs are symbols.
        outputs: size of the network's output.
        loss: what is minimised, a member of `losses`.
        metric: the name of what is reported, for example "bits per character".
        higher_is_better: about the metric.
        chance: the metric of the best answer that ignores the input.
        solved: the metric at which the task counts as solved, or `None`.
        length: the number of steps of a sequence (the dial of the synthetic tasks).
        lag: how many steps an answer has to look back, at least, to see all that it needs; `None`
            where that is not known.
        predicts_next: whether the targets are later inputs, which a network must not see.
        readout_bias: whether a cell without a rule of its own is read with a bias.
        Settings: a dataclass of what a configuration can set; see `ostinato.settings`.
    """

    Settings: ClassVar[type] = NoSettings
    predicts_next: bool = False
    readout_bias: bool = True
    name: str
    inputs: int
    symbolic: bool = False
    outputs: int
    loss: Loss
    metric: str
    higher_is_better: bool = False
    chance: float
    solved: float | None = None
    length: int

    @classmethod
    def from_settings(
        cls, settings: Any, seed: int, artefacts: Mapping[str, Any] | None = None
    ) -> "Task":
        """The task of a configuration.

        Args:
            settings: an instance of `Settings`; those that are not `None` are options of the
                constructor.
            seed: of every batch.
            artefacts: what a trained model keeps of its task, as JSON: a text's vocabulary.
        """
        return cls(seed=seed, **options(settings))  # type: ignore[call-arg]

    @property
    def lag(self) -> int | None:
        return None

    @abc.abstractmethod
    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        """Training batch number `index`, of `size` sequences; `length` overrides the task's."""

    @abc.abstractmethod
    def held_out(self, part: str, size: int) -> Iterator[Batch]:
        """The batches of `"valid"` or `"test"`, always the same, of up to `size` sequences each."""

    @abc.abstractmethod
    def score(self, outputs: jax.Array, targets: Any) -> jax.Array:
        """The metric at each step and sequence, `(T, B)`; its weighted mean is what is reported."""


def checked_seed(seed: int) -> int:
    """The seed, which is from 0 to 2³² - 1: a random key of JAX holds no more."""
    try:
        good = not isinstance(seed, bool) and 0 <= operator.index(seed) <= MOST_SEED
    except TypeError:
        good = False
    if not good:
        raise BadInput(f"a seed is a whole number from 0 to {MOST_SEED}, got {seed!r}")
    return int(seed)


def checked_count(count: int, what: str = "steps of a sequence") -> int:
    """A number of steps or sequences, which is whole and at least 1."""
    try:
        good = not isinstance(count, bool) and operator.index(count) >= 1
    except TypeError:
        good = False
    if not good:
        raise BadInput(f"the {what} must be a whole number of at least 1, got {count!r:.40}")
    return int(count)


def checked_part(part: str) -> str:
    """The name of a part that is held out."""
    if part not in ("valid", "test"):
        raise BadInput(f"the part must be valid or test, got {part!r:.40}")
    return part


def random(seed: int, *place: int) -> np.random.Generator:
    """A generator of random numbers for one place, for example `random(seed, TRAIN, index)`."""
    return np.random.default_rng([seed, *place])


def accuracy(outputs: jax.Array, targets: jax.Array) -> jax.Array:
    """One where the largest output is the target, else zero: `(..., outputs)` to `(...)`."""
    return (jnp.argmax(outputs, axis=-1) == targets).astype(jnp.float32)
