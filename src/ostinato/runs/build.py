"""From a configuration to what it describes: the task and the network."""

import dataclasses
import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from ..cells import CELLS, Cell
from ..cells.initialisers import Initialiser, incoming, normal, spectral_radius
from ..data import Vocabulary, read_symbols
from ..errors import BadInput
from ..learning import (
    Damping,
    FirstOrder,
    HessianFree,
    Hybrid,
    Learner,
    Objective,
    SaddleFree,
    gradient_named,
)
from ..tasks import TASKS, Task, Text, embedded_text
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
from .config import SADDLE_FREE, SECOND_ORDER, Config, check_curriculum

UNITS = 128
ONLINE_1997 = ("lstm1997", "lstm", "krause")
DROPOUTS = ("dropout", "recurrent_dropout")


def build_task(config: Config, artefacts: dict | None = None) -> Task:
    """The task of a configuration, with the artefacts of a trained model if given."""
    found = (artefacts or {}).get("vocabulary")
    task = _task(config, None if found is None else Vocabulary.from_json(found))
    if config.curriculum is not None:
        check_curriculum(config.curriculum, task.length)
    return task


def _task(config: Config, vocabulary: Vocabulary | None) -> Task:
    length: dict[str, Any] = {} if config.length is None else {"length": config.length}
    if config.task == "text":
        options = {"split": config.shares, "carry": config.carry, "seed": config.seed, **length}
        if config.file is None:
            text = embedded_text()
            vocabulary = vocabulary or Vocabulary.of_text(text)
            return Text(vocabulary.encode(text), vocabulary, source="the embedded text", **options)
        try:
            symbols, vocabulary = read_symbols(
                config.file, config.level, config.encoding, vocabulary
            )
            return Text(symbols, vocabulary, source=str(config.file), **options)
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


def task_class(config: Config) -> Any:
    """The class of a configuration's task."""
    return Text if config.task == "text" else TASKS[config.task]


class Sizes(NamedTuple):
    """What a network must know of its task."""

    name: str
    inputs: int
    outputs: int
    symbolic: bool


def build_network(config: Config, task: Task | Sizes, units: int | None = None) -> Network:
    """A fresh network for a task, its weights drawn from the configuration's seed.

    The units are those of the configuration, unless they are known already.
    """
    return _network(config, task, units or units_of(config, task), jax.random.key(config.seed))


def units_of(config: Config, task: Task | Sizes) -> int:
    """The units of each layer: those asked for, or nearest to the budget, or the usual number."""
    if config.budget is None:
        return config.units or UNITS
    if config.units is not None:
        raise BadInput("give either units or budget, not both")
    return units_for(config, task)


def network_shapes(config: Config, task: Task | Sizes, units: int | None = None) -> Network:
    """The network of `build_network` with shapes in place of arrays; nothing is compiled."""
    return _shapes(config, task, units or units_of(config, task))


def parameter_count(config: Config, task: Task | Sizes, units: int) -> int:
    """How many parameters a network of so many units has.

    The number is a quadratic function of the units, which three small networks determine; so
    it is known at once for a network of any size.
    """
    a, b, c = _quadratic(config, task)
    return (a * units + b) * units + c


def units_for(config: Config, task: Task | Sizes) -> int:
    """The units with which the number of parameters comes nearest to the budget."""
    budget = config.budget
    assert budget is not None
    a, b, c = _quadratic(config, task)
    if a + b + c > budget:
        raise BadInput(
            f"the smallest {config.cell} for this task has {a + b + c:,} parameters, more than the "
            f"budget of {budget:,}"
        )

    def size(units: int) -> int:
        return (a * units + b) * units + c

    # The largest number of units within the budget: the positive root, rounded down.
    if a:
        low = (math.isqrt(b * b - 4 * a * (c - budget)) - b) // (2 * a)
    else:
        low = (budget - c) // b
    return min((low, low + 1), key=lambda units: abs(size(units) - budget))


def _quadratic(config: Config, task: Task | Sizes) -> tuple[int, int, int]:
    """`a, b, c` of the number of parameters `a units² + b units + c`, which are whole numbers.

    With more layers than two each adds as many as the second did.
    """

    def size(units: int, layers: int) -> int:
        return count_parameters(_shapes(dataclasses.replace(config, layers=layers), task, units))

    one, two, three = (size(units, 1) for units in (1, 2, 3))
    if config.layers > 1:
        more = config.layers - 1
        one, two, three = (
            first + more * (size(units, 2) - first)
            for units, first in enumerate((one, two, three), 1)
        )
    a = (three - 2 * two + one) // 2
    b = two - one - 3 * a
    return a, b, one - a - b


def _shapes(config: Config, task: Task | Sizes, units: int) -> Network:
    # Initial weights change no shape, and those that cannot be made are a matter of making them.
    plain = dataclasses.replace(config, incoming=None, spectral_radius=None, input_scale=None)
    return eqx.filter_eval_shape(lambda key: _network(plain, task, units, key), jax.random.key(0))


def build_learner(config: Config, task: Task) -> Learner:
    """The learner of a configuration, for a task."""
    if config.gradient == "lstm1997":
        _check_online1997(config)
    compute = None if config.precision == "float32" else config.precision
    backend = None if config.backend == "auto" else config.backend
    # The training loop notices a NaN; second-order learners take it for too long a step.
    failed = "scan" if config.learner in SECOND_ORDER else "nan"
    objective = Objective(task.loss, compute, config.memory, backend, failed)
    if config.learner not in SECOND_ORDER:
        return _first_order(config, config.learner, objective)
    second = _second_order(config, objective)
    if config.first is None:
        return second
    if config.gradient in ("rtrl", "lstm1997"):
        raise BadInput(f"--first with the learner {config.learner} needs --gradient full")
    first = _first_order(config, config.first, objective)
    return Hybrid(first, second, config.first_steps, config.turns)


def _first_order(config: Config, name: str, objective: Objective) -> Learner:
    return FirstOrder(
        name,
        objective,
        config.steps,
        gradient_named(config.gradient, window=config.window, omega=config.omega),
        rate=config.rate,
        momentum=config.momentum,
        velocity=config.velocity,
        schedule=config.schedule,
        warmup=config.warmup,
        clip=config.clip,
        weight_decay=config.weight_decay,
    )


def _second_order(config: Config, objective: Objective) -> Learner:
    size = curvature_size(config)
    for count in (batch_size(config), size):
        if config.chunk is not None and count > config.chunk and count % config.chunk:
            raise BadInput(
                f"{count} sequences cannot be done {config.chunk} at a time; choose a chunk that "
                "divides the batch and the curvature batch"
            )
    curved: dict[str, Any] = {
        "curvature": size,
        "draw": config.draw,
        "chunk": config.chunk,
    }
    if config.learner == SADDLE_FREE:
        if config.tikhonov is not None:
            curved["damping"] = config.tikhonov
        return SaddleFree(objective, config.krylov, **curved)
    damping = Damping(
        structural=config.structural if config.damping == "structural" else 0.0,
        form=config.form,
        ratio=config.ratio,
    )
    if config.tikhonov is not None:
        damping = dataclasses.replace(damping, tikhonov=config.tikhonov)
    return HessianFree(
        objective,
        damping,
        line_search=config.damping == "line-search",
        judge=config.judge,
        iterations=config.iterations,
        adapt=config.adapt,
        precondition=config.precondition,
        **curved,
    )


def readout_kind(config: Config, task: Task | Sizes) -> str:
    """How the last layer is read, if not said: `"bias"`, `"plain"` (without one) or `"own"`.

    A cell that has its own readout is the output itself. The models of Krause (2015) have no bias
    in the readout, (2.2), (2.16) and (2.21); his LSTMs have none anywhere, whatever the task.
    """
    if config.readout is not None:
        return config.readout
    if getattr(CELLS[config.cell], "reads_out", False):
        return "own"
    his = ("krause", "mlstm", "simple", "mrnn") if task.name == "text" else ("krause", "mlstm")
    return "plain" if config.cell in his else "bias"


def _check_online1997(config: Config) -> None:
    """Refuse what the gradient lstm1997 cannot do."""
    if config.cell not in ONLINE_1997 or config.layers > 1 or config.skip:
        names = ", ".join(ONLINE_1997)
        raise BadInput(f"the gradient lstm1997 needs a single layer and --cell one of {names}")
    for name in ("embedding", "layer_norm", "zoneout", "weight_noise", *DROPOUTS):
        if getattr(config, name):
            raise BadInput(f"the gradient lstm1997 cannot be had with {name}; leave that out")


def batch_size(config: Config) -> int:
    """The sequences of a batch: those asked for, or the learner's usual number."""
    if config.batch is not None:
        return config.batch
    return 1000 if config.learner in SECOND_ORDER else 32


def curvature_size(config: Config) -> int:
    """The sequences whose curvature is used: those asked for, or the fourth part of a batch."""
    batch = batch_size(config)
    if config.curvature_batch is None:
        small = [n for n in range(1, math.isqrt(batch) + 1) if batch % n == 0]
        divisors = small + [batch // n for n in small]
        return max(n for n in divisors if n <= max(batch // 4, 1))
    if config.curvature_batch > batch or batch % config.curvature_batch:
        raise BadInput(
            f"curvature_batch must divide the batch of {batch} sequences, got "
            f"{config.curvature_batch}"
        )
    return config.curvature_batch


def matmul_precision(config: Config) -> str | None:
    """How exact float32 products have to be: all of it for second-order learners.

    Some devices round the operands by default. Conjugate gradient does not survive that, nor do
    the networks that it finds, whose states may depend on their past very sensitively.
    """
    return "highest" if config.learner in SECOND_ORDER else None


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

    kind = readout_kind(config, task)
    last = {"outputs": task.outputs} if kind == "own" else {}
    if last:
        _check_own(config)

    initialisers = _initialisers(config)
    if "recurrent" in initialisers and not getattr(
        CELLS[config.cell], "has_recurrent_matrix", True
    ):
        raise BadInput(
            f"incoming and spectral_radius are of recurrent matrices; {config.cell} has none"
        )

    def layer(inputs, units, *, key, **options):
        make, noise = jax.random.split(key)
        try:
            cell = CELLS[config.cell](inputs, units, key=make, **initialisers, **options)
        except ValueError as error:  # an initialiser that does not fit the cell's matrices
            raise BadInput(f"the cell {config.cell} cannot be made: {error}") from None
        return _wrapped(config, cell, noise)

    sizes = [units] * config.layers
    options: dict[str, Any] = {}
    if config.cell == "mrnn" and config.skip and config.factor == "input":
        options["factor_inputs"] = size  # Krause (2015), (4.4)
    if config.layers > 1 or config.skip:
        cell: Any = Stack.of(layer, size, sizes, key=body, skip=config.skip, last=last, **options)
    else:
        cell = layer(size, units, key=body, **last)
    if kind == "own":
        return Network(cell, None, encoding)
    width = int(np.sum(sizes)) if config.skip else units
    return Network(cell, Readout(width, task.outputs, key=out, bias=kind == "bias"), encoding)


def _check_own(config: Config) -> None:
    """Refuse what cannot be with a cell whose output is the network's."""
    if not getattr(CELLS[config.cell], "reads_out", False):
        having = ", ".join(name for name, cell in CELLS.items() if hasattr(cell, "reads_out"))
        raise BadInput(f"the readout own needs a cell that has one: {having}; got {config.cell}")
    for name in ("skip", "dropout", "layer_norm"):
        if getattr(config, name):
            raise BadInput(
                f"{name} changes the output of the last layer, which in a {config.cell} network is "
                "the network's answer; leave it out, or read that layer with --readout bias"
            )


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


def _initialisers(config: Config) -> dict[str, Initialiser]:
    """Those that the configuration asks for, by the argument of the cells that takes them."""
    found: dict[str, Initialiser] = {}
    if config.incoming is not None:
        found["recurrent"] = incoming(config.incoming)
    if config.spectral_radius is not None:
        found["recurrent"] = spectral_radius(config.spectral_radius, found.get("recurrent"))
    if config.input_scale is not None:
        found["input"] = normal(config.input_scale)
    return found
