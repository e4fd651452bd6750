"""Stability without input: the spectral radius, fixed points, and what both say about errors."""

from typing import Any

import numpy as np

from ..errors import BadInput
from ..lens import spectral_radius
from .claim import Falsehood, Finding, Theme
from .tools import apply, derivative, gap

THEME = Theme()

WEIGHTS = np.array([-3.0, -2.0, -0.5, 0.5, 2.0, 3.0])


@THEME.claim(
    "For a net to converge without input it is necessary that the spectral radius of its "
    "recurrent weights is below one.",
    "Delgado del Cerro (2021), section 2.4, proposition",
    "false",
    Falsehood(
        "the radius of R f' at the state that is reached, in place of that of R",
        {"at_the_state": True},
        "holds",
    ),
)
def spectral_radius_is_necessary(at_the_state: bool = False, steps: int = 500) -> Finding:
    """Run nets `c ← R tanh(c)` of one unit, and look at the radius of those that converge.

    The radius is |R|, or with `at_the_state` that of R f' at the state which is reached.
    """
    c = before = np.full(len(WEIGHTS), 0.1)
    for _ in range(steps):
        before, c = c, WEIGHTS * np.tanh(c)
    moved = np.abs(c - before)
    slopes = 1 - np.tanh(c) ** 2
    radius = np.abs(WEIGHTS * slopes if at_the_state else WEIGHTS)
    converged, two = moved < 1e-12, int(np.argmax(WEIGHTS == 2))
    against = int(np.sum(converged & (radius >= 1)))
    return Finding(
        "false" if against else "holds",
        f"of {len(WEIGHTS)} nets of one unit {converged.sum()} converge, {against} of them with a "
        f"radius of one or more: that with R = 2 is at {c[two]:.3f} after {steps} steps and moves "
        f"by {moved[two]:.0g}, where R f' is {2 * slopes[two]:.2f}.",
        {
            "converged": float(converged.sum()),
            "of them with a radius of one or more": against,
            "state of R = 2": float(c[two]),
            "R f' there": float(2 * slopes[two]),
        },
    )


NILPOTENT = ((2.0, -8.0), (0.5, -2.0))
CONTRACTING = Falsehood(
    "weights whose largest singular value is below one, not only their spectral radius",
    {"weights": ((0.5, 0.1), (0.0, 0.4))},
    "holds",
)


@THEME.claim(
    "With a spectral radius below one a network without input converges and forgets its initial "
    "state: the echo state property.",
    "Delgado del Cerro (2021), section 2.4, proposition; Galvan (2015), section 2.2.3",
    "false",
    CONTRACTING,
)
def spectral_radius_is_sufficient(weights: Any = NILPOTENT, steps: int = 1000) -> Finding:
    """Run `c ← R tanh(c)` from a small state and from a large one."""
    R = np.asarray(weights)
    radius = spectral_radius(R)
    if radius >= 1:
        raise BadInput("the spectral radius must be below one to test its sufficiency")
    small, large = np.array([0.4, 0.1]), np.array([8.0, 2.0])
    path = [(small, large)]
    for _ in range(steps):
        small, large = R @ np.tanh(small), R @ np.tanh(large)
        path.append((small, large))
    moved, apart = np.abs(large - path[-2][1]).max(), np.linalg.norm(large - small)

    def draw(axes: Any) -> None:
        for n, start in enumerate(("small", "large")):
            axes.plot([states[n][0] for states in path[:30]], ".-", label=f"from a {start} state")
        axes.set(xlabel="step", ylabel="first unit")
        axes.legend()

    return Finding(
        "holds" if moved < 1e-9 and apart < 1e-9 else "false",
        f"a network of two units with spectral radius {radius:.0g} still moves by {moved:.1f} per "
        f"step after {steps:,} steps, and is {apart:.1f} away from one with another initial state.",
        {"spectral radius": float(radius), "moved": float(moved), "apart": float(apart)},
        draw,
    )


@THEME.claim(
    "If the spectral radius of the recurrent weights is below one and f' at most one, errors "
    "vanish over long times.",
    "Delgado del Cerro (2021), section 2.4, after eq. 2.12",
    "false",
    CONTRACTING,
)
def spectral_radius_bounds_gradient(weights: Any = NILPOTENT, lag: int = 50) -> Finding:
    """Hold one unit near saturation by its input, the other where it is steep."""
    R = np.asarray(weights)
    radius = spectral_radius(R)
    a = np.array([3.0, 0.1])  # kept there by u = a - R tanh(a)
    factor = R * (1 - np.tanh(a) ** 2)
    norm = np.linalg.norm(np.linalg.matrix_power(factor, lag), 2)
    growth = norm ** (1 / lag)
    return Finding(
        "holds" if growth < 1 else "false",
        f"in a net of two units with the spectral radius {radius:.0g}, of which an input saturates "
        f"one, the error is multiplied by {growth:.2f} per step: {norm:.1e} after {lag} steps.",
        {"spectral radius": float(radius), "growth": float(growth), "norm": float(norm)},
    )


@THEME.claim(
    "The Jacobian of F(c) = R σ(c) is diag(σ'(c)) R.",
    "Delgado del Cerro (2021), section 2.4, proof of the proposition",
    "false",
    Falsehood("R diag(σ'(c)) in place of diag(σ'(c)) R", {"weights_first": True}, "holds"),
)
def jacobian_at_a_fixed_point(weights_first: bool = False) -> Finding:
    """Compare `diag(σ'(c)) R`, or with `weights_first` `R diag(σ'(c))`, with the derivative."""
    rng, units = np.random.default_rng(0), 4
    R, c = rng.normal(size=(units, units)), rng.normal(size=units)
    exact = derivative(lambda c: R @ np.tanh(c), c)
    slopes = np.diag(1 - np.tanh(c) ** 2)
    printed, other = slopes @ R, R @ slopes
    off, right = gap(printed, exact), gap(other, exact)
    radius, radius_exact = float(spectral_radius(printed)), float(spectral_radius(exact))
    return Finding(
        "holds" if (right if weights_first else off) < 1e-12 else "false",
        f"at a random point of a tanh net it is off by {off:.2f} of the largest entry, and "
        f"R diag(σ') by {right:.0g}; the spectral radius is the same, {radius:.3f} and "
        f"{radius_exact:.3f}, so that the condition for stability is not touched.",
        {
            "as printed": off,
            "R diag(σ')": right,
            "spectral radius as printed": radius,
            "spectral radius": radius_exact,
        },
    )


@THEME.claim(
    "A net without input returns to a fixed point from nearby just where the spectral radius of "
    "R diag(f') at that point is below one.",
    "Delgado del Cerro (2021), section 2.4, proof of the proposition",
    "holds",
    Falsehood(
        "the spectral radius of R in place of that of R diag(f')", {"of_weights": True}, "false"
    ),
)
def local_stability(of_weights: bool = False) -> Finding:
    """Find fixed points of random nets, and see whether the net returns to them.

    With `of_weights` the radius is that of R instead of `R diag(f')` at the fixed point.
    """
    rng, units, nets, steps = np.random.default_rng(0), 3, 300, 2000
    R = rng.uniform(0.5, 4, (nets, 1, 1)) * rng.normal(size=(nets, units, units)) / np.sqrt(units)
    c = 3 * rng.normal(size=(nets, units))
    eye = np.eye(units)
    for _ in range(50):  # Newton's method for c = R tanh(c)
        J = R * (1 - np.tanh(c) ** 2)[:, None, :]
        c = c - np.linalg.solve(J - eye, (apply(R, np.tanh(c)) - c)[..., None])[..., 0]
    fixed = np.abs(apply(R, np.tanh(c)) - c).max(axis=1) < 1e-12
    matrix = R if of_weights else R * (1 - np.tanh(c) ** 2)[:, None, :]
    radius = spectral_radius(matrix)
    clear = fixed & (np.abs(radius - 1) > 0.02)  # nearer to one it takes longer to tell
    near = c + 1e-5 * rng.normal(size=c.shape)
    for _ in range(steps):
        near = apply(R, np.tanh(near))
    returned = np.abs(near - c).max(axis=1) < 1e-8
    right = (returned == (radius < 1))[clear]
    return Finding(
        "holds" if right.all() else "false",
        f"it predicts correctly for {right.sum()} of {clear.sum()} fixed points of random networks "
        f"({returned[clear].sum()} of them attracting) whether a network started nearby returns.",
        {
            "right": float(right.sum()),
            "fixed points": float(clear.sum()),
            "attracting": float(returned[clear].sum()),
        },
    )
