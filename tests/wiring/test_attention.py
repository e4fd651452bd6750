"""Which functions are found to be affine."""

import jax
import jax.numpy as jnp
import pytest

from ostinato.cells import GRU, LSTM
from ostinato.wiring import LayerNorm
from ostinato.wiring.attention import is_affine

KEY = jax.random.key(0)
A = jax.random.normal(KEY, (3, 4))
X = jnp.ones((2, 3))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x @ A + 1,
        lambda x: jnp.sin(A) * (2 - x)[..., None],
        lambda x: [jnp.concatenate([x, x[:, :1]], axis=-1), jnp.zeros(3)],
        jax.jit(lambda x: (x @ A).astype(jnp.float32) / 3),
        lambda x: jnp.tanh(A),
        LSTM(3, 4, key=KEY).inputs,
        GRU(3, 4, key=KEY, reset="after").inputs,
    ],
)
def test_these_are(function):
    assert is_affine(function, X)


@pytest.mark.parametrize(
    "function",
    [
        jnp.tanh,
        lambda x: x * x,
        lambda x: x @ x.T,
        lambda x: jnp.where(x > 0, x, 0),
        jax.jit(lambda x: jax.jit(jnp.exp)(x) + 1),
        lambda x: x * jax.random.bernoulli(KEY, 0.5, x.shape),
        lambda x: 1 / x,
        LayerNorm(LSTM(3, 4, key=KEY)).inputs,
    ],
)
def test_these_are_not(function):
    assert not is_affine(function, X)
