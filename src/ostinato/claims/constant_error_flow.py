"""The constant error flow of the original LSTM."""

import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._memory import UNITS, flow

STEPS = 100


def check(weight: float = 1.0) -> Finding:
    """Differentiate c after many steps by c before them, for a self-connection of this weight."""
    found = flow(STEPS, kept=lambda gate: weight)
    through_c, whole = (
        float(np.abs(J - np.eye(UNITS)).max()) for J in (found.through_c, found.whole)
    )
    verdict = "holds" if whole < 1e-12 else "holds when errors go back through c alone"
    return Finding(
        verdict if through_c < 1e-12 else "false",
        f"with a self-connection of {weight:g}, ∂c_T/∂c_0 over {STEPS} steps differs from the "
        f"identity by {through_c:.1g} along c alone, as in the truncated gradient of 1997, and by "
        f"{whole:.2g} along all paths.",
        {"off through c": through_c, "off along all paths": whole},
    )


CLAIM = Claim(
    "constant-error-flow",
    "In the LSTM without forget gates errors flow back through a memory cell unchanged, because "
    "its self-connection has weight one.",
    "Galvan (2015), section 2.1.1; Lipton et al. (2015), section 4.1; Krause (2015), section 2.2",
    "holds when errors go back through c alone",
    check,
    Falsehood("a self-connection of 0.99", {"weight": 0.99}, "false"),
)
