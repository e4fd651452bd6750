"""The derivative of the hidden state by an earlier one, as a product over the steps between."""

from functools import reduce

import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._nets import derivative, gap

UNITS, STEPS = 4, 4


def check(slopes_first: bool = False) -> Finding:
    """Compare (2.10) with the derivative; `slopes_first`: with factors `diag(1 - H²) W`."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(UNITS, UNITS)) / np.sqrt(UNITS)
    us, first = rng.normal(size=(STEPS, UNITS)), np.zeros(UNITS)

    def run(h: np.ndarray) -> list[np.ndarray]:
        found = []
        for u in us:
            h = np.tanh(W @ h + u)
            found.append(h)
        return found

    exact = derivative(lambda h: run(h)[-1], first)
    slopes = [np.diag(1 - h**2) for h in run(first)[::-1]]  # of H(t), H(t-1), …
    printed = reduce(np.matmul, [W.T @ slope for slope in slopes])
    right = reduce(np.matmul, [slope @ W for slope in slopes])
    off, turned, other = (gap(J, exact) for J in (printed, printed.T, right))
    return Finding(
        "holds" if min((other,) if slopes_first else (off, turned)) < 1e-12 else "false",
        f"on a random net over {STEPS} steps it is off by {off:.2f} of the largest entry, and by "
        f"{turned:.2f} if the result is transposed, because the steps are then in the wrong order; "
        f"the product of diag(1 - H²) W agrees to {other:.0g}.",
        {"as printed": off, "transposed": turned, "diag(1 - H²) W": other},
    )


CLAIM = Claim(
    "transposed-weights-in-the-product",
    "∂H(t)/∂H(t-n) = ∏ Wᵀ diag(1 - H(t-k)²) over k = 0, …, n - 1.",
    "Krause (2015), section 2.1, eq. 2.10",
    "false",
    check,
    Falsehood("diag(1 - H²) W in place of Wᵀ diag(1 - H²)", {"slopes_first": True}, "holds"),
)
