"""A cell's inputs with their products done in a lower precision, forwards and backwards."""

import jax
import jax.numpy as jnp

from ._paired import paired
from ._step import Tap, take_apart


def inputs_in(compute, function, parameters, xs):
    """`function(parameters, xs)`, its products and its result in the dtype `compute`.

    The operands of each product with a parameter, and of the two products of its derivative, are
    rounded to `compute`; their sums are kept in the original precision and then rounded. What is
    added to a product is added in `compute`, so that it can be done in the same kernel. Parameters
    and their gradients keep their dtype.
    """
    step = take_apart(function, parameters, xs)
    weights, small = step.prepare(parameters)

    def product(j, v, weight, addend):
        value = _product(step.taps[j], compute, v, weight)
        if addend is not None:
            value = value + jnp.asarray(addend).astype(compute)
        return value.astype(step.taps[j].shape.dtype)

    us = step.run(weights, small, xs, product)
    return jax.tree.map(lambda u: _round(u, compute), us)


def _round(u, compute):
    return u.astype(compute) if jnp.issubdtype(u.dtype, jnp.inexact) else u


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
