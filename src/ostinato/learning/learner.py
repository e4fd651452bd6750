"""The contract of a learner: how a network is updated on a batch."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Model
from ..constructors import check_arguments
from ..data import Batch
from ..settings import NoSettings, options
from .objective import Objective

# After a step: the network, the learner's state, what is carried, and the report.
Stepped = tuple[Any, Any, Any, dict[str, jax.Array]]


class Passes(NamedTuple):
    """Work on sequences that a learner does in a step; see `Learner.passes`.

    Attributes:
        times: how often.
        sequences: of how many sequences, which all devices share.
        cost: of one, in those of `Learner.one_pass`.
        of_weights: whether each sums as many numbers over devices as there are weights, not a few.
    """

    times: float
    sequences: int
    cost: float = 1.0
    of_weights: bool = True


class RunSize(NamedTuple):
    """What a learner may choose its settings by.

    Attributes:
        steps: the number of steps of the run.
        batch: the number of sequences per batch.
        units: the units of the widest layer.
        epoch: the steps of an epoch; `None` if the training data are unlimited.
        devices: how many devices share a batch.
        single_answer: whether each sequence has one answer at the most; see `Task`.
    """

    steps: int
    batch: int
    units: int
    epoch: float | None = None
    devices: int = 1
    single_answer: bool = False


def report_of(
    loss: jax.Array,
    norms: tuple[jax.Array, jax.Array],
    rate: Any,
    clipped: jax.Array | None = None,
    **more: jax.Array,
) -> dict[str, jax.Array]:
    """What every learner reports of a step, and anything else that it reports.

    Args:
        loss: of the batch, before the step.
        norms: of the gradient of each parameter, in the order of the network's leaves, and of all
            together; see `norms_of`.
        rate: the step size.
        clipped: 1 if the gradient was clipped; by default 0.
        more: by name.
    """
    each, whole = norms
    return {
        "loss": loss,
        "norm": whole,
        "norms": each,
        "rate": jnp.asarray(rate),
        "clipped": jnp.zeros_like(whole) if clipped is None else clipped,
        **more,
    }


class Learner(abc.ABC):
    """A learner updates a network step by step.

    All methods are pure, and the caller compiles `step`. Everything that a learner carries from
    step to step (moments, damping, counters) is in `learner_state`, a pytree of arrays that
    checkpoints save.

    Attributes:
        Settings: a dataclass of the settings that a configuration can change; see
            `ostinato.settings`.
        title: the title of its help panel on the command line, if that is not its name.
        exact: whether it needs full float32 products, with no operand rounded, and the scan at once
            if a kernel fails.
        usual_batch: the default number of sequences per batch.
        log_every_step: whether every step gets an entry in the event log.
        chunk: how many sequences it differentiates at once; `None` for the whole batch.
        precision: the precision that it needs instead of the configured one, if any.
        epochs: the number of epochs after which there is nothing more to learn, if any.
        readout_only: whether it changes the readout alone, and layers keep their first weights.
        can_vmap: whether steps of several runs may be one mapped program (`jax.vmap`). A learner
            whose step branches or loops should say no: mapped, it takes every branch, and goes on
            until the last of its loops ends.
        splits_vocabulary: whether its state has the shapes of the parameters, so that devices may
            share what belongs to the symbols of a vocabulary.
        splits_batch: whether devices may share a batch: then whatever its step takes from
            sequences is over all of them, by the methods of its objective (`Objective.axis`).
    """

    Settings: ClassVar[type] = NoSettings
    exact: bool = False
    usual_batch: int = 32
    log_every_step: bool = False
    chunk: int | None = None
    precision: str | None = None
    epochs: int | None = None
    readout_only: bool = False
    can_vmap: bool = True
    splits_batch: bool = False
    splits_vocabulary: bool = False

    def __new__(cls, *given: Any, **named: Any) -> "Learner":
        if given or named:  # a copy is made without
            check_arguments(cls, cls.__init__, given, named, jax.Array)  # a rate may be traced
        return super().__new__(cls)

    @classmethod
    def from_settings(
        cls, name: str, settings: Any, objective: Objective, size: RunSize
    ) -> "Learner":
        """Build the learner of a configuration.

        Args:
            name: its name in the configuration.
            settings: an instance of `Settings`.
            objective: what to minimise.
            size: how large the run is, for what a learner chooses by it.
        """
        return cls(objective, **options(settings))

    @property
    def copies(self) -> int:
        """How many copies of the parameters a step holds, besides gradient and learner state."""
        return 0

    @property
    def fewer_copies(self) -> str:
        """How to make `copies` smaller, as a person would ask for it; empty if it cannot be."""
        return ""

    @property
    def rule(self) -> Callable | None:
        """The function that says what the learner does, if its class does not say it."""
        return None

    @property
    def carries_state(self) -> bool:
        """Whether the network's state is what is carried from batch to batch."""
        return True

    def chosen_values(self) -> dict[str, Any]:
        """The values that the learner chose itself, for the record of a run."""
        return {}

    def advice(self, rate: float) -> str:
        """What to try after training diverged; it follows "Try". `rate` is the last step's."""
        return "a smaller --rate"

    @property
    def numbers(self) -> dict[str, float]:
        """The settings that `step_with` takes as inputs, by name, with the values they have here.

        Runs that differ in nothing else share a compiled step.
        """
        return {}

    @abc.abstractmethod
    def initial(self, network: Model) -> Any:
        """The learner's state before the first step: a pytree of arrays."""

    def start(self, network: Model, batch: Batch) -> Any:
        """What is carried from batch to batch, at the start: the network's initial state."""
        return network.initial((batch.sequences,))

    @abc.abstractmethod
    def step(self, network: Model, learner_state: Any, state: Any, batch: Batch) -> Stepped:
        """One step on a batch.

        Args:
            network: the network, with its noise sampled for this step.
            learner_state: the learner's state.
            state: what is carried from batch to batch, before this batch; see `start`.
            batch: the sequences to learn from.

        Returns:
            The network, the learner's state and the carried state after the batch, and a report,
            which `report_of` makes.
        """

    def step_with(
        self, numbers: dict[str, Any], network: Model, learner_state: Any, state: Any, batch: Batch
    ) -> Stepped:
        """`step` with other values for `numbers`, which may be traced."""
        return self.step(network, learner_state, state, batch)

    def passes(self, batch: int) -> list[Passes]:
        """What a step does with a batch of so many sequences, from which a plan takes its time.

        What depends on the numbers is counted as often as it may be.
        """
        return [Passes(1, batch)]

    def one_pass(self, network: Model, state: Any, batch: Batch) -> Any:
        """What `passes` are counted in, which a plan traces: a step, if it does nothing else."""
        return self.step(network, self.initial(network), state, batch)

    def after_validation(self, learner_state: Any, value: float) -> Any:
        """The learner's state after a validation; smaller values are better."""
        return learner_state

    def summary(self, reports: list[dict[str, Any]]) -> dict[str, Any]:
        """Combine the reports of consecutive steps into one entry of the event log.

        By default, average them. An entry `remark` is a line of text that the display shows.
        """
        return {
            name: float(np.mean([report[name] for report in reports]))
            for name in reports[0].keys() - {"norms"}
        }


class LedBy(Learner):
    """A learner made of others, which needs and says what one of them, its `leader`, does."""

    can_vmap = False

    @property
    @abc.abstractmethod
    def leader(self) -> Learner:
        """The learner that it is like."""

    def __post_init__(self) -> None:
        for name in (
            "exact",
            "usual_batch",
            "log_every_step",
            "chunk",
            "splits_batch",
            "splits_vocabulary",
        ):
            object.__setattr__(self, name, getattr(self.leader, name))

    @property
    def copies(self) -> int:
        return self.leader.copies

    @property
    def fewer_copies(self) -> str:
        return self.leader.fewer_copies

    def passes(self, batch: int) -> list[Passes]:
        return self.leader.passes(batch)

    def one_pass(self, network: Model, state: Any, batch: Batch) -> Any:
        return self.leader.one_pass(network, state, batch)

    def chosen_values(self) -> dict[str, Any]:
        return self.leader.chosen_values()

    def advice(self, rate: float) -> str:
        return self.leader.advice(rate)
