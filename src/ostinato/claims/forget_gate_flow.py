"""The error flow through the memory of an LSTM with forget gates."""

import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._memory import flow
from ._nets import gap

STEPS = 100
BIASES = (0.0, 4.0, 8.0)  # of the forget gate, which moves towards one


def check(peephole: float = 0.0) -> Finding:
    """Compare ∂c_T/∂c_0 along c alone with the product of the forget gates, for three biases.

    `peephole`: the weight with which the gates read the memory, zero in the source.
    """
    error, kept = 0.0, []
    for bias in BIASES:
        found = flow(STEPS, forget_bias=bias, peephole=peephole)
        error = max(error, gap(found.through_c, np.diag(found.forget.prod(axis=0))))
        kept.append(float(np.linalg.norm(found.through_c, 2)))
    vanishes_slowly = kept[0] < 1e-3 and kept[0] < kept[1] < kept[2] and 0.5 < kept[2] < 1
    return Finding(
        "holds" if error < 1e-12 and vanishes_slowly else "false",
        f"over {STEPS} steps ∂c_T/∂c_0 along c alone is the product of the forget gates to "
        f"{error:.0g}; {kept[0]:.0g} of an error is left with a bias of {BIASES[0]:g} at the gate, "
        f"{kept[1]:.2f} with {BIASES[1]:g} and {kept[2]:.2f} with {BIASES[2]:g}.",
        {"relative error": error}
        | {f"left, bias {bias:g}": x for bias, x in zip(BIASES, kept, strict=True)},
    )


CLAIM = Claim(
    "forget-gate-flow",
    "With a forget gate the factor of the flow through the memory is the gate's activation instead "
    "of one, so that errors can vanish again, slowly where it is close to one.",
    "Krause (2015), section 2.2, eq. 2.18",
    "holds",
    check,
    Falsehood("gates that read the memory through peepholes", {"peephole": 0.5}, "false"),
)
