"""How large an entry of the Jacobian of a ReLU net can be."""

import numpy as np

from ._claim import Claim, Finding
from ._nets import run

NETS, UNITS, LAG = 1000, 4, 5


def check(signed: bool = True) -> Finding:
    """Count entries above those of the power of the weights, with weights of both signs or one."""
    rng = np.random.default_rng(0)
    R = rng.normal(size=(NETS, UNITS, UNITS))
    us = rng.normal(size=(LAG + 1, NETS, UNITS))
    both, one = share_above(R if signed else np.abs(R), us), share_above(np.abs(R), us)
    verdict = "holds" if both == 0 else "holds when all paths have costs of the same sign"
    return Finding(
        verdict if one == 0 else "false",
        f"with weights of both signs {both:.0%} of the entries are larger than those of R^{LAG}, "
        f"because a disabled path may be one that cancels others; with positive weights {one:.0%}.",
        {"share above, both signs": both, "share above, one sign": one},
    )


def share_above(R: np.ndarray, us: np.ndarray) -> float:
    """Of the entries of `∂a_LAG/∂a_0`, the share that is larger than in `R^LAG`."""
    nets = run(R, us, lambda a: np.maximum(a, 0), lambda a: (a > 0).astype(float))
    *_, (lag, J) = nets.jacobians()
    power = np.abs(np.linalg.matrix_power(R, lag))
    return float(np.mean(np.abs(J) > power * (1 + 1e-9)))


CLAIM = Claim(
    "relu-paths-bound",
    "With ReLU units an entry of ∂a_t/∂a_k ranges from 0 to the entry of the power of the weights, "
    "reached where all paths are enabled.",
    "Galvan (2015), section 1.6, after fig. 1.12",
    "holds when all paths have costs of the same sign",
    check,
)
