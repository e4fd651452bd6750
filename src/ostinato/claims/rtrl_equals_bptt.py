"""Real-time recurrent learning against backpropagation through time."""

from collections.abc import Callable
from functools import partial

import equinox as eqx

from ..cells import GRU
from ..through_time import bptt, rtrl, truncated_bptt
from ._claim import Claim, Falsehood, Finding
from ._nets import drawn, gap, numbers
from .general_theorem import squared

INPUTS, UNITS, STEPS, BATCH = 2, 3, 8, 2


def check(method: Callable = rtrl) -> Finding:
    """Compare forward-mode with reverse-mode gradients."""
    cell = drawn(GRU, INPUTS, UNITS)
    xs, targets = numbers(1, STEPS, BATCH, INPUTS), numbers(2, STEPS, BATCH, UNITS)
    found, expected = (eqx.filter_jit(f)(cell, squared, xs, targets)[1] for f in (method, bptt))
    error = gap(found, expected)
    return Finding(
        "holds" if error < 1e-12 else "false",
        f"on a random GRU over {STEPS} steps the two gradients differ by {error:.0g}.",
        {"relative error": error},
    )


CLAIM = Claim(
    "rtrl-equals-bptt",
    "Real-time recurrent learning, which carries the derivatives of the state forwards in time, "
    "gives the exact gradient, that of backpropagation through time.",
    "Williams and Zipser (1989), A learning algorithm for continually running fully recurrent "
    "neural networks",
    "holds",
    check,
    Falsehood(
        "derivatives of the state that are not carried to the next step",
        {"method": partial(truncated_bptt, window=1)},
        "false",
    ),
)
