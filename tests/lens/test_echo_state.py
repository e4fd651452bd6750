"""Echo-state measures and memory capacity, on networks whose values are known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.cells import Simple
from ostinato.errors import BadInput
from ostinato.lens import echo_state, memory_capacity
from ostinato.reservoir import Reservoir

KEY = jax.random.key(2)


def test_a_linear_cell_forgets_at_its_spectral_radius():
    cell = eqx.tree_at(
        lambda c: c.R, Simple(1, 3, key=KEY, f="identity"), 0.9 * jnp.eye(3)[jnp.array([1, 2, 0])]
    )
    found = echo_state(cell, jnp.zeros((40, 2, 1)), key=KEY, starts=2)
    np.testing.assert_allclose(found.distance, 0.9 ** np.arange(1, 41), rtol=1e-9)
    assert found.exponent == pytest.approx(np.log(0.9))
    assert found.radius == pytest.approx(0.9)
    assert found.forgets


def unit(R, b):
    cell = Simple(1, 1, key=KEY)
    return eqx.tree_at(lambda c: (c.R, c.b), cell, (jnp.full((1, 1), R), jnp.full(1, b)))


def test_two_resting_states_are_not_forgetting():
    """Near each of them states converge, but which one it is depends on the beginning."""
    found = echo_state(unit(3.0, 0.1), jnp.zeros((200, 1, 1)), key=KEY, starts=4)
    assert found.exponent < -1 and found.distance[-1] > 0.5
    assert not found.forgets
    assert echo_state(unit(0.5, 0.1), jnp.zeros((200, 1, 1)), key=KEY, starts=4).forgets


def test_states_that_are_still_on_their_way_are_forgetting():
    found = echo_state(unit(0.999, 0.0), jnp.zeros((20, 1, 1)), key=KEY, scale=1e-3, starts=2)
    assert found.distance[-1] > 0.9 and found.exponent < 0
    assert found.forgets


def test_one_start_is_not_enough():
    with pytest.raises(BadInput, match="starts must be at least 2, got 1"):
        echo_state(unit(0.5, 0.0), jnp.zeros((5, 1, 1)), key=KEY, starts=1)


@pytest.mark.slow
def test_a_reservoir_far_beyond_1_is_chaotic_until_inputs_are_strong():
    xs = jax.random.normal(KEY, (300, 1, 1))
    chaotic = Reservoir(1, 50, key=KEY, radius=3.0, input_scaling=0.01, connectivity=0.5)
    found = echo_state(chaotic, xs, key=KEY)
    assert not found.forgets and found.exponent > 0
    driven = Reservoir(1, 50, key=KEY, radius=1.2, input_scaling=5.0, connectivity=0.5)
    assert echo_state(driven, xs, key=KEY).forgets


def test_a_delay_line_remembers_as_many_inputs_as_it_has_units():
    line = Simple(1, 5, key=KEY, f="identity")
    line = eqx.tree_at(lambda c: (c.W, c.R), line, (jnp.eye(1, 5), jnp.eye(5, k=1)))
    found = memory_capacity(line, key=KEY, delays=10, steps=600, washout=20)
    np.testing.assert_allclose(found[:4], 1, atol=1e-6)  # the first unit holds the present input
    assert found[4:].max() < 0.1


def test_capacity_is_below_the_units():
    cell = Reservoir(1, 20, key=KEY, radius=0.9, input_scaling=0.1, connectivity=0.5)
    found = memory_capacity(cell, key=KEY, delays=40, steps=2000, washout=100)
    assert 5 < found.sum() <= 20
    with pytest.raises(BadInput, match="washout at least as long as the delays"):
        memory_capacity(cell, key=KEY, delays=40, washout=10)
