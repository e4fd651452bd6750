"""How large an entry of the Jacobian of a ReLU net can be."""

import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._nets import Nets, gap

NETS, UNITS, LAG = 1000, 4, 5
TENTH = NETS // 10
VERDICT = "holds when all path costs have the same sign and the power is t - k"


def check(slope: float = 1.0) -> Finding:
    """Compare the Jacobian with the power of the weights, for units `slope · relu(a)`.

    Inputs can bring a to any value, so it is drawn: positive everywhere in the first tenth of the
    nets, where all paths are enabled, and negative at one step in the second tenth, where none is.
    """
    rng = np.random.default_rng(0)
    R, a = rng.normal(size=(NETS, UNITS, UNITS)), rng.normal(size=(LAG, NETS, UNITS))
    a[:, :TENTH] = np.abs(a[:, :TENTH])
    a[2, TENTH : 2 * TENTH] = -np.abs(a[2, TENTH : 2 * TENTH])
    signs = rng.choice([-1.0, 1.0], (NETS, UNITS))
    alike = signs[:, :, None] * np.abs(R) * signs[:, None, :]  # all paths from j to i of one sign

    def sizes(R: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        *_, (_, J) = Nets(R, slope * (a > 0)).jacobians()
        powers = (np.abs(np.linalg.matrix_power(R, power)) for power in (LAG, LAG - 1))
        return np.abs(J), *powers

    def above(J: np.ndarray, power: np.ndarray) -> float:
        return float(np.mean(J > power * (1 + 1e-9)))

    J, power, printed = sizes(alike)
    of_both_signs, bound, _ = sizes(R)
    over, over_printed, mixed = above(J, power), above(J, printed), above(of_both_signs, bound)
    reached = gap(J[:TENTH], power[:TENTH])
    least = float(J[TENTH : 2 * TENTH].max())
    verdict = "holds" if mixed == over_printed == 0 else VERDICT
    return Finding(
        verdict if over == least == 0 and reached < 1e-12 else "false",
        f"where all paths have the same sign, {over:.0%} of the entries are larger than those of "
        f"R^{LAG}, which are reached to {reached:.0g} where all paths are enabled, and "
        f"{over_printed:.0%} larger than those of R^{LAG - 1}, as printed; with weights of both "
        f"signs {mixed:.0%} are larger than those of R^{LAG}, because a disabled path may be one "
        f"that cancels others.",
        {
            "share above, one sign": over,
            "share above as printed": over_printed,
            "share above, both signs": mixed,
            "off where all paths are enabled": reached,
            "largest where none is": least,
        },
    )


CLAIM = Claim(
    "relu-paths-bound",
    "With ReLU units the size of an entry of ∂a_t/∂a_k ranges from 0, where no path is enabled, to "
    "that of the entry of W^(t-k-1), where all paths are enabled and have costs of the same sign.",
    "Galvan (2015), section 1.6, after fig. 1.12",
    VERDICT,
    check,
    Falsehood("units with the slope 1.1 where they are active", {"slope": 1.1}, "false"),
)
