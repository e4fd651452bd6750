"""A run on several devices: each has all weights, and sequences of its own in every batch.

A step is one program, `jax.shard_map` of a learner's step over a mesh of devices. Within it each
device runs its own sequences through time, by a scan or by kernels; what is summed over sequences,
a gradient or a curvature product, is summed over devices in one reduction (`Objective.summed`), and
all that follows is computed by every device alike. So no batch, state or activation moves between
devices. Evaluation is split in the same way, and its counts are summed.

If devices share a vocabulary, the step is a program of whole arrays, which the compiler divides
among devices: sequences are split as before, and each device has some of the symbols of what has a
row for each (`network.vocabulary`), which nobody has whole. So a loss or a learner need not know.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache, cached_property
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ...cells import Model
from ...data import Batch
from ...learning.objective import AXIS
from ...tasks.applying import outputs_on_from
from ...tasks.metrics import Metric, counts_of
from ...tasks.task import TaskSizes
from ...wiring import outputs_of
from ..config import Config
from ..network.vocabulary import symbol_axis, vocabularies


def along(axis: int) -> PartitionSpec:
    """How an array is split whose axis of this number is divided among devices."""
    return PartitionSpec(*(None,) * axis, AXIS)


ALL, ROWS, OUTPUTS = PartitionSpec(), along(0), along(1)


class Devices:
    """The devices that share each batch of a run.

    Attributes:
        count: how many there are.
        alone: whether there is one, which needs no mesh.
        vocabularies: sizes of the vocabularies whose symbols they share.

    Example:
        >>> devices = Devices(len(jax.devices()))
        >>> batch = devices.place(task.batch(0, 4 * devices.count))
        >>> batch.sequences == 4 * devices.count
        True
    """

    def __init__(self, count: int, vocabularies: tuple[int, ...] = ()):
        self.count, self.alone = count, count == 1
        self.vocabularies = () if self.alone else vocabularies

    @staticmethod
    def of(config: Config, task: TaskSizes) -> "Devices":
        """Those of a run."""
        sizes = vocabularies(task) if config.training.shard_vocabulary else ()
        return devices_once(config.training.devices, sizes)

    @cached_property
    def mesh(self) -> Mesh:
        """The devices in the order of their sequences; those of a process are neighbours."""
        every = sorted(jax.devices(), key=lambda device: (device.process_index, device.id))
        return Mesh(np.array(every[: self.count]), (AXIS,))

    def split(self, function: Callable, specs: Callable[..., Any], out: Any) -> Callable:
        """A function of arrays, done by each device with its own sequences; not compiled.

        Args:
            function: what each device does.
            specs: from the arguments to how each of them is split.
            out: how what it returns is split.
        """
        if self.alone:
            return function

        def call(*arguments: Any) -> Any:
            how = {"mesh": self.mesh, "in_specs": specs(*arguments), "out_specs": out}
            return jax.shard_map(function, check_vma=False, **how)(*arguments)

        return call

    def split_step(self, step: Callable) -> Callable:
        """`split`, for a step `(arrays, learner_state, state, sequences, number)`.

        What comes before these arguments, if anything, is the same for all devices.
        """
        if self.vocabularies:
            return self._by_symbol(step)

        def specs(*arguments: Any) -> tuple:
            same = (ALL,) * (len(arguments) - 3)
            return *same, ROWS, rows_of(arguments[-2]), ALL

        return self.split(step, specs, (ALL, ALL, ROWS, ALL))

    def _by_symbol(self, step: Callable) -> Callable:
        """A step whose arrays the compiler divides as they are placed."""

        def call(*arguments: Any) -> Any:
            with self.sharing():
                arrays, learner_state, state, report = step(*arguments)
            arrays, learner_state = jax.tree.map(
                lambda x: self._held(x, self._placing(x)), (arrays, learner_state)
            )
            return arrays, learner_state, self._held(state, ROWS), self._held(report, ALL)

        return call

    def sharing(self) -> AbstractContextManager:
        """A context in which arrays may be said to be split by symbols."""
        return jax.sharding.use_abstract_mesh(self.mesh.abstract_mesh)

    def _placing(self, x: Any) -> PartitionSpec:
        """How an array of a network or a learner is placed: whole, or some symbols on each."""
        axis = symbol_axis(x.shape, self.vocabularies) if eqx.is_inexact_array(x) else None
        return ALL if axis is None else along(axis)

    def _held(self, tree: Any, how: PartitionSpec) -> Any:
        """Arrays that the compiler divides in this way."""
        return jax.lax.with_sharding_constraint(tree, NamedSharding(self.mesh, how))

    def own_noise(self, key: jax.Array) -> jax.Array:
        """The key of the noise of a step for the sequences of this device, within `split`."""
        whole = self.alone or self.vocabularies
        return key if whole else jax.random.fold_in(key, jax.lax.axis_index(AXIS))

    # Placing arrays

    def own(self, size: int) -> slice:
        """Which of the sequences of a batch lie on the devices of this process."""
        mine = [n for n, device in enumerate(self.mesh.devices) if device in self._here]
        return slice(size * mine[0] // self.count, size * (mine[-1] + 1) // self.count)

    @cached_property
    def _here(self) -> set[jax.Device]:
        return set(self.mesh.local_devices)

    def place(self, batch: Batch) -> Batch:
        """A batch whose sequences lie on their devices; a single one is left to the step itself.

        Of several processes, each is given its `own` sequences, and the batch is all of them.
        """
        if self.alone:  # which moves arrays in less time than `jax.device_put`
            return batch
        if self.mesh.is_multi_process:
            put = jax.make_array_from_process_local_data
            return batch.over_sequences(lambda x, axis: put(self._sharded[axis], np.asarray(x)))
        how = batch.arrays.over_sequences(lambda _, axis: self._sharded[axis])
        placed = jax.device_put(batch.arrays, how)  # all at once, which takes less time
        return placed._replace(first=batch.first)

    def place_number(self, number: int) -> Any:
        """The number of a step, for every device."""
        return np.int32(number) if self.alone else self._put(np.int32(number), ALL)

    @cached_property
    def _sharded(self) -> list[NamedSharding]:
        """How arrays are placed that have the sequences on their first or second axis."""
        return [NamedSharding(self.mesh, how) for how in (ROWS, OUTPUTS)]

    def place_state(self, state: Any) -> Any:
        """The states of all sequences, each on its device."""
        return state if self.alone else jax.tree.map(lambda x: self._put(x, ROWS), state)

    def place_all(self, tree: Any) -> Any:
        """Arrays of which every device has a copy, or of a vocabulary its symbols."""
        if self.alone:
            return tree
        return jax.tree.map(
            lambda x: self._put(x, self._placing(x)) if eqx.is_array(x) else x, tree
        )

    def _put(self, x: Any, how: PartitionSpec) -> jax.Array:
        """An array on the devices, of which a process has only those of its own."""
        sharding = NamedSharding(self.mesh, how)
        if self.mesh.is_multi_process:
            whole = np.asarray(x)
            return jax.make_array_from_callback(whole.shape, sharding, lambda part: whole[part])
        return jax.device_put(x, sharding)

    def copy_here(self, tree: Any) -> Any:
        """Arrays of which every device has a copy, as those of one device; others as they are."""
        if self.alone:
            return tree

        def here(x: Any) -> Any:
            copied = isinstance(x, jax.Array) and x.is_fully_replicated
            return x.addressable_data(0) if copied else x

        return jax.tree.map(here, tree)

    def whole_here(self, tree: Any, aside: bool = False) -> Any:
        """`copy_here`, with all symbols of what devices share, one array after the other.

        Args:
            tree: arrays of a network or a learner.
            aside: whether those arrays go to the memory of the host and not to a device.
        """
        tree = self.copy_here(tree)
        if not self.vocabularies:
            return tree
        to = _host() if aside else jax.local_devices()[0]

        def whole(x: Any) -> Any:
            if not isinstance(x, jax.Array) or x.is_fully_replicated:
                return x
            if not x.is_fully_addressable:
                x = self._everywhere(x).addressable_data(0)
            return jax.device_put(np.asarray(x), to)

        return jax.tree.map(whole, tree)

    def aside(self) -> AbstractContextManager:
        """A context that makes arrays in the memory of the host, if devices share what is large."""
        return jax.default_device(_host()) if self.vocabularies else nullcontext()

    def gather(self, state: Any) -> Any:
        """The states of all sequences on one device."""
        return state if self.alone else self.copy_here(self._everywhere(state))

    @cached_property
    def _everywhere(self) -> Callable:
        return jax.jit(lambda state: state, out_shardings=NamedSharding(self.mesh, ALL))

    # Evaluation

    def evaluation(self, network: Model) -> tuple[Callable, Callable]:
        """How `evaluation.measured` runs a network, and how it counts.

        Args:
            network: with noise off, a copy of it on every device.
        """
        if self.alone:
            return outputs_on_from, counts_of

        def run(_: Model, state: Any, batch: Batch) -> Any:
            begins = any(len(x.devices()) == 1 for x in jax.tree.leaves(state))
            state = jax.tree.map(np.asarray, state) if begins else state
            return self._outputs(network, state, batch)

        return run, self._counts

    @cached_property
    def _outputs(self) -> Callable:
        @eqx.filter_jit
        def outputs(network: Model, state: Any, batch: Batch) -> Any:
            if self.vocabularies:
                return self._whole_outputs(network, state, batch)
            arrays, static = eqx.partition(network, eqx.is_array)

            def own(arrays: Any, state: Any, batch: Batch) -> Any:
                return outputs_of(eqx.combine(arrays, static), batch, state)

            if batch.sequences % self.count:  # every device does all of it
                return self.split(own, lambda *_: ALL, ALL)(arrays, state, batch)
            how = (ALL, ROWS, rows_of(batch))
            return self.split(own, lambda *_: how, (OUTPUTS, ROWS))(arrays, state, batch)

        return outputs

    def _whole_outputs(self, network: Model, state: Any, batch: Batch) -> Any:
        """The outputs of all sequences, split by symbols."""
        outputs, final = outputs_of(network, batch, state, backend="scan")
        if outputs.shape[-1] in self.vocabularies:
            outputs = self._held(outputs, along(outputs.ndim - 1))
        return outputs, final

    @cached_property
    def _counts(self) -> Callable:
        @eqx.filter_jit
        def counts(metrics: tuple[Metric, ...], outputs: Any, batch: Batch) -> Any:
            def every(outputs: Any, batch: Batch) -> Any:
                return [metric.counts(outputs, batch) for metric in metrics]

            def own(outputs: Any, batch: Batch) -> Any:
                # Added up in the order of the devices, however they are divided among processes.
                parts = jax.lax.all_gather(every(outputs, batch), AXIS)
                return jax.tree.map(lambda x: x.sum(0), parts)

            if self.vocabularies:
                return self._held(every(outputs, batch), ALL)
            if batch.sequences % self.count:
                return self.split(every, lambda *_: ALL, ALL)(outputs, batch)
            return self.split(own, lambda *_: (OUTPUTS, rows_of(batch)), ALL)(outputs, batch)

        return counts


@cache
def devices_once(count: int, vocabularies: tuple[int, ...]) -> Devices:
    """Always the same object, so that one evaluation after the other takes one compiled program."""
    return Devices(count, vocabularies)


ONE = devices_once(1, ())


def _host() -> jax.Device:
    """The processor, as a device; the first device where JAX has been kept from it."""
    try:
        return jax.local_devices(backend="cpu")[0]
    except RuntimeError:
        return jax.local_devices()[0]


def rows_of(batch: Batch) -> Batch:
    """How the arrays of a batch are split by sequences."""
    return batch.over_sequences(lambda _, axis: along(axis))
