"""Hochreiter's upper bound on the Jacobian, in the max norm."""

import numpy as np

from ._claim import Claim, Finding
from ._nets import tanh_nets


def check(factor: float = 1.0) -> Finding:
    """Compare the bound, with its base multiplied by `factor`, with random tanh nets."""
    nets = tanh_nets()
    count, units, _ = nets.R.shape
    largest = np.abs(nets.R).max(axis=(1, 2))
    over, over_as_printed, share = np.zeros(count, bool), np.zeros(count, bool), []
    for lag, J in nets.jacobians():
        steepest = nets.slopes[:lag].max(axis=(0, 2))
        base = factor * units * steepest * largest
        norm = np.abs(J).max(axis=(1, 2))
        over |= norm > base**lag
        over_as_printed |= norm > base ** (lag - 1)
        share.append(norm / base**lag)
    medians = np.median(share, axis=1)
    lags = np.arange(1, len(share) + 1)

    def draw(axes):
        for low, high in ((10, 90), (30, 70)):
            edges = np.percentile(share, (low, high), axis=1)
            axes.fill_between(lags, *edges, alpha=0.25, color="tab:blue", label=f"{low}-{high} %")
        axes.semilogy(lags, medians, label="median net")
        axes.axhline(1, color="black", linestyle="--", label="the bound")
        axes.set(xlabel="lag t - k", ylabel="Jacobian over its bound", yscale="log")
        axes.legend()

    verdict = "holds when the exponent is t - k"
    if not over_as_printed.any():
        verdict = "holds"
    elif over.any():
        verdict = "false"
    return Finding(
        verdict,
        f"of {count:,} random tanh nets {over.sum()} exceed the bound with t - k, the number of "
        f"factors, as exponent and {over_as_printed.sum()} with t - k - 1 as printed; it is loose: "
        f"at lag {lags[-1]} the median net reaches {medians[-1]:.1e} of it.",
        {
            "nets": count,
            "over": float(over.sum()),
            "over as printed": float(over_as_printed.sum()),
            "closest": float(np.max(share)),
            "median share at the last lag": float(medians[-1]),
        },
        draw,
    )


CLAIM = Claim(
    "hochreiter-bound",
    "The largest entry of ∂a_t/∂a_k is at most τ^(t-k-1), τ = units · f'max · largest weight.",
    "000, section 1.6, eq. 1.63-1.67",
    "holds when the exponent is t - k",
    check,
)
