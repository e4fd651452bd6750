"""The upper bound on the Jacobian from the largest singular value."""

import numpy as np

from ._claim import Claim, Finding
from ._nets import tanh_nets


def check(factor: float = 1.0) -> Finding:
    """Compare the bound, with its base multiplied by `factor`, with random tanh nets."""
    nets = tanh_nets()
    count = len(nets.R)
    mu = np.linalg.svd(nets.R, compute_uv=False)[:, 0]
    over, over_as_printed, share = np.zeros(count, bool), np.zeros(count, bool), []
    for lag, J in nets.jacobians():
        base = factor * nets.slopes[:lag].max(axis=(0, 2)) * mu
        norm = np.linalg.norm(J, axis=1).max(axis=1)  # of the longest column, ‖J e_i‖
        over |= norm > base**lag * (1 + 1e-12)
        over_as_printed |= norm > base ** (lag - 1)
        share.append(norm / base**lag)
    medians = np.median(share, axis=1)

    verdict = "holds when the exponent is t - k"
    if not over_as_printed.any():
        verdict = "holds"
    elif over.any():
        verdict = "false"
    return Finding(
        verdict,
        f"of {count:,} random tanh nets {over.sum()} exceed the bound with t - k, the number of "
        f"factors, as exponent and {over_as_printed.sum()} with t - k - 1 as printed; at lag "
        f"{len(share)} the median net reaches {medians[-1]:.1e} of it.",
        {
            "nets": count,
            "over": float(over.sum()),
            "over as printed": float(over_as_printed.sum()),
            "closest": float(np.max(share)),
            "median share at the last lag": float(medians[-1]),
        },
    )


CLAIM = Claim(
    "singular-value-bound",
    "A column of ∂a_t/∂a_k is at most (f'max · μmax)^(t-k-1) long, μmax the largest singular "
    "value of the recurrent weights.",
    "000, section 1.6, eq. 1.68-1.71",
    "holds when the exponent is t - k",
    check,
)
