"""The echo state property from the largest singular value."""

from collections.abc import Callable

import numpy as np

from ..lens import largest_singular_value, spectral_radius
from ._claim import Claim, Falsehood, Finding
from ._nets import apply

NETS, UNITS, STEPS, SIZE = 500, 10, 200, 0.95
INPUTS = (0.0, 0.01, 0.1, 1.0, 10.0)  # their standard deviations
WORST = "opposed"  # inputs that keep the two states opposite to each other, where tanh is steep


def check(measure: Callable = largest_singular_value) -> Finding:
    """Drive random tanh networks, scaled to 0.95 by `measure`, from two states with one input."""
    rng = np.random.default_rng(0)
    R = rng.normal(size=(NETS, UNITS, UNITS))
    R[::2] = np.linalg.qr(R[::2])[0]  # half of them orthogonal: they forget most slowly
    R *= SIZE / np.asarray(measure(R))[:, None, None]
    left, widest = {}, 0.0
    for inputs in (*INPUTS, WORST):
        one, two = rng.uniform(-1, 1, (2, NETS, UNITS))
        start = now = np.linalg.norm(one - two, axis=1)
        for _ in range(STEPS):
            a, b = apply(R, one), apply(R, two)
            u = -(a + b) / 2 if inputs == WORST else float(inputs) * rng.normal(size=a.shape)
            one, two = np.tanh(a + u), np.tanh(b + u)
            before, now = now, np.linalg.norm(one - two, axis=1)
            apart = before > 1e-12  # nearer than that it is rounding
            widest = max(widest, float((now[apart] / before[apart]).max(initial=0.0)))
        left[inputs] = float((now / start).max())
    most, bound = max(left.values()), SIZE**STEPS
    return Finding(
        "holds" if most <= bound and widest <= SIZE * (1 + 1e-9) else "false",
        f"for inputs of six kinds, from none to a size of {INPUTS[-1]:g} and those that oppose the "
        f"two states, no step multiplies their distance by more than {widest:.3f} in any of "
        f"{NETS} networks scaled to {SIZE:g}; after {STEPS} steps at most {most:.1g} of it is left "
        f"({SIZE:g}^{STEPS} = {bound:.1g}).",
        {"largest factor": widest, "bound": bound}
        | {f"left, inputs {inputs}": x for inputs, x in left.items()},
    )


CLAIM = Claim(
    "echo-state-by-singular-value",
    "A tanh network with a largest singular value below one forgets its initial state "
    "exponentially, whatever its input.",
    "Galvan (2015), section 2.2.3 with eq. 1.71; Jaeger (2001)",
    "holds",
    check,
    Falsehood(
        "a spectral radius below one in place of the largest singular value",
        {"measure": spectral_radius},
        "false",
    ),
)
