"""Several runs whose steps are one compiled program, mapped over the runs by `jax.vmap`.

Every run has its own training loop, in a thread of its own. Only the computation is shared: the
steps of all runs meet, and when every run has handed in its batch, one program takes them all.

    run 1   batch ─┐                ┌─ row 1 ─ log, checkpoint, next batch
    run 2   batch ─┼─ one program ──┼─ row 2 ─ ...
    run 3   batch ─┘                └─ row 3 ─ ...

The arrays stay stacked on the device from step to step. A run that ends leaves; its row is computed
on, without effect, until half of the rows are free. Validations meet in the same way.
"""

import functools
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...cells import Model
from ...data import Batch
from ...learning import Learner
from ...tasks import Task
from ...tasks.metrics import Metric
from ..analysis.evaluation import alike, measured, measured_together, shapes_of, stacked
from ..config import Config
from ..folder.checkpoints import Checkpoint
from ..loop.devices import Devices
from ..loop.signals import Stop
from ..loop.step import Inputs, RunGroup, SharedStep, SharedSteps, Steps, strongly_typed


class Barrier:
    """A barrier of threads: when each has handed in a call, one of them answers all.

    Attributes:
        present: how many threads take part.
        answer: from the list of calls to the list of answers.

    Example:
        >>> barrier, answers = Barrier(2, lambda calls: [sum(calls) for _ in calls]), []
        >>> ask = lambda n: answers.append(barrier.meet(n))
        >>> threads = [threading.Thread(target=ask, args=(n,)) for n in (1, 2)]
        >>> for thread in threads: thread.start()
        >>> for thread in threads: thread.join()
        >>> answers
        [3, 3]
    """

    def __init__(self, present: int, answer: Callable[[list[Any]], list[Any]]):
        self.present, self.answer = present, answer
        self.waiting: list[tuple[Any, Future[Any]]] = []
        self.changed = threading.Condition()

    def meet(self, asked: Any) -> Any:
        """Hand in a call, and wait for its answer."""
        answer: Future[Any] = Future()
        with self.changed:
            self.waiting.append((asked, answer))
            while not answer.done():
                if len(self.waiting) == self.present:
                    self._answer()
                else:
                    self.changed.wait()
        return answer.result()

    def leave(self) -> None:
        """No longer wait for one of the threads."""
        with self.changed:
            self.present -= 1
            self.changed.notify_all()

    def _answer(self) -> None:
        calls, futures = zip(*self.waiting, strict=True)
        self.waiting = []
        try:
            answered = [*zip(futures, self.answer([*calls]), strict=True)]
        except BaseException as error:
            for future in futures:
                future.set_exception(error)
        else:
            for future, answer in answered:
                future.set_result(answer)
        self.changed.notify_all()


class Stack(NamedTuple):
    """The arrays of several runs, with a row for each.

    Attributes:
        lanes: the run of each row. A row that is only there to fill the stack repeats the first.
        inputs, fresh: what stays the same from step to step.
        arrays, learner_state, state: what a step changes.
    """

    lanes: tuple["Lane", ...]
    inputs: Any
    fresh: Any
    arrays: Any
    learner_state: Any
    state: Any


class Row(NamedTuple):
    """What a run has of a stack."""

    stack: Stack
    place: int

    def parts(self) -> tuple[Any, Any, Any]:
        """Arrays, learner state and carried state."""
        return _row(self.stack[3:], np.int32(self.place))


class Single(NamedTuple):
    """What a run has where it begins: a checkpoint, which is no row of a stack yet."""

    begun: Checkpoint
    stack: None = None
    place: int = 0

    def parts(self) -> tuple[Any, Any, Any]:
        """Arrays, learner state and carried state."""
        return eqx.filter(self.begun.network, eqx.is_array), self.begun.learner, self.begun.state


@jax.jit
def _row(tree: Any, index: Any) -> Any:
    return jax.tree.map(lambda x: x[index], tree)


class Reports:
    """The reports of a step of all runs, fetched from the device at once."""

    def __init__(self, reports: Any):
        self.reports = reports

    @functools.cached_property
    def fetched(self) -> Any:
        return jax.device_get(self.reports)

    def of(self, index: int) -> dict:
        return jax.tree.map(lambda x: x[index], self.fetched)


class _Step(NamedTuple):
    lane: "Lane"
    now: Any
    fresh: Any
    batch: Batch
    step: int

    @property
    def kind(self) -> Any:
        """What steps that are taken at once have in common."""
        return _Step, id(self.lane.shared), shapes_of(self.batch.arrays)

    def answers(self, pack: "Pack", calls: list[Any]) -> list[Any]:
        """The answers to calls of the same kind."""
        return pack.step(calls)


class _Measure(NamedTuple):
    lane: "Lane"
    now: Any
    batches: list[Batch]
    metrics: tuple[Metric, ...]

    @property
    def kind(self) -> Any:
        """What validations that are done at once have in common."""
        return _Measure, id(self.lane.shared), self.metrics

    def answers(self, pack: "Pack", calls: list[Any]) -> list[Any]:
        """The answers to calls of the same kind."""
        return pack.measure(calls)


class Pack(RunGroup):
    """Runs whose steps are one program.

    Attributes:
        size: how many there are.
    """

    mapped = True

    def __init__(self, stop: Stop, shared: SharedSteps, size: int):
        super().__init__(stop, shared)
        self.size, self.barrier = size, Barrier(size, self._answers)

    def steps(
        self, task: Task, network: Model, learner: Learner, config: Config, devices: Devices
    ) -> Steps:
        return Lane(self.barrier, *self._shared(task, network, learner, config))

    def leave(self) -> None:
        self.barrier.leave()

    def _answers(self, calls: list[Any]) -> list[Any]:
        """Answer steps and validations, each kind of the same shapes at once."""
        kinds: list[tuple[Any, list[int]]] = []
        for place, call in enumerate(calls):
            kind = call.kind
            same = next((places for other, places in kinds if other == kind), None)
            if same is None:
                kinds.append((kind, [place]))
            else:
                same.append(place)
        answers: dict[int, Any] = {}
        for _, places in kinds:
            some = [calls[place] for place in places]
            answers |= dict(zip(places, some[0].answers(self, some), strict=True))
        return [answers[place] for place in range(len(calls))]

    def step(self, calls: list[_Step]) -> list[tuple[Row, tuple[Reports, int]]]:
        stack, rows = self._stack(calls)
        every = [calls[rows.index(row) if row in rows else 0] for row in range(len(stack.lanes))]
        *after, report = calls[0].lane.shared.together(
            *stack[1:],
            stacked([call.batch.arrays for call in every]),
            np.array([bool(call.batch.first) for call in every]),
            np.array([call.step for call in every], np.int32),
        )
        new, told = Stack(*stack[:3], *after), Reports(report)
        return [(Row(new, row), (told, row)) for row in rows]

    def measure(self, calls: list[_Measure]) -> list[list[float | None]]:
        static, metrics = calls[0].lane.shared.static, calls[0].metrics
        if len(calls) == 1 or not alike([call.batches for call in calls]):
            return [
                measured(call.lane.checkpoint(call.now).network, call.batches, metrics)
                for call in calls
            ]
        stack, rows = _same_stack(calls)
        if stack is None:
            rows = list(range(len(calls)))
            arrays = _stacked([call.now.parts()[0] for call in calls])
        else:
            arrays = stack.arrays
        size = len(jax.tree.leaves(arrays)[0])
        every = [calls[rows.index(row) if row in rows else 0].batches for row in range(size)]
        values = measured_together(eqx.combine(arrays, static), every, metrics)
        return [values[row] for row in rows]

    def _stack(self, calls: list[_Step]) -> tuple[Stack, list[int]]:
        """The stack of some runs, and the row of each in it."""
        size = _size(self.size, len(calls))
        stack, rows = _same_stack(calls)
        if stack is not None and len(stack.lanes) == size:
            return stack, rows
        every = calls + calls[:1] * (size - len(calls))
        parts = zip(*(call.now.parts() for call in every), strict=True)
        stack = Stack(
            tuple(call.lane for call in every),
            _stacked([call.lane.inputs for call in every]),
            _stacked([call.fresh for call in every]),
            *(_stacked(part) for part in parts),
        )
        return stack, list(range(len(calls)))


class Lane:
    """The steps of a run in a pack; `now` is a `Row`, or a `Single` where the run begins."""

    def __init__(self, barrier: Barrier, shared: SharedStep, inputs: Inputs):
        self.barrier, self.shared, self.inputs = barrier, shared, inputs

    def place(self, batch: Batch, step: int) -> tuple[Batch, int]:
        return batch, step

    def advance(self, now: Any, fresh: Any, batch: Batch, step: int) -> tuple[Any, Any]:
        return self.barrier.meet(_Step(self, now, fresh, batch, step))

    def begin(self, checkpoint: Checkpoint) -> Single:
        return Single(checkpoint)

    def checkpoint(self, now: Any) -> Checkpoint:
        arrays, learner_state, state = now.parts()
        return Checkpoint(eqx.combine(arrays, self.shared.static), learner_state, state)

    def fetched(self, reports: list[Any]) -> list[dict]:
        return [x if isinstance(x, dict) else x[0].of(x[1]) for x in reports]

    def measured(
        self, now: Any, batches: Iterable[Batch], metrics: tuple[Metric, ...]
    ) -> list[float | None]:
        return self.barrier.meet(_Measure(self, now, list(batches), metrics))


def _size(most: int, count: int) -> int:
    """The rows of a stack of `count` runs: `most`, or as often halved as leaves room for all."""
    while (half := (most + 1) // 2) >= count and half < most:
        most = half
    return most


def _same_stack(calls: Sequence[Any]) -> tuple[Stack | None, list[int]]:
    """The stack that all calls have a row of, and their rows; `None` if there is none."""
    stack = calls[0].now.stack
    if not all(call.now.stack is stack for call in calls):
        return None, []
    return stack, [call.now.place for call in calls]


def _stacked(trees: Iterable[Any]) -> Any:
    return strongly_typed(jax.tree.map(lambda *x: jnp.stack(x), *trees))
