"""How long a training step would take on devices that are not here, and what bounds it.

What a step computes is counted in its program (`operations`), traced with the kernels that the
device would have. Each step of a loop through time takes

    scan      tick + (products + sums) launch + Σ max(f, √(f full)) / flops + bytes / bandwidth
    kernel    exchanges · exchange + read / reading + Σ f / program + bytes / bandwidth

for products of f operations; a kernel is looked at besides, if the scan takes over at once where it
fails. What is outside of loops is like a scan's, without a tick. A kernel's
products, and what it reads, are the share of the busiest of its programs. On P devices

    computing    max(host, Σ times · part) (1 + apart log₂ P)
    reduction    wait log₂ P + start + 2 (P - 1) delay + 2 (P - 1) / P · bytes · N / link

for N weights. The reduction is a ring, in which every device sends and receives the gradient twice,
but for its own part; before it, devices wait for the slowest. A learner says how many such passes
and reductions its step takes (`Learner.passes`). The constants are measured, or taken from a data
sheet; `docs/scaling.md` says which, and how far off they are.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np

from ..data.scaling import DTYPE
from ..errors import BadInput
from ..learning import Learner
from ..memory import FLOAT
from ..through_time.backends.persistent import Chip, as_on
from .build import build_learner, build_task, precision
from .config import Config
from .fit import per_device
from .network.budget import network_shapes, parameter_count, units_of
from .operations import Part, parts_of

USUAL = (1, 2, 4, 8, 16, 64)


class Machine(NamedTuple):
    """The constants of devices of one kind, and of what joins them.

    Attributes:
        flops: operations per second that large products of float32 reach; TF32 on a GPU.
        bfloat16, exact: how many times as many products in bfloat16 and in exact float32 reach; of
            float64, half of the latter.
        full: operations of a product that is large; one of k times fewer reaches √k times less.
        launch: seconds to begin a product, or a sum over a batch.
        tick: seconds of an iteration of a loop besides.
        bandwidth: bytes per second of memory.
        program: operations per second of one program of a kernel, in float32.
        program_bfloat16, program_exact: how many times as many it does in these.
        exchange: seconds of an exchange between the programs of a kernel.
        reading: bytes per second that such a program reads of what others hand out.
        look: seconds in which the host sees whether a kernel has failed, and the device waits.
        cores: multiprocessors, for kernels; 0 for what has none.
        host: seconds in which a step is started, while the one before it is computed.
        apart: by which share computing takes longer with every doubling of the devices, because
            they share memory and caches.
        wait: seconds by which the slowest device is later, with every doubling.
        start: seconds of a reduction of nothing.
        delay: seconds of a message.
        link: bytes per second between two devices, one way.
        node: how many devices are joined by `link`.
        between: bytes per second from one such group to the next.
        width: bytes of a number in the reduction.
        memory: bytes of a device.
    """

    flops: float
    bfloat16: float
    exact: float
    full: float
    launch: float
    tick: float
    bandwidth: float
    program: float
    program_bfloat16: float
    program_exact: float
    exchange: float
    reading: float
    look: float
    cores: float
    host: float
    apart: float
    wait: float
    start: float
    delay: float
    link: float
    node: float
    between: float
    width: float
    memory: float

    def seconds(self, part: Part) -> dict[str, float]:
        """Of a part of a program, by what takes them."""
        if part.exchanges is not None:
            rates, full = (self.program, self.program_bfloat16, self.program_exact), 0.0
            waits = part.exchanges * self.exchange + part.read / self.reading
        else:
            rates, full = (self.flops, self.bfloat16, self.exact), self.full
            waits = (len(part.products) + part.sums) * self.launch + part.loop * self.tick
        times = [
            max(product.operations, math.sqrt(product.operations * full))
            / _rate(product.kind, *rates)
            for product in part.products
        ]
        each = {
            "products": sum(times),
            "steps of time": waits,
            "memory": part.bytes / self.bandwidth,
        }
        every = {name: part.times * seconds for name, seconds in each.items()}
        return every | {"host": part.looks * self.look}

    def reduction(self, numbers: int, devices: int) -> float:
        """Seconds in which so many numbers are added up over devices."""
        if devices == 1:
            return 0.0
        link = self.link if devices <= self.node else min(self.link, self.between)
        moved = 2 * (devices - 1) / devices * self.width * numbers
        wait = self.wait * math.log2(devices)
        return wait + self.start + 2 * (devices - 1) * self.delay + moved / link


def _rate(kind: str, base: float, bfloat16: float, exact: float) -> float:
    """Operations per second in products of a kind; see `Product.kind`."""
    shares = {"float32": 1, "bfloat16": bfloat16, "float16": bfloat16, "exact": exact}
    return base * shares.get(kind, exact / 2)  # of float64


MACHINES = {
    "h200": Machine(
        flops=4.26e14,
        bfloat16=2,
        exact=0.481,
        full=2.68e10,
        launch=2.33e-6,
        tick=1.92e-6,
        bandwidth=1.86e12,
        program=7e11,
        program_bfloat16=10.8,
        program_exact=0.206,
        exchange=1.76e-6,
        reading=2.7e10,
        look=3.75e-4,
        cores=132,
        host=7.9e-4,
        apart=0.02,
        wait=0,
        start=2e-5,
        delay=2e-6,
        link=3.6e11,
        node=8,
        between=4e10,
        width=4,
        memory=141 * 10**9,
    ),
    "core": Machine(
        flops=1.07e11,
        bfloat16=1,
        exact=1,
        full=0,
        launch=0,
        tick=1.42e-5,
        bandwidth=1e10,
        program=1,
        program_bfloat16=1,
        program_exact=1,
        exchange=0,
        reading=1,
        look=0,
        cores=0,
        host=0,
        apart=0.23,
        wait=9e-4,
        start=1.9e-3,
        delay=5.5e-4,
        link=5e8,
        node=10**6,
        between=5e8,
        width=8,
        memory=8 * 2**30,
    ),
}


class Planned(NamedTuple):
    """A step on some devices.

    Attributes:
        devices: how many.
        batch: the sequences that they share.
        computing, reduction: seconds.
        memory: bytes that each device needs, about.
        fits: whether it has them.
        bound: what takes most of the time, in a word.
    """

    devices: int
    batch: int
    computing: float
    reduction: float
    memory: int
    fits: bool
    bound: str

    @property
    def seconds(self) -> float:
        return self.computing + self.reduction


class Pass(NamedTuple):
    """A pass over sequences: its time, what takes most of it, and bytes that its loops hold."""

    seconds: float
    bound: str
    held: float


def seconds_of(parts: Iterable[Part], machine: Machine) -> tuple[float, str]:
    """Seconds in which a device computes the parts of a program, and what takes most of them."""
    total = dict.fromkeys(("products", "steps of time", "memory", "host"), 0.0)
    for part in parts:
        for name, seconds in machine.seconds(part).items():
            total[name] += seconds
    return sum(total.values()), max(total, key=total.__getitem__)


def chip_of(name: str, machine: Machine) -> Chip:
    """What the choice of kernels asks of a machine."""
    return Chip(name, int(machine.cores), machine.cores > 0)


def plan(
    config: Config, machine: Machine, devices: list[int] | None, grow: bool = False
) -> Iterator[Planned]:
    """A run's step on each of some numbers of devices.

    Args:
        config: the run; its batch is shared by all devices.
        machine: their constants.
        devices: how many, each time; by default those of `USUAL` that can share the batch.
        grow: whether the batch grows with the devices, so that each has as many sequences.

    Example:
        >>> one, eight = plan(Config(task="adding", units=64), MACHINES["h200"], [1, 8])
        >>> one.reduction == 0 < eight.reduction and eight.memory < one.memory
        True
    """
    with (
        precision(config),
        jax.enable_x64(DTYPE.get() is np.float64),
        as_on(chip_of("planned", machine)),
    ):
        task = build_task(config)
        units = units_of(config, task)
        weights, network = parameter_count(config, task, units), network_shapes(config, task)

        single = build_learner(config.replace(devices=1), task)

        @cache
        def one_pass(sequences: int) -> Pass:
            batch = task.batch(0, sequences).arrays
            start = eqx.filter_eval_shape(single.start, network, batch)
            parts = parts_of(single.one_pass, network, start, batch)
            # What one loop writes another one reads.
            held = sum(part.stacked for part in parts) / 2
            return Pass(*seconds_of(parts, machine), held)

        for count in devices or USUAL:
            now = config.replace(batch=config.batch_size * (count if grow else 1), devices=count)
            try:
                learner = build_learner(now, task, here=False)
            except BadInput:
                if devices or count == 1:
                    raise
                continue
            bounds = per_device(now, task, learner, units, count)
            yield _planned(now, learner, weights, machine, one_pass, bounds)


def _planned(
    config: Config,
    learner: Learner,
    weights: int,
    machine: Machine,
    one_pass: Callable[[int], Pass],
    bounds: dict[str, int],
) -> Planned:
    """A step of a learner."""
    devices, parts = config.training.devices, dict[str, float]()
    computing = reduction = held = 0.0
    for some in learner.passes(config.batch_size):
        own = -(-some.sequences // devices)
        together = min(own, learner.chunk or own)
        seconds, bound, own_held = one_pass(together)
        held = max(held, own_held)
        seconds *= some.times * some.cost * -(-own // together)
        computing += seconds
        parts[bound] = parts.get(bound, 0) + seconds
        reduction += some.times * machine.reduction(weights if some.of_weights else 1, devices)
    if machine.host > computing:
        computing, parts = machine.host, {"host": machine.host}
    computing *= 1 + machine.apart * math.log2(devices)
    parts["reduction"] = reduction
    bound = max(parts, key=parts.__getitem__)
    # A step gives new weights and a new state of the learner beside the old ones.
    copies = 2 * bounds["weights"] - (2 + learner.copies) * FLOAT * weights
    memory = max(sum(bounds.values()), int(copies + held) + bounds["sequences"])
    fits = memory <= machine.memory
    return Planned(devices, config.batch_size, computing, reduction, memory, fits, bound)
