"""Hochreiter's upper bound on the Jacobian, in the max norm."""

import numpy as np

from ._bound import VERDICT, against_nets
from ._claim import Claim, Falsehood, Finding
from ._nets import Nets


def check(counted: bool = True) -> Finding:
    """The largest entry against the bound; `counted`: whether τ has the number of units."""

    def growth(nets: Nets, steepest: np.ndarray) -> np.ndarray:
        units = nets.R.shape[1] if counted else 1
        return units * steepest * np.abs(nets.R).max(axis=(1, 2))

    return against_nets(growth, lambda J: np.abs(J).max(axis=(1, 2)))


CLAIM = Claim(
    "hochreiter-bound",
    "The largest entry of ∂a_t/∂a_k is at most τ^(t-k-1), τ = units · f'max · largest weight.",
    "Galvan (2015), section 1.6, eq. 1.63-1.67",
    VERDICT,
    check,
    Falsehood("τ without the number of units", {"counted": False}, "false"),
)
