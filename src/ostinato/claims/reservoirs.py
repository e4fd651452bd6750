"""Reservoirs: the echo state property and the leaky integrator."""

from collections.abc import Callable

import numpy as np

from ..lens import largest_singular_value, spectral_radius
from .claim import Falsehood, Finding, Theme
from .tools import apply

THEME = Theme()

SIZE = 0.95
INPUTS = (0.0, 0.01, 0.1, 1.0, 10.0)  # their standard deviations
WORST = "opposed"  # inputs that keep the two states opposite to each other, where tanh is steep


@THEME.claim(
    "A tanh network with a largest singular value below one forgets its initial state "
    "exponentially, whatever its input.",
    "Galvan (2015), section 2.2.3 with eq. 1.71; Jaeger (2001)",
    "holds",
    Falsehood(
        "a spectral radius below one in place of the largest singular value",
        {"measure": spectral_radius},
        "false",
    ),
)
def echo_state_by_singular_value(measure: Callable = largest_singular_value) -> Finding:
    """Drive random tanh networks, scaled to 0.95 by `measure`, from two states with one input."""
    rng, nets, units, steps = np.random.default_rng(0), 500, 10, 200
    R = rng.normal(size=(nets, units, units))
    R[::2] = np.linalg.qr(R[::2])[0]  # half of them orthogonal: they forget most slowly
    R *= SIZE / np.asarray(measure(R))[:, None, None]
    left, widest = {}, 0.0
    for inputs in (*INPUTS, WORST):
        one, two = rng.uniform(-1, 1, (2, nets, units))
        start = now = np.linalg.norm(one - two, axis=1)
        for _ in range(steps):
            a, b = apply(R, one), apply(R, two)
            u = -(a + b) / 2 if inputs == WORST else float(inputs) * rng.normal(size=a.shape)
            one, two = np.tanh(a + u), np.tanh(b + u)
            before, now = now, np.linalg.norm(one - two, axis=1)
            apart = before > 1e-12  # nearer than that it is rounding
            widest = max(widest, float((now[apart] / before[apart]).max(initial=0.0)))
        left[inputs] = float((now / start).max())
    most, bound = max(left.values()), SIZE**steps
    return Finding(
        "holds" if most <= bound and widest <= SIZE * (1 + 1e-9) else "false",
        f"for inputs of six kinds, from none to a size of {INPUTS[-1]:g} and those that oppose the "
        f"two states, no step multiplies their distance by more than {widest:.3f} in any of "
        f"{nets} networks scaled to {SIZE:g}; after {steps} steps at most {most:.1g} of it is left "
        f"({SIZE:g}^{steps} = {bound:.1g}).",
        {"largest factor": widest, "bound": bound}
        | {f"left, inputs {inputs}": x for inputs, x in left.items()},
    )


NETS = 200


def half_way(kept: float) -> float:
    """The median number of steps, from rest, under constant input."""
    rng, units, steps = np.random.default_rng(0), 8, 400
    R = 0.5 * rng.normal(size=(NETS, units, units)) / np.sqrt(units)
    u = rng.normal(size=(NETS, units))
    h, states = np.zeros((NETS, units)), []
    for _ in range(steps):
        h = (1 - kept) * np.tanh(apply(R, h) + u) + kept * h
        states.append(h)
    away = np.linalg.norm(np.array(states) - states[-1], axis=-1)
    return float(np.median(np.argmax(away < np.linalg.norm(states[-1], axis=-1) / 2, axis=0) + 1))


@THEME.claim(
    "In a leaky integrator h_t = (1 - α) σ(…) + α h_{t-1} a small α makes the reservoir react "
    "slowly to the input, and a larger one lets it change faster.",
    "Galvan (2015), section 2.2.3, on eq. 2.22",
    "false",
    Falsehood(
        "a leak that weights the new value instead of the old state", {"stays": False}, "holds"
    ),
)
def leak_sets_the_speed(stays: bool = True) -> Finding:
    """How many steps a reservoir takes to get halfway to its steady state under constant input.

    `stays`: α weights the old state, as in (2.22); otherwise the new value.
    """
    slow, fast = (half_way(alpha if stays else 1 - alpha) for alpha in (0.1, 0.9))
    return Finding(
        "holds" if slow > fast else "false",
        f"the median of {NETS} reservoirs takes {slow:g} and {fast:g} steps to get halfway to its "
        "steady state, with α = 0.1 and α = 0.9.",
        {"steps at 0.1": slow, "steps at 0.9": fast},
    )


ALPHA = 0.1


@THEME.claim(
    "h_t = (1 - α) σ(W h_t + W x_t + b) + α h_{t-1} gives the next state of a reservoir.",
    "Galvan (2015), eq. 2.22",
    "false",
    Falsehood("h_{t-1} in place of h_t on the right", {"reads_old": True}, "holds"),
)
def leaky_integrator_as_printed(weight: float = 3.0, reads_old: bool = False) -> Finding:
    """Count the solutions h_t of (2.22) for one tanh unit at rest without input.

    The unit is `h_t = (1 - α) tanh(w h_t) + α h_{t-1}` with `h_{t-1} = 0`; with `reads_old` it is
    h_{t-1} that the weights read.
    """
    h = np.linspace(-1, 1, 200_002)  # an even number of points: none of them is 0
    read = np.zeros_like(h) if reads_old else h
    side = np.sign((1 - ALPHA) * np.tanh(weight * read) - h)
    solutions = int(np.count_nonzero(np.diff(side)))
    return Finding(
        "holds" if solutions == 1 else "false",
        f"one tanh unit with w = {weight:g} and α = {ALPHA:g}, at rest and without input, has "
        f"{solutions} states h_t that satisfy it; with h_(t-1) on the right there is always 1.",
        {"solutions": solutions},
    )
