"""The contract of a learner: something that makes a network better on a batch."""

import abc
from typing import Any, ClassVar

import jax
import numpy as np

from ..data import Batch
from ..settings import NoSettings, options
from .objective import Objective


class Learner(abc.ABC):
    """A learner changes a network step by step, and has a memory of arrays.

    All methods are pure. `step` is compiled by whoever calls it, and whatever a learner has
    to remember (moments, damping, counters) lies in its memory, so that a checkpoint holds it.

    Attributes:
        Settings: a dataclass of what a configuration can set; see `ostinato.settings`.
        title: of its panel in the help of the command line, if that is not its name.
        exact: whether its products must be exact: in float32, with no operand rounded, and a
            kernel that fails replaced by the scan at once.
        usual_batch: the sequences of a batch, if the configuration does not say.
        log_every_step: whether every step gets an entry in the event log.
        chunk: the sequences that it differentiates at once, or `None` for all of a batch.
    """

    Settings: ClassVar[type] = NoSettings
    exact: bool = False
    usual_batch: int = 32
    log_every_step: bool = False
    chunk: int | None = None

    @classmethod
    def from_settings(
        cls, name: str, settings: Any, objective: Objective, steps: int, batch: int
    ) -> "Learner":
        """The learner of a configuration.

        Args:
            name: the one that the configuration gives it.
            settings: an instance of `Settings`.
            objective: what is minimised.
            steps: the length of the run.
            batch: the sequences of a batch.
        """
        return cls(objective, **options(settings))  # type: ignore[call-arg]

    @property
    def copies(self) -> int:
        """The copies of all parameters that a step holds beside gradient and memory."""
        return 0

    @property
    def carries_state(self) -> bool:
        """Whether what is carried from batch to batch is the network's state."""
        return True

    def found(self) -> dict[str, Any]:
        """The values that it chose itself, for the record of a run."""
        return {}

    def advice(self, rate: float) -> str:
        """What to try where training diverged, after "Try"; `rate` is that of the last step."""
        return "a smaller --rate"

    @abc.abstractmethod
    def initial(self, network: Any) -> Any:
        """The memory before the first step: a pytree of arrays."""

    def start(self, network: Any, batch: Batch) -> Any:
        """What is carried from batch to batch, before the first: the network's state."""
        return network.initial((batch.sequences,))

    @abc.abstractmethod
    def step(
        self, network: Any, memory: Any, state: Any, batch: Batch
    ) -> tuple[Any, Any, Any, dict[str, jax.Array]]:
        """One step on a batch.

        Args:
            network: the network, its noise drawn for this step.
            memory: the learner's.
            state: what is carried, before the batch's first step of time; see `start`.
            batch: the sequences to learn from.

        Returns:
            The network, the memory and the state after the batch, and a report: `loss` (before the
            step), `norm` (of the gradient), `norms` (of each parameter's, in the order of the
            network's leaves), `rate`, `clipped` (1 where the gradient was), and what else the
            learner wants to show.
        """

    def heard(self, memory: Any, value: float) -> Any:
        """The memory after a validation, whose `value` is smaller where it is better."""
        return memory

    def summary(self, reports: list[dict[str, Any]]) -> dict[str, Any]:
        """Reports of consecutive steps, fetched, as one entry of the event log: means by default.

        A `remark`, if there is one, is a line for the person who watches.
        """
        return {
            name: float(np.mean([report[name] for report in reports]))
            for name in reports[0].keys() - {"norms"}
        }
