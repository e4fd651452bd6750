"""The echo state property from the largest singular value."""

import numpy as np

from ._claim import Claim, Finding
from ._nets import apply

NETS, UNITS, STEPS = 1000, 10, 200


def check(singular: float = 0.95) -> Finding:
    """Drive random tanh networks from two initial states with the same input."""
    rng = np.random.default_rng(0)
    R = rng.normal(size=(NETS, UNITS, UNITS))
    R[::2] = np.linalg.qr(R[::2])[0]  # half of them orthogonal: they forget most slowly
    R *= singular / np.linalg.svd(R, compute_uv=False)[:, :1, None]
    one, two = rng.uniform(-1, 1, (2, NETS, UNITS))
    start = np.linalg.norm(one - two, axis=1)
    for _ in range(STEPS):
        u = 0.01 * rng.normal(size=(NETS, UNITS))
        one, two = np.tanh(apply(R, one) + u), np.tanh(apply(R, two) + u)
    left = np.linalg.norm(one - two, axis=1) / start
    bound = singular**STEPS
    return Finding(
        "holds" if left.max() <= min(bound, 1e-3) else "false",
        f"after {STEPS} steps at most {left.max():.0g} of the difference between two initial "
        f"states remains in any of {NETS:,} networks with a largest singular value of "
        f"{singular:g}, below {singular:g}^{STEPS} = {bound:.0g}.",
        {"left": float(left.max()), "bound": bound},
    )


CLAIM = Claim(
    "echo-state-by-singular-value",
    "A tanh network with a largest singular value below one forgets its initial state "
    "exponentially, whatever its input.",
    "Galvan (2015), section 2.2.3 with eq. 1.71; Jaeger (2001)",
    "holds",
    check,
)
