"""Reading a prompt: the first step of sampling and of beam search."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..errors import BadInput
from ..settings import MAX as MAX
from ..settings import checked_int
from ..through_time import unroll
from ..through_time.layers import can_step
from ..through_time.running import starting_state
from ..wiring import Network


class NotFinite(BadInput):
    """The outputs of a network are not finite, so symbols have no probabilities."""

    def __init__(self) -> None:
        super().__init__(
            "the network's outputs are not finite numbers, so its weights are damaged or its "
            "training diverged"
        )


def checked(network: Network, prompt: Any, count: int) -> jax.Array:
    """The prompt `(T,)` in int32, after checks of network, prompt and count."""
    if not can_step(network):
        raise BadInput("generating needs a network with a step, got one that reads both ways")
    given = np.asarray(prompt)
    if given.ndim != 1 or not given.size:
        raise BadInput(f"a prompt is at least one symbol, (T,), got shape {given.shape}")
    checked_int("the length to generate", count)
    network.check_inputs(given)
    return jnp.asarray(given, jnp.int32)


def before_last(network: Network, symbols: jax.Array, state: Any) -> tuple[Any, jax.Array]:
    """The state before the last symbol of a prompt, and that symbol."""
    if symbols.size > 1:
        _, state = unroll(network, symbols[:-1], state)
    return starting_state(network, symbols, state), symbols[-1]


@eqx.filter_jit
def inputs_table(network: Network) -> Any:
    """`network.inputs` of every symbol as one product; a step then looks up its row."""
    return network.inputs(jnp.arange(network.outputs))


def row(table: Any, symbol: jax.Array) -> Any:
    """The inputs of some symbols, from `inputs_table`."""
    return jax.tree.map(lambda rows: rows[symbol], table)
