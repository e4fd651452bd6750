"""Damping's rule and the searches on the true objective."""

import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.errors import BadInput
from ostinato.learning.hessian_free import Damping
from ostinato.learning.hessian_free.conjugate_gradient import Taken
from ostinato.learning.hessian_free.damping import reduction_ratio
from ostinato.learning.hessian_free.searches import (
    Choice,
    Greedy,
    backtrack,
    best_iterate,
    follow,
    shorten,
)


@pytest.mark.parametrize(
    ("ratio", "refused", "factor"),
    [
        (0.1, False, 1.5),
        (0.5, False, 1.0),
        (0.9, False, 2 / 3),
        (0.9, True, 1.5),
        (-3.0, False, 1.5),
        (np.inf, False, 2 / 3),
        (-np.inf, False, 1.5),
        (np.nan, False, 1.5),
    ],
)
def test_the_scale_follows_the_ratio(ratio, refused, factor):
    new = Damping().next_scale(jnp.asarray(2.0), jnp.asarray(ratio), jnp.asarray(refused))
    np.testing.assert_allclose(new, 2 * factor)


def test_the_scale_has_bounds():
    damping = Damping(min_scale=0.5, max_scale=2.0)
    yes, no = jnp.asarray(True), jnp.asarray(False)
    assert damping.next_scale(jnp.asarray(0.5), jnp.asarray(1.0), no) == 0.5
    assert damping.next_scale(jnp.asarray(2.0), jnp.asarray(1.0), yes) == 2.0


def test_reduction_ratio():
    cases = [(-1.0, -2.0, 0.5), (1.0, -2.0, -0.5), (-1.0, 0.1, np.inf), (1.0, 0.1, -np.inf)]
    for fell, promised, ratio in cases:
        assert reduction_ratio(jnp.asarray(fell), jnp.asarray(promised)) == ratio


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"form": "both"}, "must be one of pre-activation, activation; got both"),
        ({"ratio": "none"}, "ratio must be one of damped, undamped; got none"),
        ({"tikhonov": -1.0}, "cannot be negative"),
    ],
)
def test_bad_damping(options, words):
    with pytest.raises(BadInput, match=words):
        Damping(**options)


def valley(at):
    """A value that is least where the first entry is `at`."""
    return lambda x: (x[0] - at) ** 2


def test_best_iterate():
    iterates = jnp.asarray([[1.0], [2.0], [3.0], [4.0], [9.0]])
    found = best_iterate(valley(2.0), iterates, jnp.asarray(3))
    assert (found.vector, found.value, found.evaluations) == (2.0, 0.0, 4)
    found = best_iterate(valley(0.0), iterates, jnp.asarray(3))
    assert (found.vector, found.evaluations) == (1.0, 4)
    found = best_iterate(valley(5.0), iterates, jnp.asarray(3))
    assert (found.vector, found.evaluations) == (4.0, 2)


def test_best_iterate_goes_back_over_values_that_are_not_finite():
    iterates = jnp.asarray([[1.0], [2.0], [3.0], [4.0]])
    found = best_iterate(lambda x: jnp.where(x[0] > 2, jnp.nan, x[0]), iterates, jnp.asarray(3))
    assert (found.vector, found.value) == (1.0, 1.0) and not found.sound
    found = best_iterate(lambda x: jnp.nan * x[0], iterates, jnp.asarray(3))
    assert found.value == np.inf


def test_backtrack():
    step = Choice(jnp.asarray([10.0]), jnp.asarray(81.0), jnp.asarray(1))
    moved, length = backtrack(valley(1.0), step, jnp.asarray(1.0), jnp.asarray(-20.0))
    assert 0 < moved.vector[0] < 2 and moved.value < 1
    np.testing.assert_allclose(length, moved.vector[0] / 10)
    assert moved.value == valley(1.0)(moved.vector)

    uphill = Choice(jnp.asarray([-10.0]), jnp.asarray(121.0), jnp.asarray(1))
    moved, length = backtrack(valley(1.0), uphill, jnp.asarray(1.0), jnp.asarray(20.0))
    assert (moved.vector, moved.value, length) == (0, 1, 0)


def test_shorten():
    step = Choice(jnp.asarray([8.0]), jnp.asarray(49.0), jnp.asarray(1))
    found = shorten(valley(1.0), step)
    assert (found.vector, found.value, found.evaluations) == (1.0, 0.0, 5)
    never = shorten(lambda x: -x[0], Choice(jnp.asarray([8.0]), jnp.asarray(-8.0), jnp.asarray(1)))
    assert never.vector == 8.0


def along(step):
    """A step of conjugate gradient; where it leads and what q is there, `follow` does not ask."""
    return Taken(jnp.asarray(step), jnp.full(len(step), jnp.nan), jnp.nan)


def test_follow():
    observe = follow(lambda x: (x[0] - 1) ** 2 + (x[1] - 3) ** 2)
    now = Greedy(jnp.zeros(2), jnp.asarray(10.0), jnp.asarray(0), jnp.asarray(0))
    now, stop = observe(now, along([4.0, 0.0]))
    np.testing.assert_array_equal(now.x, [1.0, 0.0])
    assert not stop and now.failures == 0 and now.value == 9
    for failures in range(1, 7):
        now, stop = observe(now, along([0.0, -1.0]))
        assert now.failures == failures and stop == (failures > 5)
    np.testing.assert_array_equal(now.x, [1.0, 0.0])
