"""A complex state is measured as its real and imaginary parts side by side."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.cells import Cell
from ostinato.lens import (
    fixed_points,
    jacobian_by_lag,
    lyapunov_exponent,
    memory_length,
    step_jacobians,
)

KEYS = jax.random.split(jax.random.key(0), 4)
KEY = jax.random.key(1)


class Complex(Cell):
    W: jax.Array
    R: jax.Array

    def initial(self, batch):
        return jnp.full((*batch, 2), 0.1 + 0.2j)

    def inputs(self, x):
        return x @ self.W

    def step(self, state, u):
        z = state @ self.R + u
        new = z / (1 + jnp.abs(z)) * (1 + 0.5j)
        return new, jnp.concatenate([new.real, new.imag], axis=-1)


class Pair(Complex):
    """The same cell with two real arrays for its state."""

    def initial(self, batch):
        state = super().initial(batch)
        return state.real, state.imag

    def step(self, state, u):
        new, y = super().step(jax.lax.complex(*state), u)
        return (new.real, new.imag), y


WEIGHTS = (
    jax.random.normal(KEYS[0], (3, 2)),
    jax.random.normal(KEYS[1], (2, 2)) + 1j * jax.random.normal(KEYS[2], (2, 2)),
)
one, two = Complex(*WEIGHTS), Pair(*WEIGHTS)
XS = jax.random.normal(KEYS[3], (6, 4, 3))


@pytest.mark.parametrize(
    "measure",
    [
        step_jacobians,
        jacobian_by_lag,
        lambda cell, xs: jacobian_by_lag(cell, xs, lengths=jnp.array([6, 3, 1, 4])),
        lambda cell, xs: jacobian_by_lag(cell, xs, probes=2, key=KEY),
        lambda cell, xs: lyapunov_exponent(cell, xs, key=KEY),
        lambda cell, xs: memory_length(jacobian_by_lag(cell, xs)),
    ],
)
def test_a_measure_of_a_complex_state_is_that_of_its_parts(measure):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the imaginary part was dropped with a warning
        found = measure(one, XS)
    np.testing.assert_allclose(found, measure(two, XS), rtol=1e-10)


def test_fixed_points_of_a_complex_state():
    found, expected = (fixed_points(cell, key=KEY, starts=8) for cell in (one, two))
    assert len(found) == len(expected) > 0
    for point, other in zip(found, expected, strict=True):
        assert point.state.dtype == jnp.complex128 and point.stable == other.stable
        np.testing.assert_allclose(point.state, jax.lax.complex(*other.state), atol=1e-9)
        np.testing.assert_allclose(np.abs(point.eigenvalues), np.abs(other.eigenvalues), atol=1e-6)
