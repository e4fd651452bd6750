"""Comparing results with each other."""

import jax
import numpy as np


def same(ours, theirs, tolerance=1e-10):
    """Every array within `tolerance` of the other, in norm and relative to it."""
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        error, size = np.linalg.norm(np.subtract(one, other)), np.linalg.norm(other)
        assert error <= tolerance * size, f"relative error {error / size:.1e}"


def same_numbers(ours, theirs):
    """Five digits of each number, except where the last digit of the largest is more than these.

    A number in the units of a column is a sum of numbers of the column's size in float32, so one
    near zero can have lost digits.
    """
    last = np.finfo(np.float32).eps * np.abs(theirs).max()
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=last)
