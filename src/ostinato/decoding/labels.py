"""The most probable labels of a trained network."""

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Model
from ..data import Batch
from ..wiring import outputs_of


@eqx.filter_jit
def most_probable(network: Model, batch: Batch) -> jax.Array:
    """The label with the largest output at each step, `(T, B)`. Noise is off.

    Example:
        >>> from ostinato.decoding import most_probable
        >>> most_probable(network, Batch(xs, None, jnp.ones((10, 4)))).shape
        (10, 4)
    """
    outputs, _ = outputs_of(eqx.nn.inference_mode(network), batch)
    return jnp.argmax(outputs, axis=-1)
