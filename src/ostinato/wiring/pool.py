"""Summaries of all steps so far: the last output, the mean, the maximum, a weighted mean."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Cell
from ..errors import BadInput
from ..settings import as_words

POOLS = ("last", "mean", "max", "share", "attention")
State = dict[str, jax.Array]


def pools(words: str) -> tuple[str, ...]:
    """The names of one or more summaries, from `mean` or `mean,max,share`.

    Example:
        >>> pools("mean,max")
        ('mean', 'max')
    """
    names = tuple(part.strip() for part in words.split(","))
    for name in names:
        if name not in POOLS:
            raise BadInput(
                f"pool must be one or more of {', '.join(POOLS)}, separated by commas; "
                f"got {as_words(words)}"
            )
    if len(set(names)) < len(names):
        raise BadInput(f"pool must name each summary once; got {as_words(words)}")
    return names


class Pool(Cell):
    """Summarise all inputs so far, each component by itself.

        last        `x_t`
        mean        `(x_1 + … + x_t) / t`
        max         `max(x_1, …, x_t)`
        share       the share of `x_1, …, x_t` that are above 0
        attention   `Σ_s a_s x_s`, with a the softmax of `w · x_1, …, w · x_t`

    Several of them stand side by side in the output. On top of other layers its last output
    summarises their whole course, so a network that answers at the last step of a sequence can use
    all of its states; above `Bidirectional` layers that includes what the backward cell found. The
    weights w of `attention` start at zero, where it is the mean; the other summaries have no
    parameters.

    Sources: Dempster et al. (2020) for the share of positive values; Lin et al. (2017) for
    attention.

    Shapes: x `(..., size)`; y `(..., size · the number of summaries)`; the state is a dictionary of
    running sums, `(..., size)` each, and the number of steps `(..., 1)`.

    Example:
        >>> layers = Stack([LSTM(3, 8, key=key), Pool(8, ["mean", "max"])])
        >>> ys, _ = ostinato.unroll(layers, xs)
        >>> hs, _ = ostinato.unroll(layers.layers[0], xs)
        >>> bool(jnp.allclose(ys[-1, :, :8], hs.mean(axis=0), atol=1e-6))
        True
    """

    w: jax.Array | None
    size: int = eqx.field(static=True)
    kinds: tuple[str, ...] = eqx.field(static=True)
    dtype: str = eqx.field(static=True)

    def __init__(self, size: int, kinds: Sequence[str] = ("mean",), dtype: Any = None):
        """
        Args:
            size: of the inputs.
            kinds: the summaries, in the order in which the output has them.
            dtype: of the sums; by default JAX's for floats.
        """
        self.size, self.kinds = size, pools(",".join(kinds))
        self.dtype = jnp.dtype(jnp.result_type(float) if dtype is None else dtype).name
        self.w = jnp.zeros(size, self.dtype) if "attention" in kinds else None

    def vector_size(self) -> int:
        return self.size

    def initial(self, batch: tuple[int, ...]) -> State:
        # A network that was fitted in float64 may run where there is only float32.
        dtype = jax.dtypes.canonicalize_dtype(self.dtype)

        def zeros(size: int) -> jax.Array:
            return jnp.zeros((*batch, size), dtype)

        state = {"count": zeros(1)}
        for kind in self.kinds:
            if kind == "attention":
                # Every sum is relative to the largest score so far, so that none overflows.
                state |= {"score": zeros(1), "scale": zeros(1), "weighted": zeros(self.size)}
            elif kind != "last":
                state[kind] = zeros(self.size)
        return state

    def inputs(self, x: jax.Array) -> jax.Array:
        return x

    def step(self, state: State, u: jax.Array) -> tuple[State, jax.Array]:
        begun, count = state["count"] > 0, state["count"] + 1
        state, ys = {**state, "count": count}, []
        for kind in self.kinds:
            if kind == "last":
                ys.append(u)
            elif kind == "mean":
                state[kind] = state[kind] + u
                ys.append(state[kind] / count)
            elif kind == "max":
                state[kind] = jnp.where(begun, jnp.maximum(state[kind], u), u)
                ys.append(state[kind])
            elif kind == "share":
                state[kind] = state[kind] + (u > 0).astype(u.dtype)
                ys.append(state[kind] / count)
            else:
                assert self.w is not None
                score = jnp.sum(u * self.w, axis=-1, keepdims=True)
                highest = jnp.where(begun, jnp.maximum(state["score"], score), score)
                past, now = jnp.exp(state["score"] - highest), jnp.exp(score - highest)
                past = jnp.where(begun, past, 0)
                state["score"] = highest
                state["scale"] = past * state["scale"] + now
                state["weighted"] = past * state["weighted"] + now * u
                ys.append(state["weighted"] / state["scale"])
        return state, jnp.concatenate(ys, axis=-1)
