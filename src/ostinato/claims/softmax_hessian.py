"""The Hessian of cross-entropy at the input of a softmax."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._nets import gap

OUTPUTS = 5


def check(printed: Callable = lambda p: np.diag(p) - np.outer(p, p)) -> Finding:
    """Compare the formula with automatic differentiation."""
    o = np.random.default_rng(0).normal(size=OUTPUTS)
    exact = jax.jit(jax.hessian(lambda o: jnp.log(jnp.sum(jnp.exp(o))) - o[0]))(o)
    found = printed(np.exp(o) / np.exp(o).sum())
    error = gap(found, exact)
    least, second = np.linalg.eigvalsh(found)[:2]
    return Finding(
        "holds" if error < 1e-12 else "false",
        f"for {OUTPUTS} outputs they differ by {error:.0g}; the smallest eigenvalue is {least:.0g} "
        f"(for the vector of ones), the next {second:.2g}: the matrix is singular.",
        {"relative error": error, "smallest eigenvalue": float(least), "second": float(second)},
    )


CLAIM = Claim(
    "softmax-hessian",
    "The Hessian of cross-entropy at the input of a softmax is diag(p) - p pᵀ.",
    "Krause (2015), eq. 3.23",
    "holds",
    check,
    Falsehood("diag(p) alone, without - p pᵀ", {"printed": np.diag}, "false"),
)
