"""Many requests, one step of the network: what waits is gathered, stepped together, handed back.

The states of all requests lie side by side, a slot each. One thread takes turns: it gathers the
slots that have something to read, takes one step, and puts the new states back.

    u = initial where a request begins, else states[slots]
    u, o = step(u, x)             x: what each request reads
    states[slots] = u
    next symbol: the one that the request knows already, else one that is drawn from softmax(o)

A request joins at any turn and leaves at any turn, so nobody waits for another to end. The number
of slots in a turn is rounded up to one of `SIZES`, each compiled once.
"""

import dataclasses
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..decoding.sampling import choose
from ..wiring.stepping import Stepping
from .worker import Worker

SIZES = (1, 8, 64, 256)
NO_RANK, NO_SHARE = 2**30, 2.0  # no limit of the rank, and of the total probability


@dataclasses.dataclass(eq=False)
class Job:
    """What one request asks of the network.

    Attributes:
        values: what is read: symbols, or vectors `(inputs,)`. Drawn symbols are added.
        draws: how many symbols to draw after them.
        temperature, top_k, top_p, seed: of these; see `runs.sample`.
        stops: rows of symbols, at each of which it stops.
        state: the state before them; `None` for the beginning.
        keep: whether the state is handed back at the end.
        scored: whether the log-probabilities of the values are wanted.
        deadline: when it must end, by `time.monotonic`.
        waiter: whatever whoever waits for it puts there.

    Set by the batcher:
        place: the value that is read next.
        logs: the log-probability of each drawn symbol; with `scored` of each value but the first.
        outputs: those of the network after the last value that it read.
        ended: why it ended: `"length"`, `"stop"`, `"time"`, `"gone"` or `"damaged"`.
    """

    values: list[Any]
    draws: int = 0
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0
    stops: tuple[tuple[int, ...], ...] = ()
    state: list[np.ndarray] | None = None
    keep: bool = False
    scored: bool = False
    deadline: float = float("inf")
    waiter: Any = None
    place: int = 0
    drawn: int = 0
    logs: list[float] = dataclasses.field(default_factory=list)
    outputs: np.ndarray | None = None
    ended: str | None = None
    gone: bool = False
    slot: int = -1

    @property
    def symbols(self) -> list[Any]:
        """Those that were drawn."""
        return self.values[len(self.values) - self.drawn :]


class Batcher(Worker):
    """The states of many requests, and the thread that steps them together.

    Args:
        stepping: the network.
        inputs: the size of an input vector; it means nothing for a network that reads symbols.
        slots: how many requests are stepped together.
        waiting: how many more may wait for a slot.
        hear: is told after each turn of all jobs that went on in it, from the batcher's thread.
    """

    def __init__(
        self,
        stepping: Stepping,
        inputs: int,
        *,
        slots: int,
        waiting: int,
        hear: Callable[[list[Job]], None],
    ) -> None:
        super().__init__("batcher", waiting)
        self.slots, self.hear = slots, hear
        self.turns = self.steps = 0
        arrays, rest = eqx.partition(stepping, eqx.is_array)
        self._weights, of_weights = jax.tree.flatten(arrays)
        self._states, of_state = jax.tree.flatten(stepping.initial((slots,)))
        self._symbolic, self._inputs = stepping.symbols is not None, inputs
        self._sizes = sorted({min(size, slots) for size in (*SIZES, slots)})
        initial = jax.tree.leaves(stepping.initial(()))

        def turn(
            weights: list, states: list, index: Any, x: Any, fresh: Any, how: tuple | None
        ) -> tuple:
            own = eqx.combine(jax.tree.unflatten(of_weights, weights), rest)
            before = [
                jnp.where(fresh.reshape(-1, *[1] * first.ndim), first, some[index])
                for some, first in zip(states, initial, strict=True)
            ]
            state, o = own.step(jax.tree.unflatten(of_state, before), x)
            after = zip(states, jax.tree.leaves(state), strict=True)
            states = [old.at[index].set(new, mode="drop") for old, new in after]
            if how is None:
                return states, o, jnp.all(jnp.isfinite(o), axis=-1)
            known, seed, place, *drawing = how
            keys = jax.vmap(lambda s, p: jax.random.fold_in(jax.random.key(s), p))(seed, place)
            symbol = jnp.where(known >= 0, known, jax.vmap(choose)(o, keys, *drawing))
            logs = jnp.take_along_axis(jax.nn.log_softmax(o), symbol[:, None], axis=-1)[:, 0]
            return states, o, jnp.all(jnp.isfinite(o), axis=-1), symbol, logs

        self._turn = jax.jit(turn, donate_argnums=1)
        self._take = jax.jit(lambda states, n: [some[n] for some in states])
        self._put = jax.jit(
            lambda states, n, rows: [
                some.at[n].set(r) for some, r in zip(states, rows, strict=True)
            ],
            donate_argnums=0,
        )
        self._free, self.active = list(range(slots))[::-1], list[Job]()
        some = slots + 1  # the last one is nobody's
        self._seed, self._temperature = np.zeros(some, np.uint32), np.ones(some, np.float32)
        self._rank = np.full(some, NO_RANK, np.int32)
        self._share = np.full(some, NO_SHARE, np.float32)

    def start(self) -> None:
        """Compile what a turn needs, and begin to take turns."""
        for size in self._sizes:
            nobody = [Job([0 if self._symbolic else np.zeros(self._inputs, np.float32)])] * size
            self._advance(nobody, np.full(size, self.slots, np.int32))
        super().start()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self.queue or self.active or self._ending):
                    self._changed.wait()
                ending = self._ending
                while self.queue and self._free:
                    self._admit(self.queue.popleft())
            told = [job for job in self.active if self._is_over(job, ending)]
            going = [job for job in self.active if job.ended is None]
            self.active = going
            if going:
                self._step(going)
                told += going
                self.active = [job for job in going if job.ended is None]
            for job in told:
                if job.ended is not None:
                    self._release(job)
            self.hear(told)
            if ending:
                with self._changed:
                    left, self.queue = [*self.queue], deque()
                for job in left:
                    job.ended = "gone"
                self.hear(left)
                return

    def _admit(self, job: Job) -> None:
        n = job.slot = self._free.pop()
        self.active.append(job)
        self._seed[n], self._temperature[n] = job.seed, job.temperature
        self._rank[n] = min(job.top_k or NO_RANK, NO_RANK)
        self._share[n] = NO_SHARE if job.top_p is None else job.top_p
        if job.state is not None:
            self._states = self._put(self._states, job.slot, job.state)

    def _is_over(self, job: Job, ending: bool) -> bool:
        if job.gone or ending:
            job.ended = "gone"
        elif time.monotonic() > job.deadline:
            job.ended = "time"
        return job.ended is not None

    def _release(self, job: Job) -> None:
        if job.keep:
            job.state = [np.array(row) for row in self._take(self._states, job.slot)]
        self._free.append(job.slot)

    def _step(self, jobs: list[Job]) -> None:
        size = next(size for size in self._sizes if size >= len(jobs))
        index = np.full(size, self.slots, np.int32)  # beyond the last slot: nobody's
        index[: len(jobs)] = [job.slot for job in jobs]
        outputs, finite, symbols, logs = self._advance(
            [*jobs, *[jobs[0]] * (size - len(jobs))], index
        )
        self.turns += 1
        self.steps += len(jobs)
        for n, job in enumerate(jobs):
            if not finite[n]:
                job.ended = "damaged"
                continue
            self._note(job, outputs[n], symbols[n], logs[n])

    def _advance(self, jobs: Sequence[Job], index: np.ndarray) -> tuple[Any, Any, Any, Any]:
        """One turn: outputs `(size, outputs)`, whether they are finite, symbols and their logs."""
        kind = np.int32 if self._symbolic else np.float32
        x = np.array([job.values[job.place] for job in jobs], kind)
        fresh = np.array([job.place == 0 and job.state is None for job in jobs])
        how = None if not self._symbolic else self._drawing(jobs, index)
        self._states, o, finite, *more = self._turn(
            self._weights, self._states, index, x, fresh, how
        )
        outputs, finite = np.asarray(o), np.asarray(finite).tolist()
        symbols, logs = [np.asarray(part).tolist() for part in more] or ([0] * len(jobs),) * 2
        return outputs, finite, symbols, logs

    def _drawing(self, jobs: Sequence[Job], index: np.ndarray) -> tuple:
        known = [
            job.values[job.place + 1] if job.place + 1 < len(job.values) else -1 for job in jobs
        ]
        how: tuple = (
            np.array(known, np.int32),
            self._seed[index],
            np.array([job.drawn for job in jobs], np.int32),
            self._temperature[index],
        )
        rank, share = self._rank[index], self._share[index]
        if (rank < NO_RANK).any() or (share < NO_SHARE).any():
            how += (rank, share)
        return how

    def _note(self, job: Job, outputs: np.ndarray, symbol: int, log: float) -> None:
        """What a turn brought to a job."""
        job.place += 1
        if job.place < len(job.values):
            if job.scored:
                job.logs.append(log)
            return
        job.outputs = outputs
        if job.drawn < job.draws:
            job.values.append(symbol)
            job.logs.append(log)
            job.drawn += 1
        if job.drawn == job.draws:
            job.ended = "length"
        for stop in job.stops:
            if job.drawn >= len(stop) and tuple(job.values[-len(stop) :]) == stop:
                job.ended = "stop"
