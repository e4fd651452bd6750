"""The Jacobian of a ReLU net as a sum over paths in the unfolded network."""

import jax
import numpy as np

from ..cells import Simple
from ..cells.activations import activation
from ..lens import path_sum
from ._claim import Claim, Falsehood, Finding
from ._nets import drawn, gap, numbers

UNITS, LAG = 4, 5


def check(f: str = "relu") -> Finding:
    """Sum the weights of the enabled paths of a net with the activation `f`."""
    cell = drawn(Simple, UNITS, UNITS, f=f)
    xs = numbers(1, LAG + 1, UNITS)
    first, *us = cell.inputs(xs)

    def last(a: jax.Array) -> jax.Array:
        for u in us:
            a = activation(f)(a) @ cell.R + u
        return a

    J, enabled, total = np.zeros((UNITS, UNITS)), 0, 0
    for i, j in np.ndindex(J.shape):
        paths = path_sum(cell, xs, i, j, from_step=0, to_step=LAG)
        J[i, j] = paths.weights[paths.enabled].sum()
        enabled, total = enabled + paths.enabled_number, total + paths.number
    error = gap(J, jax.jit(jax.jacfwd(last))(first))
    return Finding(
        "holds" if error < 1e-12 else "false",
        f"over a lag of {LAG} steps {enabled} of the {total:,} paths between {UNITS} units are "
        f"enabled, and their sums differ from automatic differentiation by {error:.0g}.",
        {"enabled": enabled, "paths": total, "relative error": error},
    )


CLAIM = Claim(
    "relu-paths",
    "With ReLU units an entry of ∂a_t/∂a_k is the sum, over the paths all of whose units are "
    "active, of the products of their weights.",
    "Galvan (2015), section 1.6, eq. 1.72 and fig. 1.12",
    "holds",
    check,
    Falsehood("tanh units in place of ReLU", {"f": "tanh"}, "false"),
)
