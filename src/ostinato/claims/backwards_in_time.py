"""Recomputing the states of a network backwards from the last."""

from typing import Any

import numpy as np

from ._claim import Claim, Falsehood, Finding

UNITS, STEPS = 30, 60


def check(linear: float = 0.01, orthogonal: bool = False) -> Finding:
    """Run tanh nets forwards and recover their states backwards, in two precisions.

    One net has random weights and inputs of size one; the other an orthogonal matrix and inputs of
    the size `linear`, so that its steps neither shrink nor stretch the state. With `orthogonal` the
    first net is like the second.
    """
    inputs = linear if orthogonal else 1.0
    single, double = (recover(kind, inputs, orthogonal) for kind in (np.float32, np.float64))
    lost = [int(np.argmax(errors > 0.1)) for errors in (single, double)]
    growth = float((double[lost[1]] / double[0]) ** (1 / max(lost[1], 1)))
    gentle = recover(np.float64, linear, orthogonal=True)

    def draw(axes: Any) -> None:
        axes.semilogy(single, label="random weights, float32")
        axes.semilogy(double, label="random weights, float64")
        axes.semilogy(gentle, label="orthogonal and nearly linear, float64")
        axes.set(xlabel="steps back", ylabel="error of the recovered state")
        axes.legend()

    verdict = "holds when a step shrinks the state in some direction"
    if not all(lost):
        verdict = "false"
    elif gentle[-1] > 1e-3:
        verdict = "holds"
    return Finding(
        verdict,
        f"in a network with random weights the error grows by a factor of {growth:.0f} per step "
        f"back, and exceeds 0.1 after {lost[0]} steps in float32 and {lost[1]} in float64; in an "
        f"orthogonal, nearly linear network it is {gentle[-1]:.0g} after {STEPS} steps.",
        {
            "growth per step": growth,
            "steps in float32": lost[0],
            "steps in float64": lost[1],
            "error of the orthogonal net": float(gentle[-1]),
        },
        draw,
    )


def recover(kind: Any, inputs: float = 1.0, orthogonal: bool = False) -> np.ndarray:
    """The error after 0, 1, 2, … steps `h_{t-1} = R⁻¹ (atanh h_t - u_t)`, at most 2."""
    rng = np.random.default_rng(0)
    R = rng.normal(size=(UNITS, UNITS)) / np.sqrt(UNITS)
    R = (np.linalg.qr(R)[0] if orthogonal else R).astype(kind)
    us = (inputs * rng.normal(size=(STEPS, UNITS))).astype(kind)
    hs = [np.zeros(UNITS, kind)]
    for u in us:
        hs.append(np.tanh(R @ hs[-1] + u))
    most = 1 - np.finfo(kind).epsneg
    h, errors = hs[-1], [float(np.finfo(kind).eps)]
    for t in range(STEPS - 1, -1, -1):
        h = np.linalg.solve(R, np.arctanh(np.clip(h, -most, most)) - us[t])
        errors.append(min(float(np.abs(h - hs[t]).max()), 2.0))
    return np.array(errors)


CLAIM = Claim(
    "backwards-in-time",
    "Recovering h_{t-1} from h_t and the input, to save memory, loses precision exponentially.",
    "Krause (2015), section 3.3.5.1",
    "holds when a step shrinks the state in some direction",
    check,
    Falsehood(
        "an orthogonal matrix and small inputs in place of random weights",
        {"orthogonal": True},
        "false",
    ),
)
