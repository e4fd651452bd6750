"""The conformance suite over every cell and every wiring, in float64."""

from functools import cache

import jax
import jax.numpy as jnp
import pytest

from members import CELLS, WIRINGS
from ostinato.testing import CHECKS, every_parameter_is_reached


@pytest.fixture(autouse=True)
def quick_compilation():
    """The nets are tiny, so compiling them is what takes the time."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


MEMBERS = CELLS | WIRINGS


@cache
def member(name):
    return MEMBERS[name]()


# Not every day: those that are made of the same parts as another one.
ALIKE = {
    "gated feedback, gru",
    "gated feedback, lstm",
    "layer norm, mlstm",
    "network, embedding",
    "stack of bidirectional",
    "stack, skip",
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in ALIKE else []) for n in MEMBERS]
)
def test_conforms(name):
    """One test a member: its compiled functions are shared by the checks."""
    case = member(name)
    for check in CHECKS:
        if name == "simple step" and check is every_parameter_is_reached:
            continue  # a threshold has no slope: see the test below
        check(case)


def test_a_threshold_has_no_gradient():
    gradient = member("simple step").gradient
    assert all(bool(jnp.all(slope == 0)) for slope in jax.tree.leaves(gradient[0]))
