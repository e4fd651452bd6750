"""A cell's inputs with their products done in a lower precision, forwards and backwards."""

from typing import Any

import jax
import jax.numpy as jnp

from ..cells import Layer
from .check import is_weak
from .linear_map import paired
from .step import Step, take_apart
from .tap import Tap


def inputs_in(compute, cell: Layer, xs) -> tuple[Any, list]:
    """`cell.inputs(xs)`, its products and its result in the dtype `compute`.

    The operands of each product with a parameter, and of the two products of its derivative, are
    rounded to `compute`; their sums are kept in the original precision and then rounded. Parameters
    and their gradients keep their dtype.

    A bias that is the last thing to be added is left to the step, where it costs nothing, while
    here it would be one more pass over all times. Its derivative stays here.

    Returns:
        The result, and for each of its leaves the bias `(*batch, ...)` that is still to be added at
        each step, or `None`.
    """
    step = take_apart(lambda cell, xs: cell.inputs(xs), cell, xs, real_only=True)
    weights, small = step.prepare(cell)
    outputs = [id(var) for var in step.jaxpr.outvars]
    late = {id(tap.result) for tap in step.taps if _adds_bias_last(tap, step)}
    biases: dict[int, jax.Array] = {}

    def product(j, v, weight, addend):
        tap = step.taps[j]
        value = _product(tap, compute, v, weight)
        if id(tap.result) in late:
            biases[id(tap.result)] = jax.lax.stop_gradient(addend[0])
            return _with_derivative_of(value, addend)
        value = value.astype(tap.shape.dtype)
        return value if addend is None else value + addend

    us = step.run(weights, small, xs, product)
    us = jax.tree.map(lambda u: _round(u, compute), us)
    return us, [biases.get(var) for var in outputs]


def _adds_bias_last(tap: Tap, step: Step) -> bool:
    """Whether the sum with something that is the same at all times is an output, and only that."""
    result, bias = tap.result, tap.addend
    return (
        any(bias is constant for constant in step.small)
        and bias.aval.ndim > 0
        and bias.aval.shape[0] == 1
        and sum(var is result for var in step.jaxpr.outvars) == 1
        and not any(var is result for e in step.remainder for var in e.invars)
    )


@jax.custom_jvp
def _with_derivative_of(value, addend):
    """`value`, with the derivative of `value + addend`."""
    return value


@_with_derivative_of.defjvp
def _(primals, tangents):
    d_value, d_addend = tangents
    # In the precision of the bias, as its gradient is a sum over all times and sequences.
    change = (d_value.astype(d_addend.dtype) + d_addend).astype(d_value.dtype)
    # The value once more through this function, which a second derivative must see too.
    return _with_derivative_of(*primals), change


def _round(u, compute):
    real = jnp.issubdtype(u.dtype, jnp.floating)
    return u.astype(compute) if real and not is_weak(u) else u


def _product(tap: Tap, compute, v, weight):
    """The product in `compute`; its derivative makes two more such products."""

    @jax.custom_jvp
    def rounded(v, weight):
        return tap.value(v, weight, compute, out=compute)

    def derivative(primals, tangents):
        v, weight = primals
        (from_v,) = paired(
            lambda residuals, arguments: [tap.value(arguments[0], residuals[0], compute)],
            lambda residuals, errors: [tap.back(errors[0], residuals[0], compute)],
            [weight],
            [tangents[0]],
        )
        (from_weight,) = paired(
            lambda residuals, arguments: [tap.value(residuals[0], arguments[0], compute)],
            lambda residuals, errors: [tap.gather(residuals[0][None], errors[0][None], compute)],
            [v],
            [tangents[1]],
        )
        return rounded(v, weight), (from_v + from_weight).astype(compute)

    rounded.defjvp(derivative)
    return rounded(v, weight)
