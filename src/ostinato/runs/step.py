"""A learner's step, compiled."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from ..data import Batch
from ..learning import Learner
from ..weights import trained
from ..wiring import Network, reseed


def compiled_step(network: Network, learner: Learner, seed: int) -> Callable:
    """A learner's step as a compiled function of arrays, with fresh noise in each step.

    Returns:
        `advance(arrays, memory, state, sequences, step) -> (arrays, memory, state, report)`, where
        `arrays` are those of the network and `memory` is the learner state.
    """
    _, static = eqx.partition(network, eqx.is_array)
    noise = jax.random.fold_in(jax.random.key(seed), 1)

    @jax.jit
    def advance(arrays: Any, memory: Any, state: Any, sequences: Batch, step: Any) -> Any:
        network = reseed(eqx.combine(arrays, static), jax.random.fold_in(noise, step))
        after, memory, state, report = learner.step(network, memory, state, sequences)
        report["moved"] = _moved(network, after)
        return eqx.filter(after, eqx.is_array), memory, state, report

    return advance


def _moved(before: Network, after: Network) -> jax.Array:
    """`‖Δw‖ / ‖w‖`, over all weights."""
    old, new = (trained(network)[0] for network in (before, after))
    change = optax.tree.norm(jax.tree.map(lambda a, b: b - a, old, new))
    return change / jnp.maximum(optax.tree.norm(old), 1e-30)
