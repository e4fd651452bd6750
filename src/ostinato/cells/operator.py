"""The recurrent operators that other libraries have: what a cell's weights are among them."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

BLOCKS = {"rnn": 1, "lstm": 4, "gru": 3}  # of the weights of each kind


class Operator(NamedTuple):
    """A layer in one direction, as torch, ONNX, Keras and others compute it as a whole.

    - `"rnn"`: `h' = f(x W + h R + b + d)`;
    - `"lstm"`: `LSTM`, or `PeepholeLSTM` if there are peepholes; blocks i, f, g, o;
    - `"gru"`: `h' = (1 - z) ⊙ n + z ⊙ h`, blocks z, r, n. Their z is `1 - z` of `GRU`. With the
      reset `"after"` the product `n = tanh(x W + b + r ⊙ (h R + d))`, else
      `n = tanh(x W + b + (r ⊙ h) R + d)`.

    Attributes:
        kind: `"rnn"`, `"lstm"` or `"gru"`.
        W: input weights `(blocks, inputs, units)`.
        R: recurrent weights `(blocks, units, units)`.
        b, d: two biases `(blocks, units)`; a cell with one has zeros for the other.
        p: peepholes `(3, units)` for i, f and o, or `None`.
        f: the activation of an rnn.
        reset: of a gru.
    """

    kind: str
    W: jax.Array
    R: jax.Array
    b: jax.Array
    d: jax.Array
    p: jax.Array | None = None
    f: str = "tanh"
    reset: str = "after"

    @property
    def units(self) -> int:
        return self.R.shape[-1]


def blocks_of(x: Any, count: int) -> jax.Array:
    """Blocks that stand side by side in the last axis, as a first axis."""
    return jnp.stack(jnp.split(x, count, axis=-1))


def side_by_side(blocks: Any) -> jax.Array:
    """The inverse of `blocks_of`."""
    return jnp.concatenate([*blocks], axis=-1)
