"""A function with its products done in a lower precision, forwards and backwards."""

import jax

from ._paired import paired
from ._step import Tap, with_products


def with_products_in(compute, function, parameters, x):
    """`function(parameters, x)`, every product with a parameter done in the dtype `compute`.

    The operands of each product, and of the two products of its derivative, are rounded to
    `compute`; sums are kept in the original precision, and so is everything that is not a product.
    """
    if compute is None:
        return function(parameters, x)

    def change(_, tap, v, weight):
        return _product(tap, compute, v, weight)

    return with_products(change, function, parameters, x)


def _product(tap: Tap, compute, v, weight):
    @jax.custom_jvp
    def rounded(v, weight):
        return tap.value(v, weight, compute)

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
        return rounded(v, weight), from_v + from_weight

    rounded.defjvp(derivative)
    return rounded(v, weight)
