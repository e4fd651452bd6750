"""The constant error flow of the original LSTM."""

import jax
import numpy as np

from ..cells import LSTM1997
from ..through_time import unroll
from ._claim import Claim, Finding
from ._nets import drawn, numbers

INPUTS, UNITS, STEPS = 2, 4, 100


def check(truncated: bool = True) -> Finding:
    """Differentiate c after many steps by c before them, with the original truncation or not."""
    off, whole = error_flow(truncated), error_flow(False)
    verdict = "holds" if whole == 0 else "holds when errors go back through c alone"
    return Finding(
        verdict if off == 0 else "false",
        f"over {STEPS} steps ∂c_T/∂c_0 differs from the identity by {off:g} with the truncation of "
        f"1997, and by {whole:.2g} without it.",
        {"off, truncated": off, "off, whole gradient": whole},
    )


def error_flow(truncated: bool) -> float:
    cell = drawn(LSTM1997, INPUTS, UNITS, truncated=truncated)
    xs, h, c = numbers(1, STEPS, INPUTS), numbers(2, UNITS), numbers(3, UNITS)
    jacobian = jax.jit(jax.jacrev(lambda c: unroll(cell, xs, (h, c))[1][1]))(c)
    return float(np.abs(jacobian - np.eye(UNITS)).max())


CLAIM = Claim(
    "constant-error-flow",
    "In the LSTM without forget gates errors flow back through a memory cell unchanged, because "
    "its self-connection has weight one.",
    "Galvan (2015), section 2.1.1; Lipton et al. (2015), section 4.1; Krause (2015), section 2.2",
    "holds when errors go back through c alone",
    check,
)
