"""Where the Gauss-Newton matrix is the Hessian."""

import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._nets import gap
from ._second_order import READOUT, matrices


def check(parameters: int = READOUT) -> Finding:
    """Compare the two in the first parameters of a net: those of its readout come first."""
    hessian, gauss_newton = matrices()
    some = np.s_[:parameters, :parameters]
    error, elsewhere = gap(gauss_newton[some], hessian[some]), gap(gauss_newton, hessian)
    return Finding(
        "holds" if error < 1e-12 else "false",
        f"in the {parameters} weights of a linear readout the two differ by {error:.0g}, in all "
        f"{len(hessian)} parameters of the net by {elsewhere:.2g} of the largest entry.",
        {"relative difference": error, "in all parameters": elsewhere},
    )


CLAIM = Claim(
    "gauss-newton-of-linear-outputs",
    "The Gauss-Newton matrix is the Hessian where the outputs are linear in the parameters.",
    "Galvan (2015), section 2.2.2, after eq. 2.17",
    "holds",
    check,
    Falsehood(
        "three recurrent weights, in which the outputs are not linear, among the parameters",
        {"parameters": READOUT + 3},
        "false",
    ),
)
