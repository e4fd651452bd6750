"""Reading a prompt: the first step of sampling and of beam search."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Layer, Model
from ..errors import BadInput
from ..settings import MAX as MAX
from ..settings import checked_int
from ..through_time import starting_state, unroll


class NotFinite(BadInput):
    """The outputs of a network are not finite, so symbols have no probabilities."""

    def __init__(self) -> None:
        super().__init__(
            "the network's outputs are not finite numbers, so its weights are damaged or its "
            "training diverged"
        )


def checked(network: Model, prompt: Any, count: int) -> tuple[Layer, jax.Array]:
    """What is stepped, and the prompt `(T,)` in int32, after checks of both and the count."""
    if not network.can_step:
        raise ValueError("generating needs a network with a step, got one that reads both ways")
    given = np.asarray(prompt)
    if given.ndim != 1 or not given.size:
        raise BadInput(f"a prompt is at least one symbol, (T,), got shape {given.shape}")
    checked_int("the length to generate", count)
    layer = network.as_layer()
    layer.check_inputs(given)
    return layer, jnp.asarray(given, jnp.int32)


def before_last(network: Layer, symbols: jax.Array, state: Any) -> tuple[Any, jax.Array]:
    """The state before the last symbol of a prompt, and that symbol."""
    if symbols.size > 1:
        _, state = unroll(network, symbols[:-1], state)
    return starting_state(network, symbols, state), symbols[-1]


@eqx.filter_jit
def inputs_table(network: Layer) -> Any:
    """`network.inputs` of every symbol as one product; a step then looks up its row."""
    return network.inputs(jnp.arange(network.outputs))


def row(table: Any, symbol: jax.Array) -> Any:
    """The inputs of some symbols, from `inputs_table`."""
    return jax.tree.map(lambda rows: rows[symbol], table)
