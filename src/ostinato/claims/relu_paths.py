"""The Jacobian of a ReLU net as a sum over paths in the unfolded network."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from ._claim import Claim, Finding
from ._nets import gap

UNITS, LAG = 4, 5


def check(leak: float = 0.0) -> Finding:
    """Sum the enabled paths; `leak` is the slope of an inactive unit, 0 for ReLU."""
    rng = np.random.default_rng(1)
    R = rng.normal(size=(UNITS, UNITS))
    us = 1 + rng.normal(size=(LAG, UNITS))
    start = rng.normal(size=UNITS)

    def advance(a):
        for u in us:
            a = R @ jnp.where(a > 0, a, leak * a) + u
        return a

    a, active = start, []
    for u in us:
        active.append(a > 0)
        a = R @ np.where(a > 0, a, leak * a) + u
    J, enabled = np.zeros((UNITS, UNITS)), 0
    for path in itertools.product(range(UNITS), repeat=LAG + 1):
        if all(on[unit] for on, unit in zip(active, path, strict=False)):
            J[path[-1], path[0]] += np.prod([R[v, u] for u, v in itertools.pairwise(path)])
            enabled += 1
    error = gap(J, jax.jit(jax.jacfwd(advance))(start))
    total = UNITS ** (LAG + 1)
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
    "000, section 1.6, eq. 1.72 and fig. 1.12",
    "holds",
    check,
)
