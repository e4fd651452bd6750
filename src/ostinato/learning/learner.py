"""The contract of a learner: how a network is updated on a batch."""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.sharding import PartitionSpec

from ..cells import Model
from ..data import Batch
from ..settings import NoSettings, check_arguments, options
from ..tasks.losses import Loss, per_step
from ..wiring import outputs_of

AXIS = "devices"  # of the mesh over which the sequences of a batch are split

# After a step: the network, the learner's state, what is carried, and the report.
Stepped = tuple[Any, Any, Any, dict[str, jax.Array]]


@dataclasses.dataclass(frozen=True)
class Objective:
    """`f(network) = loss(outputs of the network on a batch)`.

    Attributes:
        loss: see `tasks.losses`.
        compute: dtype of the operands of matrix products; `None` for that of the parameters.
        memory: which states the forward scan keeps for the gradient; see `unroll`.
        backend, on_failure: the backend, and what to do if a kernel launch fails; see `unroll`.
        by_symbol: whether devices share outputs by the symbols of a vocabulary: a batch is whole,
            and the compiler divides the work; within a context of a mesh.
        axis: the axis of a mesh of devices, within `jax.shard_map`, where a batch is what one of
            them has of the sequences; `None` if it is whole. What is said to be over all sequences
            is then the same on all devices, and takes one reduction.

    Example:
        >>> from ostinato.losses import SquaredError
        >>> batch = Batch(xs, ys, jnp.ones((10, 4)))
        >>> value, state = Objective(SquaredError()).value(network, batch, None)
        >>> value.shape
        ()
    """

    loss: Loss
    compute: str | None = None
    memory: str | int = "all"
    backend: str | None = None
    on_failure: str = "scan"
    axis: str | None = None
    by_symbol: bool = False

    def outputs(
        self, network: Model, batch: Batch, state: Any, watch: str | None = None
    ) -> tuple[Any, Any]:
        """The outputs and the final state; for `watch` see `outputs_of`."""
        outputs, final = outputs_of(
            network,
            batch,
            state,
            compute=self.compute,
            memory=self.memory,
            watch=watch,
            backend=self.backend,
            on_failure=self.on_failure,
        )
        if self.by_symbol:
            outputs = jax.lax.with_sharding_constraint(outputs, PartitionSpec(None, None, AXIS))
        return outputs, final

    def value(self, network: Model, batch: Batch, state: Any) -> tuple[jax.Array, Any]:
        """The loss over all sequences, and the final state."""
        value, state = self.own_value(network, batch, state)
        return self.joined(batch, value), state

    def own_value(self, network: Model, batch: Batch, state: Any) -> tuple[jax.Array, Any]:
        """The loss over the sequences of this device, and the final state."""
        outputs, state = self.outputs(network, batch, state)
        return self.loss(outputs, batch), state

    @property
    def devices(self) -> int:
        """How many devices share a batch."""
        return 1 if self.axis is None else jax.lax.axis_size(self.axis)

    def summed(self, sums: Any) -> Any:
        """Sums over all sequences, from a tree of sums over those of each device."""
        return sums if self.axis is None else sum_over_devices(sums, self.axis)

    def joined(self, batch: Batch, means: Any) -> Any:
        """Weighted means over all sequences, from a tree of means over those of each device."""
        if self.axis is None:
            return means
        every = np.size(batch.weights)  # so that a batch in which all steps count has the share 1
        share = self.loss.weight(batch) / every
        totals = jax.tree.map(lambda x: (share * x).astype(x.dtype), means)
        totals, whole = self.summed((totals, self._own_weight(batch) / every))
        return jax.tree.map(lambda x: (x / jnp.where(whole > 0, whole, 1)).astype(x.dtype), totals)

    def unweighted(self, batch: Batch, mean: jax.Array) -> jax.Array:
        """A mean over the sequences of this device, of which `joined` makes a plain mean."""
        if self.axis is None:
            return mean
        even = self.summed(self._own_weight(batch)) / self.devices
        return mean * (even / self.loss.weight(batch)).astype(mean.dtype)

    def weights(self, *batches: Batch) -> list[jax.Array | None]:
        """What totals over all sequences are divided by, for some batches in one reduction.

        `None` where a batch is whole, and has a weight of its own.
        """
        if self.axis is None:
            return [None] * len(batches)
        wholes = self.summed([self._own_weight(batch) for batch in batches])
        return [jnp.where(whole > 0, whole, 1) for whole in wholes]

    def _own_weight(self, batch: Batch) -> jax.Array:
        """The weight of the sequences of this device, 0 if nothing counts in them."""
        return jnp.where(jnp.any(jnp.asarray(batch.counted) > 0), self.loss.weight(batch), 0)

    def per_step(self, batch: Batch, what: str) -> tuple[Any, Any]:
        """The loss as a sum over steps: a function of an output and its target, and the targets.

        The gradients of `through_time.gradients` need it. `what` names the caller in the message
        for a loss that is not such a sum.
        """
        loss, total = per_step(self.loss, what), self.loss.weight(batch)

        def at(output: Any, of: Any) -> jax.Array:
            target, weight = of
            return (weight * loss.at(output, target)).sum() / total

        return at, (batch.targets, batch.counted)


def sum_over_devices(sums: Any, axis: str = AXIS) -> Any:
    """The sums of a tree of arrays over the devices of a mesh, in one reduction.

    On CPUs numbers of float32 are added in float64, where a few of them have the same sum in any
    order: so it does not matter how devices are divided among processes, which add in other orders.
    """
    if jax.default_backend() != "cpu":
        return jax.lax.psum(sums, axis)  # which XLA combines without a copy
    flat, tree = ravel_pytree(sums)
    with jax.enable_x64(True):
        wide = jax.lax.convert_element_type(flat, jnp.promote_types(flat.dtype, jnp.float64))
        return tree(jax.lax.convert_element_type(jax.lax.psum(wide, axis), flat.dtype))


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
    """

    steps: int
    batch: int
    units: int
    epoch: float | None = None
    devices: int = 1


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
