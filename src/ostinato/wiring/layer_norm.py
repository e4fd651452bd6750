"""Layer normalisation of every pre-activation of a cell."""

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Cell
from ..cells._cell import input_size, parameter_dtype
from ..through_time import with_products
from ..through_time._step import take_apart


class LayerNorm(Cell):
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

    cell: Cell
    input_gains: list[jax.Array]
    input_shifts: list[jax.Array]
    gains: list[jax.Array]
    shifts: list[jax.Array]
    epsilon: float = eqx.field(static=True)

    def __init__(self, cell: Cell, *, epsilon: float = 1e-5):
        """
        Args:
            cell: the cell to wrap; its inputs are vectors.
            epsilon: added to the variance.
        """
        self.cell, self.epsilon = cell, epsilon
        parameters, static = eqx.partition(cell, eqx.is_array)
        dtype = parameter_dtype(cell)
        x = jax.ShapeDtypeStruct((input_size(cell),), dtype)
        state = eqx.filter_eval_shape(cell.initial, ())
        u = eqx.filter_eval_shape(cell.inputs, x)
        outer = take_apart(_inputs(static), parameters, x).taps
        inner = take_apart(_step(static), parameters, state, u).taps
        sizes = [[tap.shape.shape[-1] for tap in taps] for taps in (outer, inner)]
        self.input_gains = [jnp.ones(n, dtype) for n in sizes[0]]
        self.input_shifts = [jnp.zeros(n, dtype) for n in sizes[0]]
        self.gains = [jnp.ones(n, dtype) for n in sizes[1]]
        self.shifts = [jnp.zeros(n, dtype) for n in sizes[1]]

    def check_inputs(self, xs):
        self.cell.check_inputs(xs)

    def initial(self, batch):
        return self.cell.initial(batch)

    def inputs(self, x):
        parameters, static = eqx.partition(self.cell, eqx.is_array)
        change = self._normalise(self.input_gains, self.input_shifts)
        return with_products(change, _inputs(static), parameters, x)

    def step(self, state, u):
        parameters, static = eqx.partition(self.cell, eqx.is_array)
        change = self._normalise(self.gains, self.shifts)
        return with_products(change, _step(static), parameters, state, u)

    def _normalise(self, gains, shifts):
        def change(j, tap, v, weight):
            a = tap.value(v, weight)
            mean = a.mean(axis=-1, keepdims=True)
            variance = jnp.square(a - mean).mean(axis=-1, keepdims=True)
            return gains[j] * (a - mean) * jax.lax.rsqrt(variance + self.epsilon) + shifts[j]

        return change


def _inputs(static):
    return lambda parameters, x: eqx.combine(parameters, static).inputs(x)


def _step(static):
    return lambda parameters, state, u: eqx.combine(parameters, static).step(state, u)
