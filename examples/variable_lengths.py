"""Sequences of different lengths: padding changes neither outputs nor gradients.

python examples/variable_lengths.py
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ostinato import unroll
from ostinato.cells import LSTM
from ostinato.wiring import Bidirectional

rng = np.random.default_rng(0)
sequences = [rng.normal(size=(n, 3)).astype(np.float32) for n in (9, 4, 6)]
lengths = jnp.array([len(x) for x in sequences])
padded = np.full((9, 3, 3), 100.0, np.float32)  # (T, B, inputs), with anything in the padding
for n, x in enumerate(sequences):
    padded[: len(x), n] = x

forward, backward = jax.random.split(jax.random.key(0))
network = Bidirectional(LSTM(3, 8, key=forward), LSTM(3, 8, key=backward))


def together(network):
    ys, _ = unroll(network, jnp.asarray(padded), lengths=lengths)
    valid = jnp.arange(9)[:, None] < lengths
    return jnp.sum((ys * valid[..., None]) ** 2)


def one_by_one(network):
    return sum(jnp.sum(unroll(network, jnp.asarray(x)[:, None])[0] ** 2) for x in sequences)


print(f"loss together {together(network):.6f}, one by one {one_by_one(network):.6f}")
gradients = [jax.tree.leaves(eqx.filter_grad(f)(network)) for f in (together, one_by_one)]
apart = max(float(jnp.abs(x - y).max()) for x, y in zip(*gradients, strict=True))
print(f"largest difference of the gradients: {apart:.1e}")
