"""Parameter counts, and the number of units that fits a parameter budget.

Everything is computed from shapes: nothing is compiled and no array is allocated.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp

from ...cells.building import nothing_drawn
from ...cells.initialisers import initialiser
from ...errors import BadInput
from ...settings import settings_of
from ...tasks.task import TaskSizes
from ...weights import count_parameters
from ...wiring import Network
from ..config import Config
from ..config.refusals import NETWORK, refuse
from ..config.sections import UNITS
from .models import make_network

Units = int | tuple[int, ...]


def units_of(config: Config, task: TaskSizes) -> Units:
    """The units of each layer: as configured, nearest to the budget, or the default."""
    if config.network.budget is None:
        return config.network.units or UNITS
    return units_for(config, task)


def network_shapes(config: Config, task: TaskSizes, units: Units | None = None) -> Network:
    """The network of `build_network` with shapes in place of arrays."""
    return _shapes(config, task, units or units_of(config, task), config.network.layers)


def parameter_count(config: Config, task: TaskSizes, units: int | Sequence[int]) -> int:
    """The number of parameters of a network with this many units.

    If all layers have the same number of units, the count is a quadratic function of that number,
    which three small networks determine; so even the count of a huge network takes no time.
    """
    if not isinstance(units, int):
        return count_parameters(_shapes(config, task, units, config.network.layers))
    a, b, c = _quadratic(config, task)
    return (a * units + b) * units + c


def units_for(config: Config, task: TaskSizes) -> int:
    """The number of units whose parameter count is nearest to the budget."""
    budget = config.network.budget
    assert budget is not None
    a, b, c = _quadratic(config, task)
    if a + b + c > budget:
        raise BadInput(
            f"the smallest {config.cell} for this task has {a + b + c:,} parameters, more than the "
            f"budget of {budget:,}"
        )

    # The largest number of units within the budget: the positive root, rounded down.
    if a:
        low = (math.isqrt(b * b - 4 * a * (c - budget)) - b) // (2 * a)
    elif b:
        low = (budget - c) // b
    else:
        raise BadInput(f"the parameters of {config.cell} do not depend on its units; give units")
    return min(low, low + 1, key=lambda units: abs(parameter_count(config, task, units) - budget))


def _quadratic(config: Config, task: TaskSizes) -> tuple[int, int, int]:
    """The integers `a, b, c` of the parameter count `a units² + b units + c`."""
    one, two, three = (_extrapolated(config, task, units) for units in (1, 2, 3))
    a = (three - 2 * two + one) // 2
    b = two - one - 3 * a
    return a, b, one - a - b


def _extrapolated(config: Config, task: TaskSizes, units: int) -> int:
    """The number of parameters of all layers, extrapolated from networks with few layers.

    It is linear in the number of layers, or cubic with gated feedback, where every layer reads
    every layer through gates. Newton's forward differences are exact for both.
    """
    layers = config.network.layers
    known = min(layers, 4 if config.network.feedback else 2)
    row = [count_parameters(_shapes(config, task, units, n)) for n in range(1, known + 1)]
    total, k = 0, 0
    while row:
        total += row[0] * math.comb(layers - 1, k)
        row, k = [after - before for before, after in pairwise(row)], k + 1
    return total


def _shapes(config: Config, task: TaskSizes, units: int | Sequence[int], layers: int) -> Network:
    """The shapes of a network with so many layers, which are remembered.

    One run asks for those of some six networks, and the next one for most of them again.
    """
    # Initialisers do not change shapes; `make_network` reports those that do not fit.
    own = settings_of(config.cell.kind.Settings)
    words = [name for name, x in own.items() if x.read is initialiser]
    left_out = ("units", "budget", "incoming", "spectral_radius", "input_scale", *words)
    plain = config.replace(**dict.fromkeys(left_out), layers=layers)
    refuse(NETWORK, plain, task)
    sizes = task.name, task.inputs, task.outputs, task.symbolic, task.readout_bias
    wired = task.predicts_next, repr(task.model), units if isinstance(units, int) else (*units,)
    parts = plain.cell.kind, repr(plain.cell), repr(plain.network)  # a setting may be a list
    made_of = parts, sizes, wired, jnp.result_type(float)
    if made_of not in _known:
        if len(_known) >= MAX_KNOWN:
            _known.clear()
        with nothing_drawn():
            _known[made_of] = eqx.filter_eval_shape(
                lambda key: make_network(plain, task, units, key), jax.random.key(0)
            )
    return _known[made_of]


MAX_KNOWN = 256
_known: dict[tuple, Network] = {}
