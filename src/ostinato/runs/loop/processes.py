"""One run in several processes, on one machine or many, by JAX's own `jax.distributed`.

Every process is started with the same command and runs the same loop. A step is one program over
the devices of all of them (`devices`), and a batch is a function of its number, so each process
takes its own sequences and nobody sends data. The first process alone has the run folder: it reads
the checkpoint and sends it to the others, and writes log and checkpoints. What depends on a clock
or a signal is agreed upon (`Agreement`), so that all processes leave the loop after the same step;
what depends on numbers is the same everywhere, because the numbers are.
"""

import hashlib
import json
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from ...cells import Model
from ...errors import BadInput
from ...learning.objective import AXIS
from ...tasks import Task
from ...weights import pack
from ..config import Config
from ..folder.checkpoints import Checkpoint, Progress
from ..folder.provenance import code_of_package, described, described_task, versions
from .devices import ALL, Devices, devices_once
from .joining_processes import STATED, check_count

CONSULT = 0.5  # seconds between two agreements, about
NOTE = 512  # bytes for the progress of a run
# What JAX's collectives say when a process at the other end is gone.
GONE = re.compile(r"gloo|nccl|connection (closed|reset)|socket|coordination|heartbeat", re.I)


class Gone(BadInput):
    """Another process of the run ended, or cannot be reached any more."""


def index() -> int:
    """Which process this is; 0 for a run in one process."""
    return jax.process_index()


def count() -> int:
    """How many processes share the run."""
    return jax.process_count()


def leave(code: int) -> None:
    """End this process at once if it failed: JAX would wait for the others, which cannot go on."""
    if 0 < code < 128 and _joined():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _joined() -> bool:
    return jax.distributed.is_initialized() and count() > 1


# Before the first step


@contextmanager
def all_or_none() -> Iterator[dict[str, str]]:
    """A context in which a run is prepared: if one process fails in it, all of them do.

    It gives a dictionary, to be filled with what must be the same in all processes (`facts`).
    """
    facts: dict[str, str] = {}
    if not _joined():
        yield facts
        return
    try:
        yield facts
    except Exception:
        _gathered(np.zeros(1 + 32 * len(NAMES), np.uint8))
        raise
    digests = [hashlib.sha256(facts.get(name, "").encode()).digest() for name in NAMES]
    every = _gathered(np.frombuffer(b"\1" + b"".join(digests), np.uint8))
    failed = np.flatnonzero(every[:, 0] == 0)
    if failed.size:
        raise Gone(f"process {failed[0]} of {count()} could not begin; its own message says why")
    for n, name in enumerate(NAMES):
        part = every[:, 1 + 32 * n : 33 + 32 * n]
        others = np.flatnonzero((part != part[0]).any(axis=1))
        if others.size:
            raise BadInput(f"process {others[0]} has {NAMES[name]} than process 0")


NAMES = {
    "count": "another --processes",
    "versions": "other versions of Ostinato, JAX or Python",
    "code": "another code of Ostinato",
    "settings": "other settings",
    "data": "other data",
    "network": "another network",
}


def _gathered(row: np.ndarray) -> np.ndarray:
    """The rows of all processes."""
    from jax.experimental import multihost_utils

    with lost_processes(), _output_to(2):
        _greet()
        return np.asarray(multihost_utils.process_allgather(row))


@cache
def _greet() -> None:
    """Let all devices exchange numbers, because gloo says so on standard output, once."""
    from jax.experimental import multihost_utils

    every = Devices(jax.device_count())
    total = every.split(partial(jax.lax.psum, axis_name=AXIS), lambda _: ALL, ALL)
    with open(os.devnull, "w") as nowhere, _output_to(nowhere.fileno()):
        jax.block_until_ready(jax.jit(total)(np.zeros(1, np.float32)))
        multihost_utils.process_allgather(np.zeros(1, np.float32))


@contextmanager
def _output_to(file: int) -> Iterator[None]:
    """A context in which what libraries print goes to another file: gloo greets its peers."""
    sys.stdout.flush()
    output = os.dup(1)
    os.dup2(file, 1)
    try:
        yield
    finally:
        os.dup2(output, 1)
        os.close(output)


def wait_for_all() -> None:
    """Wait until all processes are here."""
    if _joined():
        _gathered(np.zeros(1, np.uint8))


def from_first(checkpoint: Checkpoint, progress: Progress) -> tuple[Checkpoint, Progress]:
    """The checkpoint and the progress of the first process."""
    if not _joined():
        return checkpoint, progress
    from jax.experimental import multihost_utils

    note = np.zeros(NOTE, np.uint8)
    words = json.dumps(progress._asdict()).encode()
    note[: len(words)] = np.frombuffer(words, np.uint8)
    arrays, static = eqx.partition(checkpoint, eqx.is_array)
    arrays = jax.tree.map(np.asarray, arrays)
    arrays, note = multihost_utils.broadcast_one_to_all((arrays, note))
    words = bytes(np.asarray(note)).rstrip(b"\0")
    arrays = jax.tree.map(jax.numpy.asarray, jax.tree.map(np.asarray, arrays))
    return eqx.combine(arrays, static), Progress(**json.loads(words))


def on_all_devices(config: Config) -> Config:
    """The configuration, in which all devices share a batch if there are several processes."""
    return config.replace(devices=jax.device_count()) if _joined() else config


def shared_devices(count: int) -> Devices:
    """So many devices, or those of all processes if there are several."""
    check_count("--devices", count, 1)
    present = jax.device_count()
    if not _joined() and count > present:
        raise BadInput(f"there are {present} devices here, got --devices {count}")
    return devices_once(present if _joined() else count, ())


def facts(settings: Any, task: Task, network: Model, *, trained: bool = False) -> dict[str, str]:
    """What must be the same in all processes, by its name in `NAMES`.

    Args:
        settings: what was asked for, as JSON.
        task: with its data.
        network: of which the structure must be the same.
        trained: whether the weights must be, too.
    """
    if not _joined():
        return {}
    known: dict[str, Any] = {"count": STATED, "versions": versions(), "code": code_of_package()}
    known |= {"settings": settings, "data": described_task(task), "network": [described(network)]}
    if trained:
        known["network"].append(hashlib.sha256(b"".join(pack(network))).hexdigest())
    return {name: json.dumps(value, sort_keys=True) for name, value in known.items()}


# During the run


@contextmanager
def lost_processes() -> Iterator[None]:
    """A context in which what JAX says of a process that is gone becomes one line."""
    try:
        yield
    except (ValueError, RuntimeError) as error:  # both classes, by where JAX notices
        if isinstance(error, BadInput) or not _joined() or not GONE.search(str(error)):
            raise
        raise Gone(
            "another process of this run ended or cannot be reached, so all of them stop; start "
            "them again with --resume"
        ) from None


class Wish(NamedTuple):
    """What a process would do now.

    Attributes:
        signal: the number of the signal that it was sent, or 0.
        time_is_up: whether the minutes of the run are over.
        checkpoint: whether a checkpoint may be taken or written.
    """

    signal: int = 0
    time_is_up: bool = False
    checkpoint: bool = False


class Agreement:
    """What all processes do after a step: stop by a signal to any, else as the first one wishes.

    To agree takes a message to all. So it is done twice a second and not after each step: the first
    process says after how many steps again, so that all meet there; often enough at a log entry,
    where checkpoints are taken.

    Attributes:
        log_every: steps between two log entries.
        next: the step after which the processes agree again.

    Example:
        >>> agreement = Agreement(log_every=10)
        >>> agreement(3, lambda: Wish(signal=15))
        Wish(signal=15, time_is_up=False, checkpoint=False)
    """

    def __init__(self, log_every: int):
        self.log_every, self.next = log_every, 0
        self.before: tuple[int, float] | None = None

    def __call__(self, step: int, wish: Callable[[], Wish]) -> Wish:
        if not _joined():
            return wish()
        if step < self.next:
            return Wish()
        own = wish()
        every = _gathered(np.array([*own, self._steps(step)], np.int32))
        self.next = step + int(every[0, 3])
        return Wish(int(every[:, 0].max()), bool(every[0, 1]), bool(every[0, 2]))

    def _steps(self, step: int) -> int:
        """After how many steps to agree again."""
        now = time.perf_counter()
        before, self.before = self.before, (step, now)
        if before is None or before[0] >= step:
            return 1
        seconds = (now - before[1]) / (step - before[0])
        steps = max(1, min(10_000, int(CONSULT / max(seconds, 1e-6))))
        to_log = -step % self.log_every or self.log_every
        if to_log <= steps:  # the last log entry within reach
            to_log = math.floor((step + steps) / self.log_every) * self.log_every - step
        return min(steps, to_log)
