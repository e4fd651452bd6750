"""The usual backward equations of the LSTM with peepholes."""

from typing import Any

import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._nets import derivative, gap
from ._peephole import Weights, forward, weights

INPUTS, UNITS, STEPS = 3, 4, 6


def check(transposed: bool = True) -> Finding:
    """Compare the equations, with Rᵀ in (4.13) or R as printed, with the derivative."""
    w = weights(INPUTS, UNITS)
    rng = np.random.default_rng(1)
    xs, targets = rng.normal(size=(STEPS, INPUTS)), rng.normal(size=(STEPS, UNITS))
    y, c = rng.normal(size=(2, UNITS))

    def loss(name: tuple[str, str], value: np.ndarray) -> Any:
        ys = np.stack([step.y for step in forward({**w, name: value}, xs, y, c)])
        return 0.5 * np.sum((ys - targets) ** 2)

    exact = {}
    for name, value in w.items():
        flat = derivative(lambda v: loss(name, v.reshape(value.shape)), value.ravel())  # noqa: B023
        exact[name] = flat.reshape(value.shape)
    error = gap(published(w, xs, targets, y, c, transposed), exact)
    as_printed = gap(published(w, xs, targets, y, c, False), exact)
    return Finding(
        "false" if error < 1e-12 else "holds",
        f"on a random LSTM they agree with the derivative to {error:.0g}, with Rᵀ where "
        f"(4.13) prints R (as printed they are off by {as_printed:.2g}).",
        {"relative error": error, "relative error as printed": as_printed},
    )


def published(w: Weights, xs: Any, targets: Any, y: Any, c: Any, transposed: bool) -> Weights:
    """Section 4.2, (4.6-4.14)."""
    steps = forward(w, xs, y, c)
    ys = [y, *(step.y for step in steps)]
    found = {name: np.zeros_like(value) for name, value in w.items()}
    from_c = from_y = np.zeros(UNITS)
    for t in range(STEPS - 1, -1, -1):
        s = steps[t]
        dy = s.y - targets[t] + from_y  # (4.14)
        d = {"o": s.o * (1 - s.o) * np.tanh(s.c) * dy}  # (4.7)
        dc = dy * s.o * (1 - np.tanh(s.c) ** 2) + w["p", "o"] * d["o"] + from_c  # (4.12)
        d["i"] = s.i * (1 - s.i) * s.z * dc
        d["f"] = s.f * (1 - s.f) * s.before * dc
        d["z"] = (1 - s.z**2) * s.i * dc  # (4.8)
        from_c = w["p", "i"] * d["i"] + w["p", "f"] * d["f"] + s.f * dc  # (4.11)
        R = {k: w["R", k].T if transposed else w["R", k] for k in "zifo"}
        from_y = sum(R[k] @ d[k] for k in "zifo")  # (4.13)
        for k in "zifo":
            found["W", k] += np.outer(d[k], xs[t])  # (4.6)
            found["R", k] += np.outer(d[k], ys[t])
            if k != "z":
                found["p", k] += d[k] * (s.c if k == "o" else s.before)
    return found


CLAIM = Claim(
    "lstm-equations-are-inexact",
    "The usual backward equations of the LSTM are not exact, because they leave out indirect "
    "dependencies.",
    "Delgado del Cerro (2021), section 4.3, on eq. 4.6-4.14",
    "false",
    check,
    Falsehood(
        "R as (4.13) prints it, instead of Rᵀ: these equations are inexact",
        {"transposed": False},
        "holds",
    ),
)
