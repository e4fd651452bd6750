"""Your own training loop, with optax and equinox: `unroll` is all that is needed of Ostinato.

python examples/own_loop.py
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from ostinato import Network, Readout, unroll
from ostinato.cells import GRU


def sequences(key, steps=20, size=64):
    """The mean of all inputs so far is to be told at each step."""
    xs = jax.random.uniform(key, (steps, size, 1))
    return xs, jnp.cumsum(xs, axis=0) / jnp.arange(1, steps + 1)[:, None, None]


@eqx.filter_jit
def step(network, state, key):
    xs, targets = sequences(key)

    def loss(network):
        outputs, _ = unroll(network, xs)
        return jnp.mean((outputs - targets) ** 2)

    value, gradient = eqx.filter_value_and_grad(loss)(network)
    updates, state = optimiser.update(gradient, state, eqx.filter(network, eqx.is_array))
    return eqx.apply_updates(network, updates), state, value


keys = jax.random.split(jax.random.key(0), 303)
network = Network(GRU(1, 16, key=keys[0]), Readout(16, 1, key=keys[1]))
optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.01))
state = optimiser.init(eqx.filter(network, eqx.is_array))
for number, key in enumerate(keys[2:]):
    network, state, value = step(network, state, key)
    if number % 100 == 0:
        print(f"step {number}: mean squared error {value:.5f}")
