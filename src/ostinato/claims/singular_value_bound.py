"""The upper bound on the Jacobian from the largest singular value."""

from collections.abc import Callable

import numpy as np

from ..lens import largest_singular_value, spectral_radius
from ._bound import VERDICT, against_nets
from ._claim import Claim, Falsehood, Finding
from ._nets import Nets


def check(largest: Callable = largest_singular_value) -> Finding:
    """The longest column, `‖J e_i‖`, against the bound from `largest` of the weights."""

    def growth(nets: Nets, steepest: np.ndarray) -> np.ndarray:
        return steepest * np.asarray(largest(nets.R))

    return against_nets(growth, lambda J: np.linalg.norm(J, axis=1).max(axis=1))


CLAIM = Claim(
    "singular-value-bound",
    "A column of ∂a_t/∂a_k is at most (f'max · μmax)^(t-k-1) long, μmax the largest singular "
    "value of the recurrent weights.",
    "Galvan (2015), section 1.6, eq. 1.68-1.71",
    VERDICT,
    check,
    Falsehood(
        "the spectral radius in place of the largest singular value",
        {"largest": spectral_radius},
        "false",
    ),
)
