"""Layer normalisation of every pre-activation of a cell."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Cell, Layer
from ..cells.building import input_size, parameter_dtype
from ..cells.cell import Wrapper
from ..errors import BadInput
from ..settings import shown
from ..through_time import with_products
from ..through_time.check import check_layer
from ..through_time.linear_map import paired
from ..through_time.step import take_apart
from ..through_time.tap import Tap


class LayerNorm(Wrapper):
    """Every product of a cell, with the input and with the state, is normalised.

    `x W` becomes `gain ⊙ (x W - mean) / √(variance + ε) + shift`, over the units of that product,
    with a gain and a shift of its own; and so does each `h R`. What the cell adds to a product,
    such as a bias, is added afterwards.

    Source: Ba, Kiros and Hinton (2016), equation 20; their extra normalisation of an LSTM's memory
    is not part of it.

    Shapes: those of the cell.

    Example:
        >>> cell = LayerNorm(LSTM(3, 16, key=jax.random.key(0)))
    """

    input_gains: list[jax.Array]
    input_shifts: list[jax.Array]
    gains: list[jax.Array]
    shifts: list[jax.Array]
    epsilon: float = eqx.field(static=True)

    def __init__(self, cell: Cell, *, epsilon: float = 1e-5):
        """
        Args:
            cell: the cell to wrap; its inputs are vectors.
            epsilon: added to the variance, which may be zero.
        """
        if not 0 < epsilon < 1e30:
            raise BadInput(f"epsilon must be a positive number, got {shown(epsilon)}")
        check_layer(cell)
        self.cell, self.epsilon = cell, float(epsilon)
        dtype = parameter_dtype(cell)
        x = jax.ShapeDtypeStruct((input_size(cell),), dtype)
        state = eqx.filter_eval_shape(cell.initial, ())
        u = eqx.filter_eval_shape(cell.inputs, x)
        outer = take_apart(_inputs, cell, x).taps
        inner = take_apart(_step, cell, state, u).taps
        sizes = [[tap.shape.shape[-1] for tap in taps] for taps in (outer, inner)]
        self.input_gains = [jnp.ones(n, dtype) for n in sizes[0]]
        self.input_shifts = [jnp.zeros(n, dtype) for n in sizes[0]]
        self.gains = [jnp.ones(n, dtype) for n in sizes[1]]
        self.shifts = [jnp.zeros(n, dtype) for n in sizes[1]]

    def inputs(self, x: Any) -> Any:
        def change(j: int, tap: Tap, v: jax.Array, weight: jax.Array) -> jax.Array:
            x = scaled(tap.value(v, weight), self.input_gains[j], self.epsilon)
            return x + self.input_shifts[j]

        return with_products(change, _inputs, self.cell, x)

    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        def change(j: int, tap: Tap, v: jax.Array, weight: jax.Array) -> jax.Array:
            x = standard(tap.value(v, weight), self.epsilon, at_once=True)
            return self.gains[j] * x + self.shifts[j]

        return with_products(change, _step, self.cell, state, u)


@partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def standard(a: jax.Array, epsilon: float, at_once: bool) -> jax.Array:
    """`x = (a - mean) / √(variance + ε)` over the last axis.

    Its derivative is `dx = (da - mean(da) - x mean(x da)) / √(variance + ε)`, whose two sums need
    nothing of each other, and so does its transpose.

    Args:
        a: numbers `(..., units)`.
        epsilon: added to the variance.
        at_once: the variance from the mean of the squares, which need not wait for the mean; it
            loses digits where the mean is many times as large as the deviations from it.
    """
    mean, scale = _moments(a, epsilon, at_once)
    return (a - mean) * scale


@standard.defjvp
def _(epsilon: float, at_once: bool, primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    (a,), (d,) = primals, tangents
    x, (_, scale) = standard(a, epsilon, at_once), _moments(a, epsilon, at_once)
    return x, _change(x, scale, d)


def _change(x: jax.Array, scale: jax.Array, d: jax.Array) -> jax.Array:
    """The derivative of `standard` along d; it is its own transpose."""
    along = (x * d).mean(axis=-1, keepdims=True)
    return scale * (d - d.mean(axis=-1, keepdims=True) - x * along)


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def scaled(a: jax.Array, gain: jax.Array, epsilon: float) -> jax.Array:
    """`gain ⊙ x`, with x as in `standard`.

    Its derivative keeps a and makes x of it again: for all times at once x would be one more array
    to write and to read, and a is often there in fewer bits.
    """
    return gain * standard(a, epsilon, at_once=False)


@scaled.defjvp
def _(epsilon: float, primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    a, gain = primals

    def push(residuals: Any, changes: Any) -> list[jax.Array]:
        a, gain, mean, scale = residuals
        x = (a - mean) * scale
        return [gain * _change(x, scale, changes[0]) + x * changes[1]]

    def pull(residuals: Any, errors: Any) -> list[jax.Array]:
        a, gain, mean, scale = residuals
        x, (error,) = (a - mean) * scale, errors
        along = (x * error).reshape(-1, len(gain)).sum(axis=0)
        return [_change(x, scale, gain * error), along]

    residuals = [a, gain, *_moments(a, epsilon, at_once=False)]
    out = scaled(*primals, epsilon)
    return out, paired(push, pull, residuals, list(tangents), [jax.typeof(out)])[0]


def _moments(a: jax.Array, epsilon: float, at_once: bool) -> tuple[jax.Array, jax.Array]:
    """The mean, and one over the standard deviation."""
    mean = a.mean(axis=-1, keepdims=True)
    if at_once:
        squares = jnp.square(a).mean(axis=-1, keepdims=True)
        variance = jnp.maximum(squares - jnp.square(mean), 0)
    else:
        variance = jnp.square(a - mean).mean(axis=-1, keepdims=True)
    return mean, jax.lax.rsqrt(variance + epsilon)


def _inputs(cell: Layer, x: Any) -> Any:
    return cell.inputs(x)


def _step(cell: Layer, state: Any, u: Any) -> tuple[Any, Any]:
    return cell.step(state, u)
