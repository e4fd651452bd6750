"""The eigenvalues of the Gauss-Newton matrix and of the Hessian."""

from typing import Any

import numpy as np

from ._claim import Claim, Finding
from ._second_order import matrices


def check(swapped: bool = False) -> Finding:
    """The smallest eigenvalues for a random network; `swapped` exchanges the two matrices."""
    hessian, gauss_newton = matrices()
    if swapped:
        gauss_newton = hessian
    of_hessian, of_gauss_newton = map(np.linalg.eigvalsh, (hessian, gauss_newton))
    least = of_gauss_newton[0] / of_gauss_newton[-1]

    def draw(axes: Any) -> None:
        axes.plot(of_hessian, "o", label="Hessian")
        axes.plot(of_gauss_newton, ".", label="Gauss-Newton")
        axes.axhline(0, color="black", linewidth=0.5)
        axes.set(xlabel="eigenvalue number", ylabel="eigenvalue")
        axes.set_yscale("symlog", linthresh=1e-2)
        axes.legend()

    return Finding(
        "holds" if least > -1e-12 else "false",
        f"for a random network the smallest eigenvalue of the Hessian is {of_hessian[0]:.2g}, that "
        f"of the Gauss-Newton matrix {of_gauss_newton[0]:.0g}, which is zero to rounding.",
        {"least of Hessian": float(of_hessian[0]), "least of Gauss-Newton": float(least)},
        draw,
    )


CLAIM = Claim(
    "gauss-newton-is-semidefinite",
    "With a convex loss the Gauss-Newton matrix has no negative eigenvalue, which the Hessian of "
    "a network may have.",
    "Krause (2015), section 3.3.2, eq. 3.18",
    "holds",
    check,
)
