"""How the parts of a network are put together, by the kind of model that a task needs.

A task names its model in `Task.model`, a dictionary with a `kind` and the numbers that this kind
needs; `None` is a plain `Network`. A new kind is one function here and one line in `MODELS`.
"""

from collections.abc import Callable
from typing import Any

import jax

from ..errors import BadInput
from ..wiring import Network
from .parts import Parts, readout_kind


def network(parts: Parts, key: jax.Array) -> Network:
    """An encoding of symbols, if the task has them, layers and a readout."""
    task = parts.task
    body, out, symbols = jax.random.split(key, 3)
    encoding, size = None, task.inputs
    if task.symbolic:
        encoding, size = parts.encoding(task.inputs, symbols)
    elif parts.settings.embedding:
        raise BadInput(f"the task {task.name} reads vectors, so it takes no embedding")
    if readout_kind(parts.cell, parts.settings, task) == "own":
        parts.check_own_readout()
        made, _ = parts.layers(size, body, last={"outputs": task.outputs})
        return Network(made, None, encoding)
    made, width = parts.layers(size, body)
    return Network(made, parts.readout(width, task.outputs, out), encoding)


MODELS: dict[str, Callable[[Parts, jax.Array], Any]] = {"network": network}
