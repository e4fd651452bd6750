"""A trial: train the cell of a graph on tasks, with several seeds and rates in one program.

A task gives its own small problem: the first batches of its training part, the same for every cell,
and a batch of its validation part. Training is cut into rungs of equal length. After each rung the
cell has a score,

    score = mean over tasks of the largest over rates of the mean over seeds of p
    p = (chance - value) / (chance - solved), between 0 and 1

where `value` is the task's first metric: 0 is chance, 1 is solved. Whoever runs the trial may stop
it after a rung.

The networks of one graph differ in their seeds and rates alone. They are packed by `vmap`, so each
rung of a task is one compiled call: a scan over batches of the learner's step.
"""

import dataclasses
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..data import Batch
from ..errors import BadInput
from ..learning import FirstOrder, Objective
from ..memory import FLOAT, check_memory
from ..tasks import Task
from ..tasks.metrics import counted, values_of
from ..wiring import Network, OneHot, Readout, outputs_of
from .cell import GraphCell
from .graph import Graph

HELD_OUT = 250  # sequences of the validation part that a score is measured on

# On a CPU compiling takes longer than training. With these options it takes half of the time, and
# the code is no slower; later versions do not have the second.
_QUICK: dict[str, Any] = {"xla_backend_optimization_level": 1}
if tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 11):
    _QUICK["xla_cpu_use_fusion_emitters"] = False


def check_counts(**values: Any) -> None:
    """Refuse a value that is not a whole number from 1 on, by its name."""
    for name, value in values.items():
        if type(value) is not int or value < 1:
            raise BadInput(f"{name} must be a whole number from 1 on, got {value!r:.40}")


@dataclasses.dataclass(frozen=True)
class Budget:
    """How long and how often a cell is trained.

    Attributes:
        rungs: how many times the score is measured.
        steps: training steps per rung.
        batch: sequences per batch.
        units: of every cell.
        seeds: how many networks per rate, each with its own initial weights.
        rates: the learning rates of Adam to try.
    """

    rungs: int = 3
    steps: int = 100
    batch: int = 32
    units: int = 12
    seeds: int = 2
    rates: tuple[float, ...] = (0.01, 0.03)

    def __post_init__(self) -> None:
        check_counts(rungs=self.rungs, steps=self.steps, batch=self.batch)
        check_counts(units=self.units, seeds=self.seeds)
        if not self.rates or any(type(x) not in (int, float) or not x > 0 for x in self.rates):
            raise BadInput(f"rates must be positive numbers, got {self.rates!r:.40}")


class Problem:
    """A task with its batches in memory, ready for any cell."""

    def __init__(self, task: Task, budget: Budget):
        """
        Args:
            task: one whose network is a cell with a readout.
            budget: how many batches of which size.
        """
        if task.model is not None and task.model["kind"] != "network":
            raise BadInput(
                f"the task {task.name} needs a network of its own kind; evolution takes tasks that "
                "a cell with a readout can learn"
            )
        if not np.isfinite(task.chance):
            raise BadInput(f"the task {task.name} has no chance level to measure progress from")
        self.task, self.budget = task, budget
        count = budget.rungs * budget.steps
        _check_fits(task, budget)
        batches = [task.batch(index, budget.batch).arrays for index in range(count)]
        self.rungs = [
            _stacked(batches[n * budget.steps : (n + 1) * budget.steps])
            for n in range(budget.rungs)
        ]
        self.valid = next(iter(task.held_out("valid", HELD_OUT))).on_device().arrays

    def network(self, graph: Graph, seed: int) -> Network:
        """A new network around the cell of a graph."""
        task, units = self.task, self.budget.units
        body, out = jax.random.split(jax.random.key(seed))
        encoding = OneHot(task.inputs) if task.symbolic else None
        cell = GraphCell(task.inputs, units, key=body, graph=graph)
        return Network(cell, Readout(units, task.outputs, key=out), encoding)

    def progress(self, value: float) -> float:
        """A metric as a number from 0, chance, to 1, solved."""
        task = self.task
        best = task.solved
        if best is None:
            best = 1.0 if task.metric.higher_is_better else 0.0
        if not np.isfinite(value):
            return 0.0
        return float(np.clip((task.chance - value) / (task.chance - best), 0.0, 1.0))

    def run(self, graph: Graph) -> Iterator[float]:
        """Train the cell of a graph; its progress after each rung."""
        seeds, rates = self.budget.seeds, self.budget.rates
        networks = [self.network(graph, seed) for seed in range(seeds)] * len(rates)
        _, static = eqx.partition(networks[0], eqx.is_array)
        arrays = jax.tree.map(
            lambda *x: jnp.stack(x), *(eqx.filter(one, eqx.is_array) for one in networks)
        )
        rate = jnp.repeat(jnp.asarray(rates), seeds)
        learner = FirstOrder("adam", Objective(self.task.loss), 1, schedule="constant")
        learner_state = jax.vmap(lambda x: learner.initial(eqx.combine(x, static)))(arrays)
        advance = _compiled(self.task, static)
        for batches in self.rungs:
            arrays, learner_state, outputs = advance(
                arrays, learner_state, rate, batches, self.valid
            )
            yield self._best(outputs, len(rates))

    def _best(self, outputs: jax.Array, rates: int) -> float:
        """The progress at the best rate, from the outputs of every network."""
        metrics = (self.task.metric,)
        values = [values_of(metrics, [counted(metrics, one, self.valid)])[0] for one in outputs]
        progress = [0.0 if value is None else self.progress(value) for value in values]
        return float(np.mean(np.reshape(progress, (rates, -1)), axis=1).max())


def _check_fits(task: Task, budget: Budget) -> None:
    """Refuse what certainly needs more memory than there is: the batches, or the smallest cell."""
    first = sum(np.asarray(x).nbytes for x in jax.tree.leaves(task.batch(0, budget.batch).arrays))
    networks = budget.seeds * len(budget.rates)
    weights = (task.inputs + budget.units + task.outputs) * budget.units
    check_memory(
        {
            "batches": first * budget.rungs * budget.steps,
            "weights": 4 * FLOAT * networks * weights,  # with the gradient and Adam's two averages
        },
        {"batches": "fewer --steps or --rungs", "weights": "fewer --units"},
    )


def _stacked(batches: list[Batch]) -> Batch:
    return jax.tree.map(lambda *x: jnp.stack([jnp.asarray(one) for one in x]), *batches)


def _compiled(task: Task, static: Any) -> Any:
    """One rung of all networks of a graph: `(arrays, learner_state, rate, batches, valid)`."""

    def one(arrays: Any, learner_state: Any, rate: jax.Array, batches: Batch, valid: Batch) -> Any:
        objective = Objective(task.loss)
        learner = FirstOrder("adam", objective, 1, rate=rate, schedule="constant")  # type: ignore[arg-type]

        def step(carried: Any, batch: Batch) -> tuple[Any, None]:
            arrays, learner_state = carried
            network = eqx.combine(arrays, static)
            state = learner.start(network, batch)
            network, learner_state, _, _ = learner.step(network, learner_state, state, batch)
            return (eqx.filter(network, eqx.is_array), learner_state), None

        (arrays, learner_state), _ = jax.lax.scan(step, (arrays, learner_state), batches)
        outputs, _ = outputs_of(eqx.combine(arrays, static), valid)
        return arrays, learner_state, outputs

    packed = jax.vmap(one, in_axes=(0, 0, 0, None, None))
    return jax.jit(packed, compiler_options=_QUICK if jax.default_backend() == "cpu" else None)
