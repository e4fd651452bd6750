"""Test a bound on the Jacobian by lag on a thousand random networks."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ._claim import Finding
from ._nets import Nets, tanh_nets

VERDICT = "holds when the exponent is t - k"
ROUNDING = 1 + 1e-12


def against_nets(
    growth: Callable[[Nets, np.ndarray], np.ndarray], size: Callable[[np.ndarray], np.ndarray]
) -> Finding:
    """Compare `size(∂a_t/∂a_k)` with `growth ** (t - k)`, and with the printed power `t - k - 1`.

    Args:
        growth: the base of the bound `(nets,)`, from the networks and their steepest slopes
            `(nets,)`.
        size: the bounded quantity `(nets,)`, from Jacobians `(nets, units, units)`.
    """
    nets = tanh_nets()
    count = len(nets.R)
    over, over_as_printed, share = np.zeros(count, bool), np.zeros(count, bool), []
    for lag, J in nets.jacobians():
        base, norm = growth(nets, nets.slopes[:lag].max(axis=(0, 2))), size(J)
        over |= norm > base**lag * ROUNDING
        over_as_printed |= norm > base ** (lag - 1) * ROUNDING
        share.append(norm / base**lag)
    medians = np.median(share, axis=1)
    lags = np.arange(1, len(share) + 1)

    def draw(axes: Any) -> None:
        for low, high in ((10, 90), (30, 70)):
            edges = np.percentile(share, (low, high), axis=1)
            axes.fill_between(lags, *edges, alpha=0.25, color="tab:blue", label=f"{low}-{high} %")
        axes.semilogy(lags, medians, label="median net")
        axes.axhline(1, color="black", linestyle="--", label="the bound")
        axes.set(xlabel="lag t - k", ylabel="Jacobian over its bound", yscale="log")
        axes.legend()

    verdict = VERDICT
    if not over_as_printed.any():
        verdict = "holds"
    elif over.any():
        verdict = "false"
    return Finding(
        verdict,
        f"of {count:,} random tanh networks, {over.sum()} exceed the bound with the exponent t - k "
        f"(the number of factors), and {over_as_printed.sum()} with t - k - 1 as printed; at lag "
        f"{lags[-1]} the median network reaches {medians[-1]:.1e} of the bound.",
        {
            "nets": count,
            "over": float(over.sum()),
            "over as printed": float(over_as_printed.sum()),
            "closest": float(np.max(share)),
            "median share at the last lag": float(medians[-1]),
        },
        draw,
    )
