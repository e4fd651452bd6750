"""`unroll` is the loop of steps in every dtype, or is refused in one line: random cells."""

import contextlib

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ostinato

from .random_cells import (
    BATCH,
    COMPLEX,
    FULL,
    INTEGERS,
    NUMBERS,
    STEPS,
    UNITS,
    Random,
    filled,
    loop,
    recipes,
)

OPTIONS = st.fixed_dictionaries(
    {
        "lengths": st.none() | st.lists(st.integers(0, STEPS), min_size=BATCH, max_size=BATCH),
        "reverse": st.booleans(),
        "memory": st.sampled_from(["all", "sqrt", 2]),
    }
)
QUIET = {
    "derandomize": True,
    "database": None,
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
}


def floats(tree):
    return eqx.filter(tree, eqx.is_inexact_array)


def loss_of(result):
    """A real number that all float outputs have a share in."""
    total = jnp.zeros(())
    for i, x in enumerate(jax.tree.leaves(floats(result))):
        x = x.real + 0.5 * x.imag if jnp.iscomplexobj(x) else x
        weight = jnp.cos(i + jnp.arange(x.size)).reshape(x.shape)
        total += jnp.sum(weight * jnp.sin(x).astype(float))
    return total


def rounding(*trees) -> float:
    """The unit of rounding of the coarsest float among all these."""
    found = [x.dtype for tree in trees for x in jax.tree.leaves(floats(tree))]
    return max((float(jnp.finfo(dtype).eps) for dtype in found), default=0.0)


def agree(ours, theirs, tolerance: float):
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        a, b = (np.asarray(x).astype(complex) for x in (one, other))
        scale = max(1.0, np.max(np.abs(b), initial=0.0))
        assert np.max(np.abs(a - b), initial=0.0) <= tolerance * scale, (one, other)


def check(recipe, numbers, options, compiled: bool = False):
    """Values, gradient and derivative along a direction, by `unroll` and by the loop."""
    cell = Random(recipe)
    xs = filled(recipe.inputs, (STEPS, BATCH, UNITS), numbers)
    usual = {name: x for name, x in options.items() if name != "memory"}
    moving, fixed = eqx.partition((cell, xs), eqx.is_inexact_array)
    along = jax.tree.map(lambda x: jnp.full_like(x, 0.5), moving)

    def everything(run, options):
        def loss(moving):
            result = run(*eqx.combine(moving, fixed), **options)
            return loss_of(result), result

        if not jax.tree.leaves(moving):
            return loss(moving)[1]
        gradient, result = jax.grad(loss, has_aux=True)(moving)
        _, slope = jax.jvp(lambda m: loss(m)[0], (moving,), (along,))
        return result, gradient, slope

    with contextlib.nullcontext() if compiled else jax.disable_jit():
        how = jax.jit if compiled else lambda function: function
        try:
            ours = how(lambda: everything(ostinato.unroll, options))()
        except (TypeError, ValueError) as error:
            assert "\n" not in str(error)
            assert recipe.promotes or recipe.weak, error
            return
        theirs = how(lambda: everything(loop, usual))()
    agree(ours, theirs, 32 * rounding(ours, moving))


@settings(max_examples=2, **QUIET)
@given(recipes(), NUMBERS, OPTIONS)
def test_unroll_is_the_loop_of_steps(recipe, numbers, options):
    """Operation by operation, so that both round alike."""
    check(recipe, numbers, options)


@pytest.mark.slow
@settings(max_examples=200, **QUIET)
@given(recipes(), NUMBERS, OPTIONS)
def test_unroll_is_the_loop_of_steps_for_many_cells(recipe, numbers, options):
    check(recipe, numbers, options)


@pytest.mark.slow
@settings(max_examples=60, **QUIET)
@given(recipes((*FULL, *COMPLEX, *INTEGERS)), NUMBERS, OPTIONS)
def test_unroll_is_the_loop_of_steps_compiled(recipe, numbers, options):
    """Without 16 bits, of which a compiler rounds away fewer than it is told to."""
    check(recipe, numbers, options, compiled=True)
