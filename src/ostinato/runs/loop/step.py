"""A learner's step, compiled, and how a run takes it.

compiled_step    the step of one run; its settings are constants
SharedSteps      a step for several runs; the numbers in which they differ are its inputs
Alone            how the training loop takes steps, whichever of the two it has
"""

import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ...cells import Model
from ...data import Batch
from ...learning import Learner
from ...tasks import Task
from ...tasks.metrics import Metric
from ...weights import trained
from ...wiring import reseed
from ..analysis.evaluation import measured
from ..build import steps_of
from ..config import Config
from ..folder.checkpoints import Checkpoint
from .signals import Stop

Spread = Callable[[Batch, Any], tuple[Batch, Any]]


def over_devices(count: int) -> Spread:
    """A function that splits the sequences of a batch, and their states, among `count` devices.

    Every device has a copy of the network and processes its own sequences. The compiled step is one
    program for all devices, so XLA adds the reductions over the batch, such as the gradient.

    Example:
        >>> count = len(jax.devices())
        >>> spread = over_devices(count)
        >>> batch, state = spread(task.batch(0, 4 * count), None)
        >>> batch.sequences == 4 * count
        True
    """
    if count == 1:
        return lambda batch, state: (batch, state)
    mesh = Mesh(np.array(jax.devices()[:count]), ("batch",))

    def spread(batch: Batch, state: Any) -> tuple[Batch, Any]:
        def put(tree: Any, *axes: str | None) -> Any:
            return jax.device_put(tree, NamedSharding(mesh, PartitionSpec(*axes)))

        def of(x: Any, axis: int) -> Any:
            return put(x, *(None,) * axis, "batch")

        return batch.over_sequences(of), put(state, "batch")

    return spread


class Steps(Protocol):
    """How the training loop takes steps.

    `now` is all arrays of a run: a `Checkpoint`, or whatever stands for one between two steps.
    """

    def advance(self, now: Any, fresh: Any, batch: Batch, step: int) -> tuple[Any, Any]:
        """Arrays and report after a step; `fresh` is the carried state where sequences begin."""

    def begin(self, checkpoint: Checkpoint) -> Any:
        """The `now` that stands for a checkpoint."""

    def checkpoint(self, now: Any) -> Checkpoint:
        """The arrays themselves."""

    def fetched(self, reports: list[Any]) -> list[dict]:
        """Reports as NumPy arrays; some may be so already."""

    def measured(
        self, now: Any, batches: Iterable[Batch], metrics: tuple[Metric, ...]
    ) -> list[float | None]:
        """See `evaluation.measured`."""


class Alone:
    """The steps of a run that computes by itself; `now` is a `Checkpoint`.

    Attributes:
        step: a compiled step, as `compiled_step` returns it.
        spread: see `over_devices`.
    """

    def __init__(self, step: Callable, spread: Spread):
        self.step, self.spread = step, spread

    def advance(
        self, now: Checkpoint, fresh: Any, batch: Batch, step: int
    ) -> tuple[Checkpoint, dict]:
        state = fresh if batch.first else now.state
        arrays, static = eqx.partition(now.network, eqx.is_array)
        sequences, state = self.spread(batch.arrays, state)
        arrays, learner_state, state, report = self.step(
            arrays, now.learner, state, sequences, np.int32(step)
        )
        return Checkpoint(eqx.combine(arrays, static), learner_state, state), report

    def begin(self, checkpoint: Checkpoint) -> Checkpoint:
        return checkpoint

    def checkpoint(self, now: Checkpoint) -> Checkpoint:
        return now

    def fetched(self, reports: list[dict]) -> list[dict]:
        return jax.device_get(reports)

    def measured(
        self, now: Checkpoint, batches: Iterable[Batch], metrics: tuple[Metric, ...]
    ) -> list[float | None]:
        return measured(now.network, batches, metrics)


def compiled_step(network: Model, learner: Learner, seed: int) -> Callable:
    """A learner's step as a compiled function of arrays, with fresh noise in each step.

    Returns:
        `advance(arrays, learner_state, state, sequences, step)`, which returns the first three
        after the step, and its report; `arrays` are those of the network.
    """
    _, static = eqx.partition(network, eqx.is_array)
    noise = noise_key(seed)

    @jax.jit
    def advance(arrays: Any, learner_state: Any, state: Any, sequences: Batch, step: Any) -> Any:
        network = reseed(eqx.combine(arrays, static), jax.random.fold_in(noise, step))
        return _reported(network, *learner.step(network, learner_state, state, sequences))

    return advance


class Inputs(NamedTuple):
    """What may differ between runs that share a step: the key of noise, and `Learner.numbers`."""

    noise: jax.Array
    numbers: dict[str, jax.Array]

    @classmethod
    def of(cls, network: Model, learner: Learner, seed: int) -> "Inputs":
        dtype = jnp.result_type(*jax.tree.leaves(trained(network)[0]))
        numbers = {name: jnp.asarray(x, dtype) for name, x in learner.numbers.items()}
        return cls(noise_key(seed), numbers)


class SharedStep(NamedTuple):
    """A step that several runs use.

    Attributes:
        static: the networks without their arrays.
        kind: what else the runs have in common; compared by `==`.
        alone: from `(inputs, arrays, learner_state, state, sequences, step)` to what the function
            of `compiled_step` returns.
        together: the same for several runs at once: every array has a row per run. It takes two
            arguments more, after `inputs` the carried state where sequences begin, and
            after `sequences` whether they begin here.
        compiling: held during the first step of each run.
    """

    static: Any
    kind: Any
    alone: Callable
    together: Callable
    compiling: threading.Lock

    def compiled(self, inputs: Inputs) -> Callable:
        """The step of one of the runs, like that of `compiled_step`."""
        begun = False

        def step(*arrays: Any) -> Any:
            nonlocal begun
            if begun:
                return self.alone(inputs, *arrays)
            with self.compiling:  # so that not every run compiles it
                begun = True
                return self.alone(inputs, *strongly_typed(arrays))

        return step


class SharedSteps:
    """The steps of runs whose configurations differ in seed and `Learner.numbers` only.

    There is one for all of them, unless their networks or their losses differ in more than arrays.

    Example:
        >>> steps = SharedSteps()
        >>> learner = FirstOrder("adam", Objective(SquaredError()), steps=10)
        >>> steps.of(network, learner, "kind") is steps.of(network, learner, "kind")
        True
    """

    def __init__(self) -> None:
        self.known: list[SharedStep] = []
        self.lock = threading.Lock()

    def of(self, network: Model, learner: Learner, kind: Any) -> SharedStep:
        """The step for a network. The learner's numbers do not matter, and all else must agree."""
        _, static = eqx.partition(network, eqx.is_array)
        with self.lock:
            for step in self.known:
                if _equal(step.kind, kind) and bool(eqx.tree_equal(step.static, static)):
                    return step
            self.known.append(_shared(static, learner, kind))
            return self.known[-1]


def strongly_typed(tree: Any) -> Any:
    """The same arrays without JAX's weak types, which those of a checkpoint do not have either."""
    return jax.tree.map(
        lambda x: jnp.asarray(x, x.dtype) if getattr(x, "weak_type", False) else x, tree
    )


def noise_key(seed: int) -> jax.Array:
    """The key of the noise of a run."""
    return jax.random.fold_in(jax.random.key(seed), 1)


def _shared(static: Any, learner: Learner, kind: Any) -> SharedStep:
    def function(
        inputs: Inputs, arrays: Any, learner_state: Any, state: Any, sequences: Batch, step: Any
    ) -> Any:
        network = reseed(eqx.combine(arrays, static), jax.random.fold_in(inputs.noise, step))
        after = learner.step_with(inputs.numbers, network, learner_state, state, sequences)
        return _reported(network, *after)

    def row(
        inputs: Inputs,
        fresh: Any,
        arrays: Any,
        learner_state: Any,
        state: Any,
        sequences: Batch,
        first: Any,
        step: Any,
    ) -> Any:
        state = jax.tree.map(lambda new, old: jnp.where(first, new, old), fresh, state)
        return function(inputs, arrays, learner_state, state, sequences, step)

    alone, together = jax.jit(function), jax.jit(jax.vmap(row))
    return SharedStep(static, kind, alone, together, threading.Lock())


def _reported(before: Model, after: Model, learner_state: Any, state: Any, report: dict) -> Any:
    report["moved"] = _moved(before, after)
    return eqx.filter(after, eqx.is_array), learner_state, state, report


def _equal(one: Any, other: Any) -> bool:
    """`one == other`; no if that is not one truth, as with arrays."""
    try:
        return bool(one == other)
    except ValueError:
        return False


def _moved(before: Model, after: Model) -> jax.Array:
    """`‖Δw‖ / ‖w‖`, over all weights."""
    old, new = (trained(network)[0] for network in (before, after))
    change = optax.tree.norm(jax.tree.map(lambda a, b: b - a, old, new))
    return change / jnp.maximum(optax.tree.norm(old), 1e-30)


class RunGroup:
    """Runs that are trained at the same time and share what they compile.

    Attributes:
        stop: set by the signal that asks all of them to stop.
        shared: their compiled steps; `None` for a run that has no others beside it.
        mapped: whether their steps are mapped by `jax.vmap`, which kernels cannot be.
    """

    mapped = False

    def __init__(self, stop: Stop, shared: SharedSteps | None):
        self.stop, self.shared = stop, shared

    def steps(
        self, task: Task, network: Model, learner: Learner, config: Config, spread: Spread
    ) -> Steps:
        """How a run takes its steps."""
        if self.shared is None:
            return Alone(compiled_step(network, learner, config.seed), spread)
        step, inputs = self._shared(task, network, learner, config)
        return Alone(step.compiled(inputs), spread)

    def leave(self) -> None:
        """A run has ended."""

    def _shared(
        self, task: Task, network: Model, learner: Learner, config: Config
    ) -> tuple[SharedStep, Inputs]:
        assert self.shared is not None
        kind = task.loss, steps_of(config, task), config.backend
        return self.shared.of(network, learner, kind), Inputs.of(network, learner, config.seed)
