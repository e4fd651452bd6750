"""A learner's step, compiled, and how a run takes it.

compiled_step    the step of one run; its settings are constants
SharedSteps      a step for several runs; the numbers in which they differ are its inputs
Alone            how the training loop takes steps, whichever of the two it has
"""

import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

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
from .devices import ONE, Devices
from .signals import Stop


class Steps(Protocol):
    """How the training loop takes steps.

    `now` is all arrays of a run: a `Checkpoint`, or whatever stands for one between two steps.
    """

    def place(self, batch: Batch, step: int) -> tuple[Batch, Any]:
        """A batch and the number of its step as `advance` takes them, made ahead in any thread."""

    def advance(self, now: Any, fresh: Any, batch: Batch, step: Any) -> tuple[Any, Any]:
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
    """The steps of a run that computes by itself; `now` is a `Checkpoint` of arrays alone.

    Attributes:
        step: a compiled step, as `compiled_step` returns it.
        devices: those of the run.
        static: the network without its arrays.
        fresh: the carried state where sequences begin, as it was given and on the devices.
    """

    def __init__(self, step: Callable, devices: Devices):
        self.step, self.devices = step, devices
        self.static: Any = None
        self.fresh: tuple[Any, Any] = (None, None)

    def place(self, batch: Batch, step: int) -> tuple[Batch, Any]:
        return self.devices.place(batch), self.devices.place_number(step)

    def advance(
        self, now: Checkpoint, fresh: Any, batch: Batch, step: Any
    ) -> tuple[Checkpoint, dict]:
        if fresh is not self.fresh[0]:
            self.fresh = fresh, self.devices.place_state(fresh)
        state = self.fresh[1] if batch.first else now.state
        *after, report = self.step(now.network, now.learner, state, batch.arrays, step)
        return Checkpoint(*after), report

    def begin(self, checkpoint: Checkpoint) -> Checkpoint:
        place = self.devices.place_all
        state = self.devices.place_state(checkpoint.state)
        arrays, self.static = eqx.partition(place(checkpoint.network), eqx.is_array)
        return Checkpoint(arrays, place(checkpoint.learner), state)

    def checkpoint(self, now: Checkpoint) -> Checkpoint:
        network = eqx.combine(self.devices.whole_here(now.network), self.static)
        learner_state = self.devices.whole_here(now.learner, aside=True)
        return Checkpoint(network, learner_state, self.devices.gather(now.state))

    def fetched(self, reports: list[dict]) -> list[dict]:
        return jax.device_get(self.devices.copy_here(reports))

    def measured(
        self, now: Checkpoint, batches: Iterable[Batch], metrics: tuple[Metric, ...]
    ) -> list[float | None]:
        network = eqx.combine(now.network, self.static)
        return measured(network, batches, metrics, self.devices)


def compiled_step(network: Model, learner: Learner, seed: int, devices: Devices = ONE) -> Callable:
    """A learner's step as a compiled function of arrays, with fresh noise in each step.

    Args:
        network: any with the structure of the networks to be trained.
        learner: takes the steps. If several devices share a batch, its objective knows (`axis`).
        seed: of the noise.
        devices: those that share a batch; each has noise of its own.

    Returns:
        `advance(arrays, learner_state, state, sequences, step)`, which returns the first three
        after the step, and its report; `arrays` are those of the network.
    """
    _, static = eqx.partition(network, eqx.is_array)
    noise = noise_key(seed)

    def advance(*arguments: Any) -> Any:
        return _advanced(learner.step, static, devices, noise, *arguments)

    return jax.jit(devices.split_step(advance))


def _advanced(
    take: Callable,
    static: Any,
    devices: Devices,
    noise: jax.Array,
    arrays: Any,
    learner_state: Any,
    state: Any,
    sequences: Batch,
    step: Any,
) -> Any:
    """What `compiled_step` computes, where `take` is the `step` of the learner."""
    key = jax.random.fold_in(noise, step)
    before = reseed(eqx.combine(arrays, static), devices.own_noise(key))
    after, learner_state, state, report = take(before, learner_state, state, sequences)
    report["moved"] = _moved(before, after)
    if not devices.alone:  # each had noise of its own, and all return the same network
        after = reseed(after, key)
    return eqx.filter(after, eqx.is_array), learner_state, state, report


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

    def of(self, network: Model, learner: Learner, kind: Any, devices: Devices = ONE) -> SharedStep:
        """The step for a network. The learner's numbers do not matter, and all else must agree."""
        _, static = eqx.partition(network, eqx.is_array)
        with self.lock:
            for step in self.known:
                if _equal(step.kind, kind) and bool(eqx.tree_equal(step.static, static)):
                    return step
            self.known.append(_shared(static, learner, kind, devices))
            return self.known[-1]


def strongly_typed(tree: Any) -> Any:
    """The same arrays without JAX's weak types, which those of a checkpoint do not have either."""
    return jax.tree.map(
        lambda x: jnp.asarray(x, x.dtype) if getattr(x, "weak_type", False) else x, tree
    )


def noise_key(seed: int) -> jax.Array:
    """The key of the noise of a run."""
    return jax.random.fold_in(jax.random.key(seed), 1)


def _shared(static: Any, learner: Learner, kind: Any, devices: Devices) -> SharedStep:
    def function(inputs: Inputs, *arguments: Any) -> Any:
        take = partial(learner.step_with, inputs.numbers)
        return _advanced(take, static, devices, inputs.noise, *arguments)

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

    alone, together = jax.jit(devices.split_step(function)), jax.jit(jax.vmap(row))
    return SharedStep(static, kind, alone, together, threading.Lock())


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
        self, task: Task, network: Model, learner: Learner, config: Config, devices: Devices
    ) -> Steps:
        """How a run takes its steps."""
        if self.shared is None:
            return Alone(compiled_step(network, learner, config.seed, devices), devices)
        step, inputs = self._shared(task, network, learner, config, devices)
        return Alone(step.compiled(inputs), devices)

    def leave(self) -> None:
        """A run has ended."""

    def _shared(
        self,
        task: Task,
        network: Model,
        learner: Learner,
        config: Config,
        devices: Devices = ONE,
    ) -> tuple[SharedStep, Inputs]:
        assert self.shared is not None
        kind = task.loss, steps_of(config, task), config.backend
        step = self.shared.of(network, learner, kind, devices)
        return step, Inputs.of(network, learner, config.seed)
