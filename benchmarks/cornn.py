"""A cell of one's own: coupled oscillators, for `sequences.py`."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp

from ostinato.cells import Cell
from ostinato.settings import setting


class CoRNN(Cell):
    """`z_t = z + Δ (tanh(W x_t + R [y, z] + b) - γ y - ε z)`, `y_t = y + Δ z_t`.

    Source: Rusch and Mishra (2021), Coupled oscillatory recurrent neural network.

    Shapes: x `(..., inputs)`, state `(y, z)`, each `(..., units)`; output `y`.
    """

    @dataclasses.dataclass(frozen=True)
    class Settings:
        step_size: float = setting(0.042, "Δ, the step of time", min=0)
        frequency: float = setting(2.7, "γ, the square of the frequency", min=0)
        friction: float = setting(4.7, "ε", min=0)

    W: jax.Array
    R: jax.Array
    b: jax.Array
    numbers: tuple[float, float, float] = eqx.field(static=True)

    def __init__(self, inputs, units, *, key, step_size=0.042, frequency=2.7, friction=4.7):
        w, r, b = jax.random.split(key, 3)
        most = (inputs + 2 * units) ** -0.5
        self.W = jax.random.uniform(w, (inputs, units), minval=-most, maxval=most)
        self.R = jax.random.uniform(r, (2 * units, units), minval=-most, maxval=most)
        self.b = jax.random.uniform(b, (units,), minval=-most, maxval=most)
        self.numbers = step_size, frequency, friction

    def initial(self, batch):
        rest = jnp.zeros((*batch, len(self.b)), self.b.dtype)
        return rest, rest

    def inputs(self, x):
        return x @ self.W + self.b

    def step(self, state, u):
        (y, z), (delta, gamma, epsilon) = state, self.numbers
        force = jnp.tanh(u + jnp.concatenate([y, z], axis=-1) @ self.R)
        z = z + delta * (force - gamma * y - epsilon * z)
        y = y + delta * z
        return (y, z), y
