"""The upper bound on the Jacobian from the largest singular value."""

import numpy as np

from ._bound import VERDICT, against_nets
from ._claim import Claim, Finding
from ._nets import Nets


def check(factor: float = 1.0) -> Finding:
    """The longest column, `‖J e_i‖`, against the bound, with its base multiplied by `factor`."""

    def growth(nets: Nets, steepest: np.ndarray) -> np.ndarray:
        return factor * steepest * np.linalg.svd(nets.R, compute_uv=False)[:, 0]

    return against_nets(growth, lambda J: np.linalg.norm(J, axis=1).max(axis=1))


CLAIM = Claim(
    "singular-value-bound",
    "A column of ∂a_t/∂a_k is at most (f'max · μmax)^(t-k-1) long, μmax the largest singular "
    "value of the recurrent weights.",
    "Galvan (2015), section 1.6, eq. 1.68-1.71",
    VERDICT,
    check,
)
