"""Check from shapes alone whether a run fits into memory, before anything is allocated.

The estimate is a lower bound, in float32:

    weights      parameters × (themselves + their gradient + the learner state for each)
    symbols      the same, of what devices share of a vocabulary
    states       what the gradient keeps: the state before each step of every sequence
    influence    for rtrl: the derivative of every state with respect to every parameter
    outputs      the network's outputs at each step of every sequence
    sequences    the arrays of a batch, or of the held-out set

So a run is refused only if it certainly cannot fit.
"""

import math

import equinox as eqx
import jax

from ..learning import Learner
from ..memory import FLOAT, check_memory, memory_here
from ..tasks import Task
from ..weights import count_parameters
from ..wiring import Network
from .build import build_learner, build_task, precision
from .config import Config
from .network.budget import Units, network_shapes, parameter_count, units_of
from .network.vocabulary import symbol_axis, vocabularies

# Units of the network whose state and learner state are scaled up. `parameter_count` derives the
# shapes of networks with 1, 2 and 3 units, and those of another one would take as long again.
SMALL = 3


def check_fits(config: Config, task: Task, learner: Learner, units: Units) -> None:
    """Refuse a run that needs more memory than there is.

    Example:
        >>> from ostinato.runs.build import build_learner
        >>> config = Config(units=10**6)
        >>> check_fits(config, task, build_learner(config, task), 10**6)
        Traceback (most recent call last):
        ostinato.errors.BadInput: this needs at least 72.8 TiB of memory...
    """
    fewer = learner.fewer_copies
    check_memory(
        per_device(config, task, learner, units, config.training.devices),
        {
            "weights": "fewer --units, --layers or --budget" + (f", or {fewer}" if fewer else ""),
            "symbols": "a smaller --embedding, or fewer --units",
            "states": "a smaller --batch or --length, or --memory sqrt",
            "influence": "fewer --units, or --gradient full",
            "outputs": "a smaller --batch or --length",
            "sequences": "a smaller --batch or --length",
        },
    )


def per_device(
    config: Config, task: Task, learner: Learner, units: Units, devices: int
) -> dict[str, int]:
    """What each device needs if several share a batch: all weights, and its part of the rest.

    If they share the vocabulary too, they share the weights of its symbols.
    """
    parts = needed(config, task, learner, units)
    weights = parts["weights"]
    if config.training.shard_vocabulary and devices > 1:
        symbols = weights * _of_symbols(config, task, units) // parameter_count(config, task, units)
        parts |= {"weights": weights - symbols, "symbols": symbols}
    return {name: size if name == "weights" else size // devices for name, size in parts.items()}


def room(config: Config) -> int:
    """How many runs of a configuration to hold in memory side by side, at least one.

    Each is given twice the lower bound.

    Example:
        >>> room(Config(task="adding", units=8)) > 20
        True
    """
    available = memory_here()
    if available is None:
        return 1
    with precision(config):
        task = build_task(config)
        bytes_each = sum(
            needed(config, task, build_learner(config, task), units_of(config, task)).values()
        )
    return max(1, available // (2 * bytes_each))


def needed(config: Config, task: Task, learner: Learner, units: Units) -> dict[str, int]:
    """A lower bound on the bytes that a run needs, by purpose."""
    small = network_shapes(_small(config), task)
    # Layers are trained one by one only if there are two at least.
    like = small if config.training.layer_wise is None else network_shapes(_small(config, 2), task)
    learner_state = eqx.filter_eval_shape(learner.initial, like)
    copies = 2 + count_parameters(learner_state) // count_parameters(like) + learner.copies
    parts = {"weights": copies * FLOAT * parameter_count(config, task, units)}
    steps, size = task.batch_shape(config.batch_size)
    # The state grows with the units, but for the memory of a neural Turing machine.
    state = _state(small)
    more = state - _state(network_shapes(_small(config, units=SMALL - 1), task))
    state += more * (sum(config.network.sizes(units)) - SMALL)
    gradient = config.learner.setting("gradient") or "full"
    if gradient == "rtrl":
        parts["influence"] = FLOAT * parameter_count(config, task, units) * size * state
    if gradient == "full":
        # A second-order learner and --memory sqrt process their chunks one at a time, each device
        # one of its own.
        kept = steps if config.training.memory == "all" else math.isqrt(steps)
        together = min(size, (learner.chunk or size) * config.training.devices)
        parts["states"] = FLOAT * kept * together * state
        if config.training.memory == "all":
            parts["outputs"] = FLOAT * steps * together * task.outputs
    numbers = 3 if task.symbolic else task.inputs + task.outputs + 1
    parts["sequences"] = FLOAT * numbers * steps * max(size, task.held_out_together)
    return parts


def _of_symbols(config: Config, task: Task, units: Units) -> int:
    """The number of parameters that devices can share by the symbols of a vocabulary."""
    leaves = [
        x for x in jax.tree.leaves(network_shapes(config, task, units)) if count_parameters(x)
    ]
    shared = [x for x in leaves if symbol_axis(x.shape, vocabularies(task)) is not None]
    return count_parameters(shared)


def _small(config: Config, layers: int = 1, units: int = SMALL) -> Config:
    return config.replace(units=units, budget=None, layers=layers)


def _state(shapes: Network) -> int:
    """The size of the state of one sequence."""
    return count_parameters(eqx.filter_eval_shape(lambda network: network.initial(()), shapes))
