"""Factoring the weights out of a product of Jacobians."""

from functools import reduce

import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._nets import gap


def check(units: int = 4, factors: int = 3, diagonal: bool = False) -> Finding:
    """Compare both sides for random weights, all or only diagonal ones, and slopes."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(units, units))
    if diagonal:
        W = np.diag(np.diag(W))
    slopes = rng.uniform(size=(factors, units))
    product = reduce(np.matmul, [W @ np.diag(s) for s in slopes])
    pulled = np.linalg.matrix_power(W, factors) @ np.diag(slopes.prod(axis=0))
    error = gap(pulled, product)
    return Finding(
        "holds" if error < 1e-12 else "false",
        f"for {factors} factors of random {units} × {units} matrices the two sides differ by "
        f"{error:.2f} of the largest entry.",
        {"relative error": error},
    )


CLAIM = Claim(
    "weights-leave-the-product",
    "∏ W diag(s_i) = Wⁿ diag(∏ s_i): the Jacobian is a power of the weights times the "
    "slopes (printed with the power n - 1).",
    "Galvan (2015, draft of March), section 1.3.4, eq. 1.46-1.48",
    "false",
    check,
    Falsehood("diagonal weights, which commute with the slopes", {"diagonal": True}, "holds"),
)
