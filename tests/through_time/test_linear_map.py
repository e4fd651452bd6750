"""A linear map with a transpose of its own: when it is traced, and its shapes under transforms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.through_time.linear_map import paired
from ostinato.through_time.step import evaluate


@pytest.fixture
def doubled():
    """A function that doubles by `paired`, and how often that was traced or run."""
    calls = []

    def double(residuals, given):
        calls.append(given)
        return [2 * given[0]]

    return lambda x: paired(double, double, [], [x], [x])[0], calls


def test_shapes_that_are_given_need_no_trace(doubled):
    function, calls = doubled
    xs = jnp.arange(3.0)
    shapes = jax.make_jaxpr(jax.grad(lambda x: jnp.sum(function(x))))(xs)
    assert shapes.out_avals[0].shape == (3,) and not calls
    mapped = jax.make_jaxpr(jax.vmap(function, in_axes=1, out_axes=1))(jnp.ones((3, 5)))
    assert mapped.out_avals[0].shape == (3, 5) and not calls
    np.testing.assert_array_equal(jax.vmap(jax.grad(function))(xs), 2.0)


def test_they_are_those_of_what_is_bound(doubled):
    """The engine binds the equations of a step to operands of other shapes and dtypes."""
    function, _ = doubled
    (equation,) = jax.make_jaxpr(function)(jnp.arange(3.0)).jaxpr.eqns

    def rebound(x):
        env = {equation.invars[0]: x}
        evaluate(equation, env)
        return env[equation.outvars[0]]

    found = jax.eval_shape(rebound, jax.ShapeDtypeStruct((2, 4), jnp.float32))
    assert found.shape == (2, 4) and found.dtype == jnp.float32
    mapped = jax.eval_shape(jax.vmap(rebound), jax.ShapeDtypeStruct((7, 2), jnp.float32))
    assert mapped.shape == (7, 2) and mapped.dtype == jnp.float32
