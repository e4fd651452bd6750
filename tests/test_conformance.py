"""The conformance suite over every cell and every wiring, in float64."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from members import CELLS, WIRINGS
from ostinato.testing.check import CHECKS
from ostinato.testing.derivatives import every_parameter_is_reached

MEMBERS = CELLS | WIRINGS


@pytest.fixture(autouse=True)
def quick_compilation():
    """The nets are tiny, so compiling them is what takes the time."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@cache
def member(name):
    return MEMBERS[name]()


THRESHOLDS = ("simple step", "hopfield")


@pytest.mark.parametrize("name", MEMBERS)
def test_conforms(name):
    """One test per member: its compiled functions are shared by the checks."""
    case = member(name)
    for check in CHECKS:
        if name in THRESHOLDS and check is every_parameter_is_reached:
            continue  # a threshold has no slope: see the test below
        check(case)


@pytest.mark.parametrize("name", ["lstm", "stack, skip", "network, embedding"])
def test_compiling_changes_nothing(name):
    """The gradient compiled is the gradient interpreted; steps are compared by the suite.

    Two steps are enough for it, and interpreting takes its time for each.
    """
    case = MEMBERS[name]()
    case.xs, case.state = case.xs[:2], case.start
    with jax.disable_jit():
        plain = jax.grad(lambda moving: case.loss(case.run(moving)))(case.moving)
    same(plain, case.gradient)


def same(gradient, expected):
    scale = max(1.0, *(np.abs(x).max(initial=0) for x in jax.tree.leaves(expected)))
    for x, y in zip(jax.tree.leaves(gradient), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("name", THRESHOLDS)
def test_a_threshold_has_no_gradient(name):
    gradient = member(name).gradient
    assert all(bool(jnp.all(slope == 0)) for slope in jax.tree.leaves(gradient[0]))
