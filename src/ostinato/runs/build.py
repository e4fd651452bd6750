"""From a configuration to what it describes: the task and the network."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from ..cells import CELLS, Cell
from ..errors import BadInput
from ..learning import FirstOrder, Learner, Objective, gradient_named
from ..tasks import TASKS, Task, Text, Vocabulary, embedded_text, read_symbols
from ..weights import count_parameters
from ..wiring import (
    Dropout,
    Embedding,
    LayerNorm,
    Network,
    OneHot,
    Readout,
    Stack,
    WeightNoise,
    Zoneout,
)
from .config import Config

# The models of document 004 have no bias anywhere.
WITHOUT_BIAS = ("krause", "mlstm")
UNITS = 128


def build_task(config: Config, vocabulary: Vocabulary | None = None) -> Task:
    """The task of a configuration; for a text, with the vocabulary of a trained model if given."""
    length: dict[str, Any] = {} if config.length is None else {"length": config.length}
    if config.task == "text":
        options = {"split": config.shares, "carry": config.carry, "seed": config.seed, **length}
        if config.file is None:
            text = embedded_text()
            vocabulary = vocabulary or Vocabulary.of_text(text)
            return Text(vocabulary.encode(text), vocabulary, **options)
        try:
            symbols, vocabulary = read_symbols(
                config.file, config.level, config.encoding, vocabulary
            )
            return Text(symbols, vocabulary, **options)
        except BadInput as error:
            where = "" if str(config.file) in str(error) else f"{config.file}: "
            raise BadInput(f"{where}{error}") from None
    if config.task not in TASKS:
        raise BadInput(
            f"there is no task {config.task!r}; there are text, {', '.join(sorted(TASKS))}"
        )
    if config.file is not None:
        raise BadInput(f"the task {config.task} makes its own data; leave out {config.file}")
    return TASKS[config.task](seed=config.seed, **length)


class Sizes(NamedTuple):
    """What a network must know of its task."""

    name: str
    inputs: int
    outputs: int
    symbolic: bool


def build_network(config: Config, task: Task | Sizes) -> Network:
    """A fresh network for a task, its weights drawn from the configuration's seed."""
    units = config.units
    if config.budget is not None:
        if units is not None:
            raise BadInput("give either units or budget, not both")
        units = units_for(config, task)
    return _network(config, task, units or UNITS, jax.random.key(config.seed))


def units_for(config: Config, task: Task | Sizes) -> int:
    """The units with which the number of parameters comes nearest to the budget."""
    budget = config.budget
    assert budget is not None

    def size(units: int) -> int:
        shapes = eqx.filter_eval_shape(
            lambda key: _network(config, task, units, key), jax.random.key(0)
        )
        return count_parameters(shapes)

    if size(1) > budget:
        raise BadInput(
            f"the smallest {config.cell} for this task has {size(1):,} parameters, more than the "
            f"budget of {budget:,}"
        )
    low, high = 1, 2
    while size(high) < budget:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if size(middle) <= budget else (low, middle)
    return min((low, high), key=lambda units: abs(size(units) - budget))


def build_learner(config: Config, task: Task) -> Learner:
    """The learner of a configuration, for a task."""
    if config.gradient == "lstm1997" and (config.cell != "lstm1997" or config.layers > 1):
        raise BadInput("the gradient lstm1997 needs --cell lstm1997 and a single layer")
    compute = None if config.precision == "float32" else config.precision
    objective = Objective(task.loss, compute, config.memory)
    return FirstOrder(
        config.learner,
        objective,
        config.steps,
        gradient_named(config.gradient, window=config.window, omega=config.omega),
        rate=config.rate,
        momentum=config.momentum,
        schedule=config.schedule,
        warmup=config.warmup,
        clip=config.clip,
        weight_decay=config.weight_decay,
    )


def _network(config: Config, task: Task | Sizes, units: int, key: jax.Array) -> Network:
    if config.cell not in CELLS:
        raise BadInput(f"there is no cell {config.cell!r}; there are {', '.join(CELLS)}")
    body, out, symbols = jax.random.split(key, 3)
    encoding: Any = None
    size = task.inputs
    if task.symbolic:
        encoding = OneHot(task.inputs)
        if config.embedding:
            encoding = Embedding(task.inputs, config.embedding, key=symbols)
            size = config.embedding
    elif config.embedding:
        raise BadInput(f"the task {task.name} reads vectors, which need no embedding")

    def layer(inputs, units, *, key):
        make, noise = jax.random.split(key)
        return _wrapped(config, CELLS[config.cell](inputs, units, key=make), noise)

    sizes = [units] * config.layers
    if config.layers > 1 or config.skip:
        cell: Any = Stack.of(layer, size, sizes, key=body, skip=config.skip)
    else:
        cell = layer(size, units, key=body)
    width = int(np.sum(sizes)) if config.skip else units
    bias = config.cell not in WITHOUT_BIAS
    return Network(cell, Readout(width, task.outputs, key=out, bias=bias), encoding)


def _wrapped(config: Config, cell: Cell, key: jax.Array) -> Cell:
    """A layer with the noise and norms that the configuration asks for."""
    zone, drop, noise = jax.random.split(key, 3)
    if config.layer_norm:
        cell = LayerNorm(cell)
    if config.weight_noise:
        cell = WeightNoise(cell, config.weight_noise, key=noise)
    if config.zoneout:
        cell = Zoneout(cell, config.zoneout, key=zone)
    if config.dropout or config.recurrent_dropout:
        cell = Dropout(cell, config.dropout, recurrent=config.recurrent_dropout, key=drop)
    return cell
